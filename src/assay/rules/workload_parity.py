"""Finds arms with different work: other data, other sizes, another mix of operations, other clients.

The rule reads the clients' counts in each run (operations, bytes per operation, clients, workers) and the plan's seeds. Runs of
one block share a seed, so equal work is equal to the last operation.
An amount differs if the ranges of the arms' runs lie apart:
- Clients, workers or operation sizes by more than `amount_share`; with fixed work also the operations or the mix (`mix_share`):
  invalid.
- A mix of a fixed time: a note, since the faster system may have come further.
- No counts, or no common seed and fewer than `runs` runs: unverified.
- The work itself is the factor (`workload`, `clients`, `hosts`, a knob of the workload): n/a.

W05 judges the end of the clock, C01 the files and programs, S02 the number of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay import measures
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.records import Direction, Finding, Phase, Scope, Severity, State, StopRule
from assay.rulekit.findings import found
from assay.units import counted

LOAD_FACTORS = ("workload", "clients", "hosts")
MOVES = (Direction.READ, Direction.WRITE)
MOST_SHOWN = 6

Amounts = Mapping[str, float]
EVIDENCE = ("L0: the clients' own counts of operations and bytes", "the plan: seeds")


@dataclass(frozen=True, kw_only=True)
class UnequalAmount:
    """One amount of which the runs of one arm all have more than those of the other."""

    what: str
    baseline: tuple[float, float]
    candidate: tuple[float, float]

    def __str__(self) -> str:
        return f"{self.what}: {spanned(self.baseline)} against {spanned(self.candidate)}"


def spanned(ends: tuple[float, float]) -> str:
    """The smallest and the largest value, once where they are the same."""
    low, high = (f"{end:,.4g}" if end < 1e4 else f"{end:,.0f}" for end in ends)
    return low if low == high else f"{low} to {high}"


def applies(case: ComparisonCase) -> str | None:
    """None for comparisons of systems; where the work itself is the factor it has to differ."""
    factor = case.comparison.factor
    if factor in LOAD_FACTORS or factor.partition(".")[0] == case.measure.workload:
        return f"the work is the factor ({factor})"
    return None


def check(case: ComparisonCase) -> Finding:
    """Fail where an amount of work, or the way that it ended, differs between all runs of one arm and all of the other."""
    arms = [phases(case, runs) for runs in case.arms]
    if not all(arms) or not all(phase.clients and any(done(phase)) for arm in arms for phase in arm):
        return found(RULE, case, State.UNVERIFIED, "Work of an arm unknown: a run has no counts of operations.")
    fixed = all(is_fixed(phase) for arm in arms for phase in arm)
    seeds = [{run.trial.seed for run, _ in runs} for runs in case.arms]
    share, points = case.thresholds["amount_share"], case.thresholds["mix_share"]
    gaps = [*gaps_of(arms, shape, share), *(gaps_of(arms, amounts, share) if fixed else ())]
    mixed = gaps_of(arms, mix, points, points=True)
    if gaps and not seeds[0] & seeds[1] and min(map(len, arms)) < case.thresholds["runs"]:
        statement = "Different seeds and few runs: other data, or another draw of the same data."
        return found(RULE, case, State.UNVERIFIED, statement, evidence=tuple(map(str, gaps)))
    return judged(case, [*gaps, *mixed], Severity.INVALIDATES if gaps or fixed else Severity.NOTES, seeds)


def judged(case: ComparisonCase, gaps: Sequence[UnequalAmount], severity: Severity, seeds: Sequence[set[int]]) -> Finding:
    """The finding, with how many seeds the arms had and how many they share."""
    both = len(seeds[0] & seeds[1])
    alike = f"with {counted(both, 'common seed')}" if both else "with different seeds"
    more = f"; and {len(gaps) - MOST_SHOWN} more" if len(gaps) > MOST_SHOWN else ""
    listed = "; ".join(map(str, gaps[:MOST_SHOWN])) + more
    statement = f"The arms did different work: {listed}." if gaps else f"Both arms did the same work {alike}."
    return found(
        RULE,
        case,
        State.FAIL if gaps else State.PASS,
        statement,
        severity=severity if gaps else RULE.severity,
        observed={"differing": len(gaps), "seeds": len(seeds[0] | seeds[1]), "common_seeds": both},
        relabel="comparison of different workloads" if gaps and severity is Severity.INVALIDATES else None,
        evidence=(*map(str, gaps), *EVIDENCE),
    )


def phases(case: ComparisonCase, runs: Runs) -> list[Phase]:
    """The measure's phase of each run that has one."""
    return [phase for run, _ in runs if (phase := measures.phase_of(run, case.measure)) is not None]


