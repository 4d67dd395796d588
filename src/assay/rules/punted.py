"""Finds io_uring requests that were offloaded to kernel worker threads (io-wq), because the target would block.

The kernel first tries each request without blocking. A target that would block (a buffered write on ext4, a growing file,
O_DSYNC, tmpfs, zram) gets a worker thread.
The figure then describes the queue before that thread as much as the target. The engine checks for such threads at the end of a
phase; it does not count their requests.
- A claimed tier: qualified; a rate is at least, a latency at most the measured value. Other claims: a note.
- Flushes are always offloaded: a note for flushes, and unverified for other requests in the same ring.

Measured on Linux 6.18: buffered overwrites on ext4 ran at 141,000/s through io_uring and 417,000/s by pwrite.
Direct I/O on zram ran at 7,000 to 30,000/s against 158,000 to 164,000/s by libaio.
"""

from __future__ import annotations

from assay.catalogue import About, Rule, TrialCase
from assay.records import Direction, Finding, QueueTotal, Scope, Severity, State, Tier
from assay.rulekit.findings import found, held_back
from assay.units import counted


def applies(case: TrialCase) -> str | None:
    """Phases whose clients used io_uring."""
    return None if queues(case) else "no io_uring requests"


def check(case: TrialCase) -> Finding:
    """Whether any client found threads of the kernel at its requests."""
    threads = sum(queue.punted_threads for queue in queues(case))
    depth = max(queue.depth for queue in queues(case))
    observed = {"punted_threads": float(threads), "depth": float(depth)}
    if not any(queue.punted for queue in queues(case)):
        return found(RULE, case, State.PASS, "No io_uring request was offloaded to a kernel thread.", observed=observed)
    if flushed_in_ring(case) and case.direction is not Direction.FLUSH:
        statement = "Flushes were offloaded to kernel threads, as always; other requests cannot be separated."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    always, who = case.direction is Direction.FLUSH, counted(threads, "kernel worker thread")
    return found(
        RULE,
        case,
        State.FAIL,
        f"io_uring requests were offloaded to {who} (io-wq): the figure describes these threads as much as the target."
        ' Compare with ioengine = "psync".',
        severity=Severity.NOTES if always or case.claim.tier is Tier.AS_IS else Severity.QUALIFIES,
        observed=observed,
        bound=held_back(case),
        relabel="by kernel worker threads (io-wq)",
        evidence=("L0 engine: threads of its process at the end of the phase",),
    )


def queues(case: TrialCase) -> tuple[QueueTotal, ...]:
    """How requests went, of each client that used io_uring."""
    return tuple(client.queue for client in case.phase.clients if client.queue is not None)


def flushed_in_ring(case: TrialCase) -> bool:
    """Whether any client flushed through the ring: the last flush of each worker is a call of its own."""
    flushes = {name for name, way in case.phase.directions.items() if way is Direction.FLUSH}
    return any(
        sum(one.count for one in client.operations if one.operation in flushes) > max(1, client.workers)
        for client in case.phase.clients
        if client.queue is not None
    )


RULE = Rule(
    id="L11",
    name="punted",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="A ring of sixteen requests suggests sixteen in flight. If the target would block, the kernel gives the request to a "
    "thread of its own. The figure measures the queue before that thread: less than half of the rate of plain calls. It is "
    "called the speed of the disk.",
    alternatives=(
        'Only a few requests were offloaded (a first write). If ioengine = "psync" is no faster, the threads did little.',
    ),
    advice='Measure with ioengine = "psync" and as many workers as requests in flight, or with direct = true on existing '
    "files. Keep io_uring if production uses it, and report it.",
    sources=(
        "io_uring_enter(2), io_uring_register(2): IORING_REGISTER_IOWQ_MAX_WORKERS",
        "measured on zram, 4 KiB direct: libaio 158,000 to 164,000/s, io_uring 7,000 to 30,000/s",
    ),
)
