"""Whether two commands under `assay stat` did work that can be compared. Pure.

A command that fails did other work, and so did one that read an eighth of the data, or whose operations are of another size.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.cli.stat.described import LEAST_BYTES, bytes_text
from assay.cli.stat.execution import JudgedExecution
from assay.evidence import rungs
from assay.records import Direction, Experiment, Severity
from assay.units import Unit
from assay.watch.as_run import ended

FAULT_BYTES = 64 << 10
"""What one page fault of a mapped file maps at most (fault_around_bytes): such reads are in no count of calls."""
Runs = Sequence[JudgedExecution]


def failed(first: Runs, second: Runs) -> str | None:
    """`3 of 5 runs failed (exit status 2)`: why an arm is no arm; None where every run of both ended well."""
    for runs in (first, second):
        ends = [end for one in runs if (end := ended(one.watched))]
        if ends:
            return f"{len(ends)} of {len(runs)} runs failed ({ends[-1]})"
        empty = [said for one in runs if (said := no_work(one))]
        if empty:
            return f"{len(empty)} of {len(runs)} runs did not do their work ({empty[-1]})"
    return None


LOAD = "load"
"""The part of a claim that is refuted where operations failed, or where there were none."""


def no_work(one: JudgedExecution) -> str | None:
    """Return why a figure of one run is none of work that was done; None where nothing refutes that."""
    found = (finding for verdict in one.verdicts for finding in verdict.findings if finding.part == LOAD)
    return next((each.statement.rstrip(".") for each in found if each.counts and each.severity is Severity.INVALIDATES), None)


def unlike_amounts(first: Runs, second: Runs) -> str | None:
    """Return `read 131 kB against 169 MB` where the data that both read lie apart; None where they do not, or nobody knows."""
    amounts = [[amount_read(one) for one in runs] for runs in (first, second)]
    known = [[one for one in arm if one is not None] for arm in amounts]
    if any(len(arm) < len(all_of) for arm, all_of in zip(known, amounts, strict=True)) or not all(known):
        return None
    (low, high), (least, most) = ((min(arm), max(arm)) for arm in known)
    apart = max(least - high, low - most)
    least_apart = max(LEAST_BYTES, Experiment.matters_share * max(high, most))
    if apart <= least_apart or may_be_mapped(first, second, known):
        return None
    mine, theirs = (bytes_text(round(sum(arm) / len(arm))) for arm in known)
    return f"read {theirs} against {mine}"


def amount_read(one: JudgedExecution) -> float | None:
    """What the command read: by its report, else by its calls; None where that was not seen."""
    (phase,), seen, account = one.external.run.phases, one.external.observations, one.watched.account
    if account is None:
        return None
    return rungs.rungs(phase, seen, Direction.READ).application or float(min(account.rchar, LEAST_BYTES))


def may_be_mapped(first: Runs, second: Runs, amounts: Sequence[Sequence[float]]) -> bool:
    """Whether the command that read less by its calls had so many more page faults that it may have mapped the rest."""
    means = [sum(arm) / len(arm) for arm in amounts]
    fewer, more = (first, second) if means[0] < means[1] else (second, first)
    mapped = (mean_faults(fewer) - mean_faults(more)) * FAULT_BYTES
    return 2 * mapped >= abs(means[0] - means[1])


def mean_faults(runs: Runs) -> float:
    """The page faults of a run, in the mean."""
    accounts = [one.watched.account for one in runs if one.watched.account]
    return sum(one.minor_faults + one.major_faults for one in accounts) / len(runs)


def unlike_sizes(first: Runs, second: Runs, name: str, unit: str) -> str | None:
    """Return `operations of 4.10 kB against 1.05 MB` where a rate of operations is compared; None where they are alike."""
    if unit != Unit.PER_S:
        return None
    arms = [[size for one in runs if (size := size_of_one(one, name)) is not None] for runs in (first, second)]
    if not all(arms):
        return None
    (low, high), (least, most) = ((min(arm), max(arm)) for arm in arms)
    if max(least - high, low - most) <= Experiment.matters_share * max(high, most):
        return None
    mine, theirs = (bytes_text(round(sum(arm) / len(arm))) for arm in arms)
    return f"operations of {theirs} against {mine}"


def size_of_one(one: JudgedExecution, name: str) -> float | None:
    """The bytes of one operation of a report that has both."""
    values = one.external.reported.values if one.external.reported else {}
    count, moved = (values.get(f"{name}.{what}") for what in ("count", "bytes"))
    rate, throughput = (values.get(f"{name}.{what}") for what in ("ops_per_s", "bytes_per_s"))
    if count and moved:
        return moved / count
    return throughput / rate if rate and throughput else None
