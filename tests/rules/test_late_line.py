"""L13: an emulated path that kept its word, and what it looks like where it did not."""

from array import array
from dataclasses import replace

from assay.evidence.line_ways import METRICS
from assay.records import Claim, Fact, FactClass, Path, Series, State, When
from assay.rules import no_wire
from assay.rules.late_line import RULE
from audit.case_builder import MIB, SECOND
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, UNBOUNDED, UNVERIFIED, hold
from stage.server_cases import served

EMULATED = Claim(path=Path.EMULATED)
GOOD = {
    "packets": 10_000,
    "segments": 100_000,
    "delivered_packets": 9_990,
    "delivered_segments": 99_900,
    "lost_segments": 100,
    "late_packets": 50,
    "late_ns": 400_000_000,
    "overrun_segments": 0,
    "unread_packets": 0,
    "cpu_ns": 300_000_000,
    "delivered_bytes": 150 * MIB,
}


def series(metric, value, name="wan.up"):
    span = [-1000, SECOND + 1000]
    return Series(
        phase="p",
        source="line",
        layer="line",
        host="local",
        subject=f"line:{name}",
        metric=metric,
        unit="",
        at_ns=array("q", span),
        value=array("d", [0, value]),
    )


def fact(key, value):
    return Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=FactClass.PERFORMANCE)


def case(rule="L13", claim=EMULATED, line=True, **changes):
    made = served(rule, claim=claim, values={"read.bytes": 100.0 * MIB, "read.bytes_per_s": 100.0 * MIB}, figure="bytes_per_s")
    numbers = {**GOOD, **changes}
    found = tuple(series(metric, value) for metric, value in numbers.items()) if line else ()
    facts = (fact("target.line", "wan"), fact("target.path.wan.up.loss", "0.001")) if line else ()
    observations = replace(
        made.observations, series=(*made.observations.series, *found), facts=(*made.observations.facts, *facts)
    )
    return replace(made, observations=observations)


def test_the_metrics_are_those_that_the_line_counts():
    assert set(METRICS) <= set(GOOD)


@each(
    "changes words",
    ({"late_packets": 1_000}, "late packets 10"),
    ({"cpu_ns": 990_000_000}, "CPU time of the line's busiest direction 99"),
    ({"unread_packets": 500}, "packets lost by the line itself"),
    ({"overrun_segments": 500}, "packets lost by the line itself"),
)
def test_what_holds_the_load_back_bounds_the_figure(changes, words):
    found = RULE.check(case(**changes))
    assert found.state is State.FAIL
    assert found.bound is not None
    assert words in found.statement


def test_a_line_is_no_wire():
    found = no_wire.RULE.check(case("L05", Claim(path=Path.WIRE)))
    assert (found.state, str(found.severity)) == (State.FAIL, "invalidates")
    assert "emulates (wan)" in found.statement
    assert no_wire.RULE.check(case("L05")).state is State.PASS
    assert str(no_wire.RULE.check(case("L05", Claim())).severity) == "notes"
    assert str(no_wire.RULE.check(case("L05", Claim(path=Path.LOOPBACK))).severity) == "qualifies"


def test_states():
    hold(
        ("a line that kept its word", RULE.check(case()), PASS, {"late_share": 50 / 9_990}),
        ("losses that nobody stated taint it", RULE.check(case(lost_segments=400)), FAIL, UNBOUNDED, "0.1 %"),
        ("a handful of late packets is no share", RULE.check(case(delivered_packets=50, late_packets=40)), PASS),
        "without counts nothing is known",
        (RULE.check(case(line=False)), UNVERIFIED),
        (RULE.applies(case(line=False, claim=Claim())), NOT_ASKED),
        (RULE.applies(case(claim=Claim())), ASKED),
        ("an emulated path that nothing passed", no_wire.RULE.check(case("L05", delivered_bytes=MIB)), FAIL, "hardly any"),
        "an emulated path is claimed without a line",
        (no_wire.RULE.check(case("L05", line=False)), UNVERIFIED),
        (no_wire.RULE.check(served("L05", facts={"route": "lo", "route_kind": "loopback"}, claim=EMULATED)), FAIL),
    )
