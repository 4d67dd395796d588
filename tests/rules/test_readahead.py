"""T08: 256 MiB of random reads, and what Bytes read from storage unknown for them."""

from dataclasses import replace

from assay.records import Claim, Fact, FactClass, Regime, Severity, State, Tier, When
from assay.rules.readahead import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from stage.rows import each
from stage.said import FAIL, PASS, UNVERIFIED, hold
from stage.traced_cases import traced

PLAIN = Made(operation="random_read", seen=Seen(storage_bytes=256 * MIB))
AHEAD = but(PLAIN, storage_bytes=8 * 256 * MIB)


def judged(made):
    return RULE.check(case_of(made, "T08"))


@each("claim", Claim(), Claim(tier=Tier.DEVICE, regime=Regime.COLD))
def test_more_than_was_asked_is_a_note_under_every_claim(claim):
    finding = judged(but(AHEAD, claim=claim))
    assert (finding.state, finding.severity, finding.bound) == (State.FAIL, Severity.NOTES, None)
    assert finding.detail == "8.0 bytes per byte requested"


def test_the_read_ahead_of_the_devices_is_told():
    case = case_of(AHEAD, "T08")
    fact = Fact(host="local", when=When.BEFORE, key="device.0.bdi.read_ahead_kb", value="8192", fact_class=FactClass.PERFORMANCE)
    case = replace(case, observations=replace(case.observations, facts=(*case.observations.facts, fact)))
    assert "8192 KiB" in RULE.check(case).statement


@each(
    "made why",
    (Made(), "not a random read: read-ahead is intended"),
    (Made(operation="random_write"), "not a read"),
    (but(PLAIN, knobs={"direct": True}), "direct reads have no read-ahead"),
    (PLAIN, None),
)
def test_it_is_asked_of_buffered_random_reads_only(made, why):
    assert RULE.applies(case_of(made, "T08")) == why


def test_states():
    hold(
        "what was asked and no more passes",
        (judged(PLAIN), PASS),
        (judged(but(PLAIN, storage_bytes=300 * MIB)), PASS),
        ("hits in memory are no reading ahead", judged(but(PLAIN, storage_bytes=0)), PASS),
        "what came into memory stands in for the counter",
        (judged(but(AHEAD, storage_bytes=None, cached_bytes=(0, 2048 * MIB))), FAIL),
        (judged(but(AHEAD, storage_bytes=None, cached_bytes=(128 * MIB, 256 * MIB))), PASS),
        "missing evidence is said",
        (judged(but(PLAIN, storage_bytes=None)), "Bytes read from storage unknown"),
        (judged(but(PLAIN, count=0)), "Requested bytes unknown"),
        (judged(but(PLAIN, record_bytes=512)), UNVERIFIED),
        "pages of the files themselves outrank what the process read beside them",
        (RULE.check(traced(case_of(AHEAD, "T08"), {("added_bytes", "path:/f"): 256 * MIB})), PASS),
        (RULE.check(traced(case_of(PLAIN, "T08"), {("added_bytes", "path:/f"): 512 * MIB})), FAIL, {"ratio": 2}),
    )
