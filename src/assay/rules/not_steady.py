"""Finds rates that were warming up, drifting or falling in the window that is claimed to be steady.

The window in which all clients ran is divided into sixty parts, and three tests read the operations in them:
- SNIA's five rounds (range within `range_share`, slope within `excursion_share`),
- MSER-5 (the first half looks like warm-up),
- change points (levels that differ by more than `step_share`).

Two of three decide (`methods`); with too few points the five rounds decide alone. For a latency the mean latency of each part
is tested too.
A failure invalidates the steady claim; the levels between change points bound a rate. The rate of an external tool over time is
unknown: unverified.

**Until steady.** A phase with `until_steady` stops after five consecutive rounds that meet the first two tests. Rates and mean
latencies then cover these rounds.
A phase that never became steady is invalid. A percentile covers the whole phase and gets a bound from the share of operations
in the steady rounds.

**False alarms.** Simulated with 6 % noise per part, two of three fail 2 % (r = 0.3) to 12 % (r = 0.8) of steady runs.
A fall by 30 % is always found, a fall by 10 % in 90 %. A drift by 10 % over the time is found in 19 %.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import latency
from assay.measures.figures import PERCENTILES
from assay.records import Bound, Finding, Scope, Severity, State, SteadyState
from assay.rulekit.findings import found, in_words
from assay.statistics.steadiness import BATCH, ROUNDS, Steadiness, steadiness
from assay.units import Unit

PARTS = 60
"""Of the window: twelve in each of five rounds, twelve batches of MSER-5."""
RATE = "the rate"


@dataclass(frozen=True, kw_only=True)
class TrendTests:
    """What three tests say of one figure over time."""

    name: str
    found: Steadiness
    against: tuple[str, ...]
    """What speaks against a steady state, in words."""

    @property
    def observed(self) -> dict[str, float]:
        """The numbers of the tests."""
        rounds, truncation, step = self.found.rounds, self.found.truncation, self.found.step_share
        return {
            **({"range_share": rounds.range_share, "excursion_share": rounds.excursion_share} if rounds else {}),
            **({"warm_up_share": truncation.batches / (2 * truncation.limit)} if truncation else {}),
            **({} if step is None else {"step_share": step}),
        }


def check(case: TrialCase) -> Finding:
    """Three tests on the rate over time, and on the latency where one is claimed."""
    state = case.phase.steady
    if state is not None and not state.reached:
        return never(case, state)
    window = measures.common_window(case.phase, case.observations, case.measure.operation)
    if window is None or window.seconds <= 0 or case.phase.values:
        return found(RULE, case, State.UNVERIFIED, "Rate over time unknown.")
    courses = tuple(courses_of(case, (window.from_ns, window.to_ns)))
    if not courses:
        return found(RULE, case, State.UNVERIFIED, "Too few points of the rate over time.")
    worst = max(courses, key=lambda course: len(course.against) / course.found.tests)
    if len(worst.against) >= min(case.thresholds["methods"], worst.found.tests):
        return unsteady(case, worst)
    return percentile_of_all(case) or found(
        RULE,
        case,
        State.PASS,
        f"{worst.name[:1].upper()}{worst.name[1:]} was steady over {window.seconds:.3g} s{but(worst)}.",
        observed=worst.observed,
    )


def courses_of(case: TrialCase, edges: tuple[int, int]) -> Iterator[TrendTests]:
    """The rate, and the mean latency where a latency is the figure; none where too little is known between the edges."""
    known = measures.points_inside(case.phase, case.observations, case.measure.operation, edges)
    parts = min(PARTS, known // BATCH * BATCH)
    if parts < ROUNDS:
        return
    rates = amounts(case, measures.AMOUNTS.get(case.measure.figure, "count"), edges, parts)
    if sum(rates) > 0:
        yield course(case, RATE, [rate * parts * 1e9 / (edges[1] - edges[0]) for rate in rates])
    if case.measure.figure.startswith("latency_") and all(rates):
        busy = amounts(case, "busy_ns", edges, parts)
        yield course(case, "the latency", [spent / count for spent, count in zip(busy, rates, strict=True)])


def amounts(case: TrialCase, metric: str, edges: tuple[int, int], parts: int) -> tuple[float, ...]:
    """What was done in each part."""
    return measures.in_parts(case.phase, case.observations, (case.measure.operation, metric), edges, parts)


def course(case: TrialCase, name: str, values: Sequence[float]) -> TrendTests:
    """The three tests held against their limits."""
    limits, found_ = case.thresholds, steadiness(values)
    rounds, truncation, step = found_.rounds, found_.truncation, found_.step_share
    against = []
    if rounds is not None and not rounds.within(limits["range_share"], limits["excursion_share"]):
        range_, excursion = measures.percent(rounds.range_share), measures.percent(rounds.excursion_share)
        against.append(f"five rounds differ by {range_} of their mean with a slope of {excursion}")
    if truncation is not None and truncation.at_limit:
        against.append("the first half looks like warm-up (MSER-5)")
    if step is not None and step > limits["step_share"]:
        against.append(f"the level changes by {measures.percent(step)}")
    return TrendTests(name=name, found=found_, against=tuple(against))


def but(worst: TrendTests) -> str:
    """What one test alone holds against it."""
    return f"; one of three tests disagrees: {worst.against[0]}" if worst.against else " by three tests"


def unsteady(case: TrialCase, worst: TrendTests) -> Finding:
    """The failure, bounded by the stretches of different level."""
    bound = None
    kind = measures.figure_kind(case.measure.figure)
    if worst.name == RATE and kind is not None and case.measure.figure in measures.AMOUNTS:
        bound = Bound(low=min(worst.found.levels), high=max(worst.found.levels), unit=kind.unit)
    known = f" Levels: {in_words(bound)}." if bound else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"Steady state claimed, but {worst.name} was not steady: {'; '.join(worst.against)}.{known}",
        observed=worst.observed,
        bound=bound,
        relabel="not steady",
        detail=worst.against[-1],
        evidence=("L0 engine: operations over time",),
    )


def never(case: TrialCase, state: SteadyState) -> Finding:
    """A phase that ran all the time that was allowed."""
    rounds = f"{state.rounds} rounds of {measures.with_unit(state.round_ns, Unit.NANOSECONDS)}"
    end_ns = case.phase.start_ns + state.rounds * state.round_ns
    last = tuple(courses_of(case, (end_ns - ROUNDS * state.round_ns, end_ns))) if state.rounds >= ROUNDS else ()
    return found(
        RULE,
        case,
        State.FAIL,
        f"Never steady: {rounds} allowed, and no five consecutive rounds agreed.",
        observed={"rounds": float(state.rounds), **(last[0].observed if last else {})},
        relabel="never steady",
        detail=f"{rounds} allowed",
        evidence=("L0 engine: progress of all clients",),
    )


def percentile_of_all(case: TrialCase) -> Finding | None:
    """A percentile of a phase that ran until it was steady has its warm-up in it; of the steady rounds it has a bound."""
    edges = measures.steady_edges(case.phase, case.measure.operation)
    whole = measures.whole_window(case.phase, case.measure.operation)
    if edges is None or whole is None or case.measure.figure not in PERCENTILES or case.value is None:
        return None
    inside = min(1.0, amounts(case, "count", edges, 1)[0] / whole.count)
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    ends = latency.bracket(buckets, PERCENTILES[case.measure.figure], inside)
    if ends is None or ends[0] == ends[1]:
        return None
    bound = Bound(low=ends[0], high=ends[1], unit=Unit.NANOSECONDS)
    return found(
        RULE,
        case,
        State.FAIL,
        f"The percentile covers the whole phase; {measures.percent(inside)} of its operations are in the steady rounds,"
        f" whose percentile is {in_words(bound)}.",
        severity=Severity.QUALIFIES,
        observed={"inside_share": inside},
        bound=bound,
        relabel="of the whole phase, warm-up included",
    )


RULE = Rule(
    id="W02",
    name="not-steady",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="regime",
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="The first seconds are answered from caches that fill, the last ones wait for a garbage collector. The mean of both "
    "is a rate that never occurred. Another run time gives another mean, and two systems are compared at different places of "
    "their curves.",
    alternatives=(
        "The offered load changed. Compare with its schedule (G02).",
        "A client ended early. Check the clients' intervals (W04).",
        "A neighbour started or stopped. Compare the time of the change with steal and pressure (N02).",
    ),
    advice="Run longer, or until it is steady (`until_steady`). Report the levels instead of their mean, or claim a burst.",
    at_shell="Run longer. Report the levels instead of their mean, or claim regime=burst.",
    sources=(
        "SNIA SSS PTS 2.0.1: five rounds, range 20 %, slope 10 %",
        "White 1997: MSER-5",
        "Jackson et al. 2005: optimal partitioning",
        "Barrett et al. 2017: virtual machine warmup blows hot and cold",
    ),
)