def gaps_of(
    arms: Sequence[Sequence[Phase]], of: Callable[[Phase], Amounts], threshold: float, *, points: bool = False
) -> Iterator[UnequalAmount]:
    """The amounts whose ranges in the two arms lie apart by more than the threshold: a share, or points of a share."""
    tables = [[of(phase) for phase in arm] for arm in arms]
    for what in dict.fromkeys(key for arm in tables for table in arm for key in table):
        columns = ([table.get(what, 0.0) for table in arm] for arm in tables)
        (low, high), (least, most) = ((min(column), max(column)) for column in columns)
        apart = max(least - high, low - most)
        if apart > (threshold if points else threshold * max(high, most)):
            yield UnequalAmount(what=what, baseline=(low, high), candidate=(least, most))


def done(phase: Phase) -> Iterator[tuple[str, float, float]]:
    """Each operation with its count and bytes over all clients, by Assay's engine or a tool's report."""
    for operation in phase.operations:
        totals = [total for client in phase.clients for total in client.operations if total.operation == operation]
        own = (sum(total.count for total in totals), sum(total.bytes for total in totals))
        reported = (phase.values.get(f"{operation}.count", 0), phase.values.get(f"{operation}.bytes", 0))
        count, size = reported if phase.values else own
        if count:
            yield operation, count, size


def is_fixed(phase: Phase) -> bool:
    """Whether the amount of work was fixed: an external command may have ended for any reason."""
    by_time = phase.stop is StopRule.STEADY or any(client.stopped_by == "time" for client in phase.clients)
    return not by_time and not phase.values


def shape(phase: Phase) -> Amounts:
    """Clients, workers, and the size of an operation that moves data."""
    sizes = {
        f"bytes of one {operation}": size / count
        for operation, count, size in done(phase)
        if size and phase.directions.get(operation) in MOVES
    }
    return {"clients": len(phase.clients), "workers": sum(client.workers for client in phase.clients), **sizes}


def amounts(phase: Phase) -> Amounts:
    """How much was done of each operation: only of work whose amount is fixed, for a faster system does more in a time."""
    return {f"{operation} operations": float(count) for operation, count, _ in done(phase)}


def mix(phase: Phase) -> Amounts:
    """The share of each operation in all of the phase."""
    every = list(done(phase))
    whole = sum(count for _, count, _ in every)
    return {f"share of {operation}": count / whole for operation, count, _ in every} if len(every) > 1 else {}


RULE = Rule(
    id="C04",
    name="workload-parity",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="comparability",
    short="different work",
    applies=applies,
    check=check,
    wrong="B has fewer files, because it was restored from an older copy, and reads its tree in less time. The run is sound, "
    "the clock is right, and B looks faster. The same happens with another tree under the same path, other seeds, or a client "
    "that never started.",
    alternatives=(
        (
            "A system that does part of the work elsewhere or splits it up (directories read in pieces) has other kinds of "
            "operations."
        ),
        "Clients that fail early in one arm do less. Check the errors in their counts (G04).",
    ),
    advice="Give both arms the same data (the same copy or seed), the same amounts and the same end of the clock. Or make the "
    "difference the factor.",
    sources=(
        "Heiser, Systems benchmarking crimes: unfair comparisons",
        "MLPerf audit guidelines: what is materially different is more than 2 % apart",
    ),
)
