"""D05: 256 MiB written in a second, on a machine that begins to write at 2.4 GB of dirty data."""

from dataclasses import replace

from assay.audit import limits
from assay.records import Claim, Fact, FactClass, Regime, Severity, State, When
from assay.rules.burst_below_dirty_limit import RULE
from audit.case_builder import MIB, Made, Seen, but, case_of
from stage.rows import each
from stage.said import FAIL, PASS, UNVERIFIED, high, hold

GIB = 1 << 30
STEADY = Claim(regime=Regime.STEADY)
BURST = Made(operation="write", claim=STEADY, seen=Seen(lower_bytes=4 * MIB, available_bytes=24 * GIB))
SWITCHES = {"dirty_background_bytes": "0", "dirty_background_ratio": "10", "dirty_expire_centisecs": "3000"}


def case(made, **switches):
    found = case_of(made, "D05")
    more = tuple(
        Fact(host="local", when=When.BEFORE, key=f"sysctl.vm.{name}", value=value, fact_class=FactClass.PERFORMANCE)
        for name, value in {**SWITCHES, **switches}.items()
        if value
    )
    return replace(found, observations=replace(found.observations, facts=(*found.observations.facts, *more)))


def judged(made, **switches):
    return RULE.check(case(made, **switches))


def test_a_burst_that_memory_takes_is_no_steady_rate():
    finding = judged(BURST)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert "1 s" in finding.statement
    assert (finding.bound.low, finding.bound.high) == (None, case(BURST).value)
    assert finding.relabel == "write absorbed by memory: a burst below the dirty limit, not a steady rate"
    assert finding.detail == "268 MB in 1 s"


def test_a_latency_is_bounded_from_below():
    made = but(BURST, figure="latency_mean_ns")
    finding = judged(made)
    assert (finding.bound.low, finding.bound.high) == (case(made).value, None)


def test_what_passed_the_device_above_is_all_that_can_have_come_down():
    made = but(BURST, devices=("loop0", "vda"), lower_bytes=400 * MIB, before_bytes=390 * MIB)
    assert judged(but(made, upper_bytes=4 * MIB)).state is State.FAIL
    assert judged(but(made, upper_bytes=250 * MIB)).state is State.PASS


@each(
    "made why",
    (Made(claim=STEADY), "not a write of data"),
    (but(BURST, flush_in_clock=True), "flushed inside the clock"),
    (but(BURST, knobs={"sync": "dsync"}), "flushed inside the clock"),
    (but(BURST, knobs={"direct": True}), "direct writes are not held in memory"),
    (BURST, None),
)
def test_it_is_asked_of_buffered_writes_only(made, why):
    assert RULE.applies(case(made)) == why


def test_only_a_steady_claim_is_judged():
    assert limits.outside("D05", Claim()) is not None
    assert limits.outside("D05", Claim(regime=Regime.BURST)) is not None
    assert limits.outside("D05", STEADY) is None


def test_states():
    hold(
        "the bound is of memory even where a drain is charged",
        (judged(but(BURST, claim=Claim(regime=Regime.STEADY, tier="device"), drain_s=1.0)), high(256 * MIB)),
        "more than the threshold passes",
        (judged(but(BURST, available_bytes=2 * GIB)), PASS),
        (judged(BURST, dirty_background_bytes=str(64 * MIB)), PASS),
        "a small file that is overwritten for long is never dirtier than it is large",
        (
            judged(but(BURST, count=64 * 256, file_bytes=256 * MIB, cached_bytes=(0, 256 * MIB))),
            FAIL,
            {"dirtied_bytes": 256 * MIB},
        ),
        "what the device took while the clock ran was no burst",
        (judged(but(BURST, lower_bytes=250 * MIB)), PASS),
        (judged(but(BURST, lower_bytes=250 * MIB, before_bytes=240 * MIB)), UNVERIFIED),
        "missing evidence is said",
        (judged(BURST, dirty_background_ratio=""), "environment"),
        (judged(but(BURST, available_bytes=None)), UNVERIFIED),
        (judged(but(BURST, lower_bytes=None)), UNVERIFIED),
        (judged(but(BURST, count=0)), "Written bytes unknown"),
        "bytes that may have been the same again and again, in files of unknown size",
        (judged(but(BURST, count=64 * 256, operation="random_write")), UNVERIFIED),
        (judged(but(BURST, count=64 * 256)), PASS),
    )
