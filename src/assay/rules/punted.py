"""Finds requests of io_uring that threads of the kernel did, because the target cannot do them without waiting.

The kernel first tries each request without waiting; a target that refuses that (a buffered write on ext4, a write that
allocates, O_DSYNC, tmpfs, zram) has it done by a thread `iou-wrk`, and the figure is one of these threads as much as of the
target. The engine looks for such threads at the end of a phase. Flushes always go that way, so beside flushes in the same
ring nothing can be told of the other requests.
"""

from __future__ import annotations

from assay.catalogue import About, Case, Rule, TrialCase
from assay.records import Client, Direction, Finding, QueueTotal, Scope, Severity, State, Tier
from assay.rulekit.findings import found, held_back

LABEL = "by threads of the kernel (iou-wrk)"


def applies(case: Case) -> str | None:
    """Phases whose clients used io_uring."""
    assert isinstance(case, TrialCase)
    return None if queues(case) else "no request went through io_uring"


def check(case: Case) -> Finding:
    """Whether any client found threads of the kernel at its requests."""
    assert isinstance(case, TrialCase)
    threads = sum(queue.punted_threads for queue in queues(case))
    depth = max(queue.depth for queue in queues(case))
    observed = {"punted_threads": float(threads), "depth": float(depth)}
    if not any(queue.punted for queue in queues(case)):
        return found(RULE, case, State.PASS, "No thread of the kernel did requests of io_uring.", observed=observed)
    if flushed_in_ring(case) and case.phase.directions.get(case.measure.operation) is not Direction.FLUSH:
        said = "Threads of the kernel did the flushes, as always; whether they did other requests too cannot be told."
        return found(RULE, case, State.UNVERIFIED, said, observed=observed)
    return by_threads(case, threads, observed)


def by_threads(case: TrialCase, threads: int, observed: dict[str, float]) -> Finding:
    """The failure: of a flush, which always goes that way, and of a figure that is called nobody's, it is only a note."""
    always = case.phase.directions.get(case.measure.operation) is Direction.FLUSH
    who = "A thread" if threads == 1 else f"{threads} threads"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{who} of the kernel (iou-wrk) did requests of io_uring, because the target cannot do them without waiting: what was"
        " measured is those threads as much as the target, which other calls may find several times faster.",
        severity=Severity.NOTES if always or case.claim.tier is Tier.AS_IS else Severity.QUALIFIES,
        observed={**observed},
        bound=held_back(case),
        relabel=LABEL,
        evidence=("L0 engine: threads of its process at the end of the phase",),
    )


def queues(case: TrialCase) -> tuple[QueueTotal, ...]:
    """How requests went, of each client that used io_uring."""
    return tuple(client.queue for client in case.phase.clients if client.queue is not None)


def flushed_in_ring(case: TrialCase) -> bool:
    """Whether any client flushed through the ring: the last flush of each worker is a call of its own."""
    return any(flushes(case, client) > max(1, client.workers) for client in case.phase.clients if client.queue is not None)


def flushes(case: TrialCase, client: Client) -> int:
    """How often a client flushed."""
    return sum(one.count for one in client.operations if case.phase.directions.get(one.operation) is Direction.FLUSH)


RULE = Rule(
    id="L11",
    name="punted",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    needs=(),
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    alternatives=(
        'Only a few requests were handed on (a first write): where ioengine = "psync" is no faster, the threads did little.',
    ),
    advice='Measure with ioengine = "psync" and as many workers as there were requests in flight, or with direct = true on files'
    " that are laid out already; keep io_uring where it is what production uses, and say so.",
    sources=(
        "io_uring_enter(2), io_uring_register(2): IORING_REGISTER_IOWQ_MAX_WORKERS",
        "measured on zram, 4 KiB direct: libaio 158,000 to 164,000/s, io_uring 7,000 to 30,000/s",
    ),
)
