"""Finds figures per operation whose operations move different amounts, and CPU shares at different rates of work.

The rule reads the bytes and the counts of each run, by Assay's engine or by the tool's report.
- A rate of operations, or a cost per operation: the bytes of one operation differ by more than `matters`: invalid.
- A latency of such operations: qualified.
- A CPU share: the bytes (or the operations, where none move data) per second differ by more than `matters`: invalid. If the
  factor is the number of hosts, clients or workers, it is a note: a share over the load was asked for.

Amounts differ if the ranges of the arms' runs lie apart. It also judges arms whose factor is the work itself: 64 KiB against
1 MiB has no rate of operations in common. Operations without data are n/a. C04 judges the amount of the whole work.
"""

from __future__ import annotations

from collections.abc import Callable

from assay import measures
from assay.catalogue import ComparisonCase, Rule
from assay.records import Finding, Phase, Scope, Severity, State
from assay.rulekit.findings import found
from assay.units import Unit

PER_OPERATION = ("ops_per_s", "busy_ops_per_s")
OF_ONE, OF_TIME, SHARE = "_per_op", "latency_", "cpu_share"
OF_MANY = "_per_million_ops"
Amount = Callable[[Phase], float | None]


def applies(case: ComparisonCase) -> str | None:
    """None for what is divided by operations, and for CPU shares."""
    return None if is_share(case) or of_operations(case) else "neither a figure per operation nor a CPU share"


def is_share(case: ComparisonCase) -> bool:
    """Whether the figure is a share of CPU time, of the load's host or of the server."""
    return case.measure.figure.rpartition(".")[2].endswith(SHARE)


def of_operations(case: ComparisonCase) -> bool:
    """Whether the figure counts operations, is divided by them, or is the time of one."""
    figure = case.measure.figure
    return figure in PER_OPERATION or figure.startswith(OF_TIME) or figure.endswith((OF_ONE, OF_MANY))


def check(case: ComparisonCase) -> Finding:
    """Fail where the amounts of work behind the figures of the two arms lie apart."""
    amount = rate if is_share(case) else size_for(case)
    arms = [[amount(phase) for phase in phases] for phases in measured_phases(case)]
    if not all(arms) or any(one is None for arm in arms for one in arm):
        return found(RULE, case, State.UNVERIFIED, "Work of an arm unknown: a run has no counts of operations.")
    known = [[one for one in arm if one is not None] for arm in arms]
    if not any(one for arm in known for one in arm):
        return found(RULE, case, State.NOT_APPLICABLE, "The operations move no data.")
    (low, high), (least, most) = ((min(arm), max(arm)) for arm in known)
    apart = max(least - high, low - most) > case.experiment.matters_share * max(high, most)
    return share_finding(case, known, apart=apart) if is_share(case) else size_finding(case, known, apart=apart)


def measured_phases(case: ComparisonCase) -> list[list[Phase]]:
    """The phases of the runs that count, arm by arm; of all runs where none counts."""
    excluded = case.comparison.excluded
    kept = ([run for run, _ in arm if run.id not in excluded] or [run for run, _ in arm] for arm in case.arms)
    return [[phase for run in runs if (phase := measures.phase_of(run, case.measure)) is not None] for runs in kept]


def size_for(case: ComparisonCase) -> Amount:
    """The bytes of one operation: of the measure's own, for a cost of all operations of the phase."""
    own = case.measure.operation if not case.measure.figure.endswith((OF_ONE, OF_MANY)) else None

    def size(phase: Phase) -> float | None:
        count, moved = measures.work_of(phase, own)
        return moved / count if count else None

    return size


def rate(phase: Phase) -> float | None:
    """Bytes a second of all operations; operations a second where none move data."""
    count, moved = measures.work_of(phase, None)
    seconds = phase.lasted_ns / 1e9
    return (moved or count) / seconds if count and seconds > 0 else None


def size_finding(case: ComparisonCase, arms: list[list[float]], *, apart: bool) -> Finding:
    """A figure per operation: the same for each byte, where operations differ in size."""
    first, second = (sum(arm) / len(arm) for arm in arms)
    sizes = " against ".join(measures.with_unit(one, Unit.BYTES) for one in (first, second))
    if not apart:
        return found(RULE, case, State.PASS, f"Operations of both arms move the same: {sizes} each.")
    figure, ratio = case.measure.figure, case.comparison.ratio
    of_time = figure.startswith(OF_TIME)
    words = ""
    if ratio is not None and first > 0 and second > 0 and not of_time:
        per_byte = ratio.value * (second / first if figure in PER_OPERATION else first / second)
        words = f" For each byte the ratio is {per_byte:.3g}, not {ratio.value:.3g}."
    return found(
        RULE,
        case,
        State.FAIL,
        f"One operation moves {sizes}: other work.{words}",
        severity=Severity.QUALIFIES if of_time else Severity.INVALIDATES,
        observed={"baseline_bytes": first, "candidate_bytes": second},
        threshold={"apart_share": case.experiment.matters_share},
        relabel="latencies of operations of different size" if of_time else "operations of different size",
    )


def is_load(case: ComparisonCase) -> bool:
    """Whether the factor is how much works at once: a share that rises with the load is what was asked for."""
    return case.comparison.factor.rpartition(".")[2] in measures.CONCURRENCY


def share_finding(case: ComparisonCase, arms: list[list[float]], *, apart: bool) -> Finding:
    """A CPU share: the CPU time of the same work, where the arms did different work in a second."""
    first, second = (sum(arm) / len(arm) for arm in arms)
    in_bytes = any(measures.work_of(phase, None)[1] for phases in measured_phases(case) for phase in phases)
    unit = Unit.BYTES_PER_S if in_bytes else Unit.PER_S
    rates = " against ".join(measures.with_unit(one, unit) for one in (first, second))
    if not apart:
        return found(RULE, case, State.PASS, f"Both arms did the same work in a second: {rates}.")
    ratio = case.comparison.ratio
    what = "byte" if in_bytes else "operation"
    words = f" For each {what} the ratio is {ratio.value * first / second:.3g}, not {ratio.value:.3g}." if ratio else ""
    return found(
        RULE,
        case,
        State.FAIL,
        f"CPU shares at different work: {rates}.{words}",
        severity=Severity.NOTES if is_load(case) else Severity.INVALIDATES,
        observed={"baseline": first, "candidate": second},
        threshold={"apart_share": case.experiment.matters_share},
        relabel="CPU shares at different work",
    )


RULE = Rule(
    id="C08",
    name="unlike-work",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="comparability",
    short="other work behind the figures",
    applies=applies,
    check=check,
    wrong="Reads of 1 MiB are a sixteenth as many as reads of 64 KiB, and each costs eight times the CPU time. Both read worse, "
    "and the larger reads move twice the bytes at half the cost of each byte. A server that does a fifth of the work has a "
    "lower CPU share, too.",
    alternatives=(
        (
            "A system that charges by the operation (a cloud disk, an object store) has a limit of operations. Compare it at one "
            "size."
        ),
    ),
    advice="Compare what both arms have in common: `bytes_per_s` and `cpu_ns_per_gb`, or `cpu_ns_per_op` where each operation "
    "is the same. Or give both arms the same size, and for CPU shares the same rate.",
    sources=(
        "Hoefler and Belli, SC 2015: Scientific benchmarking of parallel computing systems, rule 1 on rates and costs",
        "SPC-1 and SPECstorage: response times and rates are compared at the same size and mix of requests",
    ),
)
