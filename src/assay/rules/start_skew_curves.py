"""Refuses a crossover of two curves at points where not all clients were working.

Each step of a curve knows its number of working clients. The rule follows the ratio of the arms over the number of objects
twice: with all points, and with points of all clients.
A change of the lead by more than `margin_share` that exists only in the first is refused. The bound is the range of the ratio
over the complete points.
Curves of fewer than `points` points are n/a. The id is W04c: a rule has one scope, and W04 judges runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from assay import measures
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.measures import CurvePoint
from assay.records import Bound, Finding, Scope, Severity, State
from assay.rulekit.findings import found

Ratio = tuple[float, float]
"""(objects, candidate's time per operation over the baseline's)."""
MOST_STEPS = 32
"""More steps than this would compare noise."""
Counts = Callable[[CurvePoint], bool]


def applies(case: ComparisonCase) -> str | None:
    """Comparisons of operations over a growing number of objects, with more than one client."""
    if all(len(phase.clients) < 2 for run, _ in case.baseline if (phase := measures.phase_of(run, case.measure)) is not None):
        return "a single client"
    points = min(len(curves(arm, case)) for arm in case.arms)
    return "no curve" if points < case.thresholds["points"] else None


def check(case: ComparisonCase) -> Finding:
    """Crossovers of all points that vanish when only points with every client at work count."""
    every = ratios(case, lambda _point: True)
    full = ratios(case, lambda point: point.all_active)
    margin = case.thresholds["margin_share"]
    false = [place for place in crossings(every, margin) if not near(place, crossings(full, margin), every)]
    observed = {"points": float(len(every)), "points_with_all_clients": float(len(full))}
    if not false:
        known = [f"{place:,.0f}" for place in crossings(full, margin)]
        tail = f"the curves cross near {', '.join(known)} objects" if known else "the curves do not cross"
        statement = f"With all clients ({len(full)} of {len(every)} points) {tail}."
        return found(RULE, case, State.PASS, statement, observed=observed)
    places = ", ".join(f"{place:,.0f}" for place in false)
    return found(
        RULE,
        case,
        State.FAIL,
        f"The curves seem to cross near {places} objects, but only at points without all clients: {len(full)} of"
        f" {len(every)} points have all, and do not cross. No crossover is supported.",
        observed={**observed, "false_crossings": places},
        bound=full_bound(full),
        relabel="no crossover: it exists only where clients ran alone",
        evidence=("L0 engine: checkpoints of each client",),
    )


def curves(arm: Runs, case: ComparisonCase) -> list[CurvePoint]:
    """The points of all runs of one arm together."""
    points: list[CurvePoint] = []
    for run, observations in arm:
        phase = measures.phase_of(run, case.measure)
        points += measures.curve(phase, observations, case.measure.operation) if phase else ()
    return points


def ratios(case: ComparisonCase, counts: Counts) -> list[Ratio]:
    """Candidate over baseline at each number of objects where both arms have points that count."""
    baseline, candidate = (curves(arm, case) for arm in case.arms)
    most = max(point.objects for point in (*baseline, *candidate))
    steps = max(2, min(MOST_STEPS, len(baseline) // len(case.baseline), len(candidate) // len(case.candidate)))
    found_ratios: list[Ratio] = []
    for index in range(steps):
        low, high = most * index / steps, most * (index + 1) / steps
        ours, theirs = (list(between(arm, (low, high), counts)) for arm in (candidate, baseline))
        if ours and theirs:
            found_ratios.append(((low + high) / 2, mean(ours) / mean(theirs)))
    return found_ratios


def between(points: Sequence[CurvePoint], edges: Ratio, counts: Counts) -> Iterator[float]:
    """Time per operation of the points in a stretch of objects; none where one of them does not count."""
    inside = [point for point in points if edges[0] < point.objects <= edges[1]]
    if all(counts(point) for point in inside):
        yield from (point.ns_per_operation for point in inside)


def mean(values: Sequence[float]) -> float:
    """Geometric mean: noise in times is multiplicative."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def crossings(found_ratios: Sequence[Ratio], margin: float) -> list[float]:
    """Numbers of objects between which the lead changes by more than the margin on both sides."""
    clear = [(objects, ratio) for objects, ratio in found_ratios if abs(math.log(ratio)) > math.log1p(margin)]
    return [(one[0] + two[0]) / 2 for one, two in pairwise(clear) if (one[1] - 1) * (two[1] - 1) < 0]


def near(place: float, crossings_of_all: Sequence[float], found_ratios: Sequence[Ratio]) -> bool:
    """Whether a crossing matches one of the list, within two steps of the curve."""
    step = found_ratios[1][0] - found_ratios[0][0] if len(found_ratios) > 1 else 0.0
    return any(abs(place - other) <= 2 * step for other in crossings_of_all)


def full_bound(full: Sequence[Ratio]) -> Bound | None:
    """The smallest and the largest ratio where all clients were at work."""
    return Bound(low=min(r for _, r in full), high=max(r for _, r in full), unit="") if full else None


RULE = Rule(
    id="W04c",
    name="start-skew-curves",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="window",
    short="clients not together",
    applies=applies,
    check=check,
    wrong="In a campus study of 2006 early starters needed 3 to 5 ms for a create, late ones 10 to 13 ms. Fast clients "
    "finished first. Few clients made both ends of the curve of time per create over the number of objects, and the curves of "
    "two systems crossed there.",
    alternatives=("The curves do cross, but noise hides it elsewhere. Repeat, and compare the points with all clients.",),
    advice="Start all clients together and let the slow ones set the end. Read the curve only where every client was working.",
    sources=("A campus file server study of 2006: early starters at 3 to 5 ms a create, late ones at 10 to 13 ms",),
)
