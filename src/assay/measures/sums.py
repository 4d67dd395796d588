"""What a run did, operation by operation and all together: counts, rates, latencies, and what the load itself used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.measures import cost, directory, latency
from assay.measures.figures import phase_of, value
from assay.plain import to_plain
from assay.records import Direction, LoadTotal, Measure, Observations, Phase, QueueTotal, Run

SHARES: Mapping[str, float] = {"p50": 0.50, "p90": 0.90, "p99": 0.99, "p999": 0.999, "max": 1.0}
FIRST_ENTRY = "first_entry"
"""How an operation is called that is the time to the first entry of a search, or ends so."""
Buckets = list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class Sum:
    """What was done in some time."""

    ops: int
    bytes: int
    errors: int
    elapsed_ns: float
    """First start to last end, with the drain where the claim charges it; over several phases their sum."""
    ops_per_s: float | None
    bytes_per_s: float | None
    latency_ns: Mapping[str, float | None]
    """The percentiles of SHARES by name, and `mean`."""


@dataclass(frozen=True, kw_only=True)
class Whole:
    """All measured phases together."""

    sum: Sum
    operations: Mapping[str, Sum]
    cost: Mapping[str, float | None]
    """Figures of `measures.costs`, per operation of `sum`; None where the machine does not tell."""
    load: LoadTotal | None
    """What an open loop fell behind by; None in a closed one."""
    queue: QueueTotal | None
    """How requests went through io_uring; None where they did not."""


def whole(run: Run, observations: Observations, measures: Sequence[Measure]) -> Whole:
    """Sums of every operation that has a measure, in order, and of all.

    Flushes are operations of their own, and not counted in the sum of all where there are others: what they take belongs to
    the writes before them. No more are first entries of a search and binds before each operation, which are parts of others.
    """
    done = [(measure, phase) for measure in measures if (phase := phase_of(run, measure)) is not None]
    each = {measure.operation: one(run, observations, measure, phase) for measure, phase in done}
    counted = [(measure, phase) for measure, phase in done if not _is_part(phase, measure.operation)] or done
    phases = list({phase.name: phase for _, phase in done}.values())
    total = together(observations, [(each[measure.operation], measure, phase) for measure, phase in counted])
    return Whole(sum=total, operations=each, cost=costs(phases, total.ops), load=behind(phases), queue=queued(phases))


def _is_part(phase: Phase, operation: str) -> bool:
    return phase.directions.get(operation) is Direction.FLUSH or directory.is_part(phase, operation)


def one(run: Run, observations: Observations, measure: Measure, phase: Phase) -> Sum:
    """One operation; its rates are the figures that are judged."""

    def figure(name: str) -> float | None:
        found = value(run, observations, replace(measure, figure=name))
        return None if found is None else found.value

    return Sum(
        ops=int(figure("count") or 0),
        bytes=int(figure("bytes") or 0),
        errors=int(figure("errors") or 0),
        elapsed_ns=figure("elapsed_ns") or 0.0,
        ops_per_s=figure("ops_per_s"),
        bytes_per_s=figure("bytes_per_s"),
        latency_ns=latencies(latency.merged(observations, phase.name, measure.operation), figure("latency_mean_ns")),
    )


def answers(run: Run, all_of_it: Whole) -> dict[str, object] | None:
    """What a directory server answered, as plain values; of each operation the times to the first entry and to the end."""
    found = directory.counted(run)
    if found is None:
        return None
    parts = {whole: part for phase in run.phases for part, whole in phase.within.items() if part.endswith(FIRST_ENTRY)}
    times = {name: dict(one.latency_ns) for name, one in all_of_it.operations.items()}
    each = {
        name: {**to_plain(one), "first_entry_ns": times.get(parts.get(name, "")), "response_ns": times.get(name)}
        for name, one in found.operations.items()
    }
    return {**to_plain(found), "operations": each}


def together(observations: Observations, parts: Sequence[tuple[Sum, Measure, Phase]]) -> Sum:
    """Several operations as one: those of one phase ran at the same time, phases one after the other."""
    if len(parts) == 1:
        return parts[0][0]
    longest: dict[str, float] = {}
    buckets: Counter[int] = Counter()
    for found, measure, phase in parts:
        longest[phase.name] = max(longest.get(phase.name, 0.0), found.elapsed_ns)
        for upper, count in latency.merged(observations, phase.name, measure.operation):
            buckets[upper] += count
    elapsed_ns = sum(longest.values())
    ops, moved = sum(part.ops for part, _, _ in parts), sum(part.bytes for part, _, _ in parts)
    means = [mean * part.ops for part, _, _ in parts if (mean := part.latency_ns["mean"]) is not None]
    return Sum(
        ops=ops,
        bytes=moved,
        errors=sum(part.errors for part, _, _ in parts),
        elapsed_ns=elapsed_ns,
        ops_per_s=ops * 1e9 / elapsed_ns if elapsed_ns else None,
        bytes_per_s=moved * 1e9 / elapsed_ns if elapsed_ns else None,
        latency_ns=latencies(sorted(buckets.items()), sum(means) / ops if ops and len(means) == len(parts) else None),
    )


def latencies(buckets: Buckets, mean: float | None) -> dict[str, float | None]:
    """The percentiles (ns) by name, and the mean."""
    return {name: latency.percentile(buckets, share) for name, share in SHARES.items()} | {"mean": mean}


def costs(phases: Sequence[Phase], ops: int) -> dict[str, float | None]:
    """The cost of several phases; what is per operation is divided by so many."""
    if not phases:
        return dict.fromkeys(cost.UNITS)
    clients = tuple(client for phase in phases for client in phase.clients)
    figures = cost.costs(replace(phases[0], clients=clients))
    every = sum(total.count for client in clients for total in client.operations)
    scale = every / ops if ops else 1.0
    return {name: found * scale if found is not None and name in cost.PER_OPERATION else found for name, found in figures.items()}


def behind(phases: Sequence[Phase]) -> LoadTotal | None:
    """What all clients of all phases fell behind by; the longest backlog of any."""
    found = [client.load for phase in phases for client in phase.clients if client.load is not None]
    if not found:
        return None
    return LoadTotal(
        late=sum(one.late for one in found),
        unstarted=sum(one.unstarted for one in found),
        backlog_max_ns=max(one.backlog_max_ns for one in found),
    )


def queued(phases: Sequence[Phase]) -> QueueTotal | None:
    """How the requests of all clients of all phases went; registered where all were, punted where any was."""
    found = [client.queue for phase in phases for client in phase.clients if client.queue is not None]
    if not found:
        return None
    return QueueTotal(
        depth=max(one.depth for one in found),
        registered=all(one.registered for one in found),
        punted=any(one.punted for one in found),
        punted_threads=sum(one.punted_threads for one in found),
        submissions=sum(one.submissions for one in found),
    )
