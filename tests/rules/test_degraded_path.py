"""L10: counters that rose, arrays that are not whole, slow links, interfaces, under claims that rest on the path and others."""

from dataclasses import replace

from assay.records import Claim, Durability, Fact, FactClass, Observations, Path, Severity, State, Tier, When
from assay.rules.degraded_path import RULE
from stage.noise_cases import run, series, trial_case
from stage.rows import each
from stage.said import FAIL, NOTES, PASS, UNVERIFIED, hold

DEVICE, MEDIA, WIRE = Claim(tier=Tier.DEVICE), Claim(durability=Durability.STABLE_MEDIA), Claim(path=Path.WIRE)


def case(before=None, after=None, *, claim=DEVICE, figure="bytes_per_s", interface=(0.0, 0.0)):
    """Facts by key, before and after the trial; two looks at the errors received by eth0."""
    before = {"health.errors.0.ext4": "2", "device.0.name": "sda1", **(before or {})}
    looks = ((When.BEFORE, before), (When.AFTER, {**before, **(after or {})}))
    facts = tuple(
        Fact(host="local", when=when, key=key, value=value, fact_class=FactClass.NOISE)
        for when, found in looks
        for key, value in found.items()
    )
    received = series("network", "rx_errors", [(0.0, interface[0]), (10.0, interface[1])], "interface:eth0")
    seen = Observations(facts=facts, series=(received,))
    return replace(trial_case("L10", run(), seen, figure=figure), claim=claim)


@each(
    "claim severity",
    (DEVICE, Severity.INVALIDATES),
    (MEDIA, Severity.INVALIDATES),
    (WIRE, Severity.INVALIDATES),
    (Claim(tier=Tier.CLIENT_CACHE), Severity.NOTES),
    (Claim(), Severity.NOTES),
)
def test_an_error_invalidates_what_rests_on_the_path(claim, severity):
    found = RULE.check(case(after={"health.errors.0.ext4": "5"}, claim=claim))
    assert (found.state, found.severity, found.bound) == (State.FAIL, severity, None)
    assert (found.relabel is None) == (severity is Severity.NOTES)


@each(
    "facts words",
    ({"health.device.0.degraded": "1"}, "array sda1 lacks 1 of its members"),
    ({"health.device.0.sync_action": "check"}, "array sda1 was rebuilding or checking (check)"),
)
@each("when", "before", "after")
def test_an_array_that_is_not_whole_bounds_the_figure(facts, words, when):
    resting = dict.fromkeys(facts, "0" if "degraded" in next(iter(facts)) else "idle")
    one = case(facts, resting) if when == "before" else case(resting, facts)
    found = RULE.check(one)
    assert (found.state, found.severity, found.bound.low) == (State.FAIL, Severity.QUALIFIES, one.value)
    assert found.statement == f"Path to the disk degraded: {words}."
    assert RULE.check(case(resting)).state is State.PASS


def test_a_time_is_bounded_from_above_and_a_cost_not_at_all():
    facts = {"health.device.0.degraded": "2"}
    assert RULE.check(case(facts, figure="latency_mean_ns")).bound.low is None
    assert RULE.check(case(facts, figure="cpu_ns_per_op")).bound is None


LINK = {"health.device.0.current_link_speed": "8.0 GT/s PCIe", "health.device.0.max_link_speed": "16.0 GT/s PCIe"}


def test_interfaces_count_under_the_claim_of_a_wire_alone():
    assert "7" in RULE.check(case(claim=WIRE, interface=(1.0, 8.0))).statement
    assert RULE.check(case(interface=(1.0, 8.0))).state is State.PASS
    half = {"health.network.eth0.duplex": "half"}
    assert RULE.check(case(half, claim=WIRE)).severity is Severity.QUALIFIES
    assert RULE.check(case(half)).state is State.PASS


def test_states():
    hold(
        ("errors of the past are none of this trial", RULE.check(case()), PASS),
        "a slow link is this machines slot",
        (RULE.check(case(LINK)), FAIL, NOTES),
        (RULE.check(case({**LINK, "health.device.0.current_link_speed": "16.0 GT/s PCIe"})), PASS),
        (RULE.check(case({**LINK, "health.device.0.max_link_speed": "Unknown"})), PASS),
        "where nothing counts errors nothing is known",
        (RULE.check(replace(case(), observations=Observations())), UNVERIFIED, "kernel log"),
    )
