"""W04c: the false crossover of a campus study: early starters run alone, fast clients finish early."""

from array import array
from dataclasses import replace

import pytest

from assay.audit import limits
from assay.catalogue import ComparisonCase
from assay.records import Claim, Comparison, Conclusion, Observations, Plan, Run, Series, Severity, State
from assay.rules.start_skew_curves import RULE
from audit.case_builder import SECOND, Made, experiment_of, measure_of, observations_of, run_of
from stage.said import PASS, hold

POINTS = 20
OBJECTS = 20_000


def arm(ns_per_create, starts=(0.0, 0.0)) -> tuple[Run, Observations]:
    """Two clients whose time per create is a function of (objects, whether the other one is at work)."""
    spans, series = [], []
    lengths = [sum(ns_per_create(step, True) for step in steps()) * OBJECTS / POINTS / SECOND for _ in starts]
    ends = [start + length for start, length in zip(starts, lengths, strict=True)]
    for index, start in enumerate(starts):
        other = (starts[1 - index], ends[1 - index])
        at, busy, points = start * SECOND, 0.0, [(start * SECOND, 0.0, 0.0)]
        for number, step in enumerate(steps()):
            together = other[0] * SECOND <= at <= other[1] * SECOND
            took = ns_per_create(step, together) * OBJECTS / POINTS
            at, busy = at + took, busy + took
            points.append((at, (number + 1) * OBJECTS / POINTS, busy))
        spans.append((start, at / SECOND))
        series += [one(index, name, points, column) for name, column in (("count", 1), ("busy_ns", 2))]
    made = Made(
        operation="create",
        count=OBJECTS,
        record_bytes=0,
        starts=tuple(first for first, _ in spans),
        ends=tuple(last for _, last in spans),
        figure="ops_per_s",
    )
    observations = observations_of(made)
    return run_of(made), replace(observations, series=(*observations.series, *series))


def steps():
    return [(number + 0.5) * OBJECTS / POINTS for number in range(POINTS)]


def one(index, metric, points, column) -> Series:
    return Series(
        phase="p",
        source="engine",
        layer="application",
        host="local",
        subject=f"client:{index}",
        metric=f"create.{metric}",
        unit=metric,
        at_ns=array("q", (round(point[0]) for point in points[1:])),
        value=array("d", (point[column] for point in points[1:])),
    )


def case(baseline, candidate) -> ComparisonCase:
    made = Made(operation="create", figure="ops_per_s")
    comparison = Comparison(
        measure="w.create.ops_per_s",
        factor="os",
        baseline="a",
        candidate="b",
        within={},
        ratio=None,
        conclusion=Conclusion.UNDECIDED,
        matters_share=0.05,
        detectable_share=None,
        provable_share=None,
    )
    return ComparisonCase(
        subject="c",
        experiment=experiment_of(made),
        plan=Plan(experiment="e", seed=1, trials=(), blocks=1, drawn_blocks=1, sittings=()),
        comparison=comparison,
        measure=measure_of(made),
        claim=Claim(),
        baseline=(baseline,),
        candidate=(candidate,),
        verdicts={},
        thresholds=limits.thresholds("W04c"),
    )


def flat(_objects, _together):
    return 5e6


def growing(objects, _together):
    return 3e6 + 4e6 * objects / OBJECTS


def cheap_alone(_objects, together):
    return 6e6 if together else 3e6


def test_false_crossover_is_refused():
    skewed = case(arm(flat), arm(cheap_alone, starts=(0.0, 20.0)))
    assert RULE.applies(skewed) is None
    finding = RULE.check(skewed)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound.low == pytest.approx(1.2, rel=0.02)


def test_single_clients_and_missing_curves_are_not_its_business():
    made = Made(operation="create", figure="ops_per_s")
    alone = (run_of(made), observations_of(made))
    assert RULE.applies(case(alone, alone))
    two = Made(operation="create", figure="ops_per_s", starts=(0.0, 0.0))
    assert RULE.applies(case((run_of(two), observations_of(two)), arm(flat))) == "no curve"


def test_states():
    hold(
        ("true crossover stands", RULE.check(case(arm(flat), arm(growing))), PASS, "9,750"),
        ("together without crossing", RULE.check(case(arm(flat), arm(cheap_alone))), "do not cross"),
    )
