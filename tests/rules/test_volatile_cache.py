"""D03: caches that are volatile, that deny it, and latencies that no flush was waited for."""

from dataclasses import replace

from assay.audit import limits
from assay.records import Claim, Durability, Fact, FactClass, Severity, State, When
from assay.rules.volatile_cache import RULE
from audit.case_builder import Made, Seen, but, case_of
from stage.rows import each
from stage.said import FAIL, PASS, UNVERIFIED, hold

STABLE = Claim(durability=Durability.STABLE_MEDIA)
WRITE = Made(operation="write", claim=STABLE, drain_s=0.1, seen=Seen(flushes=100))
LATENCY = but(WRITE, figure="latency_mean_ns")
STACK = ("loop0", "vda")


def judged(made, **facts):
    """The finding where devices have these further facts: `loop0__queue_write_cache="write through"`, `vda__cache_type=…`."""
    case = case_of(made, "D03")
    kept = [fact for fact in case.observations.facts if not fact.key.endswith("write_cache") or fact.key not in keys(made, facts)]
    more = [
        Fact(host="local", when=When.BEFORE, key=key, value=text, fact_class=FactClass.PERFORMANCE)
        for key, text in keys(made, facts).items()
    ]
    return RULE.check(replace(case, observations=replace(case.observations, facts=(*kept, *more))))


def keys(made, facts):
    pairs = ((*name.split("__"), value) for name, value in facts.items())
    return {f"device.{made.devices.index(device)}.{key.replace('queue_', 'queue.')}": value for device, key, value in pairs}


def test_a_queue_that_denies_what_its_driver_says_was_set_by_hand():
    finding = judged(WRITE, vda__queue_write_cache="write through", vda__cache_type="write back")
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert (finding.bound.low, finding.bound.high) == (None, case_of(WRITE, "D03").value)


@each("driver", "write back, no read (daft)", "write back")
def test_the_words_of_scsi_disks_are_known(driver):
    assert judged(WRITE, vda__queue_write_cache="write through", vda__cache_type=driver).state is State.FAIL


def test_a_latency_needs_flushes_under_the_clock():
    assert judged(LATENCY).state is State.PASS
    finding = judged(but(LATENCY, flushes=0, drain_flushes=1))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert (finding.bound.low, finding.bound.high) == (case_of(LATENCY, "D03").value, None)


def test_reads_and_other_claims_are_not_asked():
    assert RULE.applies(case_of(Made(), "D03")) == "not a write"
    assert limits.outside("D03", Claim()) is not None
    assert limits.outside("D03", STABLE) is None


def test_states():
    hold(
        "a volatile cache that says so passes",
        (judged(WRITE), PASS),
        (judged(but(WRITE, devices=STACK)), PASS),
        "a loop device is never write through by itself",
        (judged(but(WRITE, devices=STACK), loop0__queue_write_cache="write through"), FAIL),
        "a device above a volatile one passes no flush on",
        (judged(but(WRITE, devices=("dm-0", "vda")), **{"dm-0__queue_write_cache": "write through"}), FAIL),
        "a device without a cache passes where its driver says so too",
        (judged(WRITE, vda__queue_write_cache="write through", vda__cache_type="write through"), PASS),
        (judged(WRITE, vda__queue_write_cache="write through"), UNVERIFIED, "nvme id-ctrl"),
        ("a rate has the flush of the drain charged", judged(but(WRITE, flushes=0, drain_flushes=1)), PASS),
        ("flushes of others are no proof", judged(but(LATENCY, flushes=3, before_flushes=3)), UNVERIFIED),
        ("forced unit access is counted by nobody", judged(but(LATENCY, flushes=0), vda__queue_fua="1"), UNVERIFIED),
        "missing evidence is said",
        (judged(but(LATENCY, flushes=None)), UNVERIFIED),
        (judged(but(WRITE, write_cache="")), "environment"),
    )
