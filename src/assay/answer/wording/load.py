"""The load of a run in words, line by line for each phase: its cost, its queue, its backlog, its errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay import measures
from assay.answer.wording import network
from assay.evidence import reports
from assay.records import Client, Phase
from assay.units import Unit

UNCOUNTED = "instructions and cycles unknown: no hardware counters"


def own_cost(phases: Iterable[Phase]) -> str:
    """A line for each phase; empty where there is none."""
    lines = [f"    {phase.name}: {line(phase)}" for phase in phases]
    return "\n".join(["cost of the load:", *lines]) if lines else ""


def line(phase: Phase) -> str:
    """Give CPU time and hardware counts per operation, then switches and faults of the phase."""
    cost = measures.costs(phase)
    cpu = cost["cpu_ns_per_op"]
    if cpu is None:
        return "unknown"
    per_gb = cost["cpu_ns_per_gb"]
    of_data = "" if per_gb is None else f", {measures.with_unit(per_gb, Unit.NANOSECONDS)} per GB"
    time = f"{measures.with_unit(cpu, Unit.NANOSECONDS)} of CPU time per operation{of_data}"
    sums = ", ".join(
        f"{measures.with_unit(cost[name] or 0.0, Unit.COUNT)} {words}"
        for name, words in (
            ("voluntary_switches", "voluntary switches"),
            ("involuntary_switches", "involuntary switches"),
            ("faults", "page faults"),
        )
    )
    return f"{time}; {counted(cost)}; {sums}"


def counted(cost: dict[str, float | None]) -> str:
    """`142 user and 3,500 kernel instructions, 90 user and 5,000 kernel cycles`; that nothing is known where it is so."""
    parts = [
        f"{measures.with_unit(user, Unit.COUNT)} user and {measures.with_unit(kernel, Unit.COUNT)} kernel {what}"
        for what in ("instructions", "cycles")
        if (user := cost[f"user_{what}_per_op"]) is not None and (kernel := cost[f"kernel_{what}_per_op"]) is not None
    ]
    return ", ".join(parts) or UNCOUNTED


def account(phases: Iterable[Phase]) -> str:
    """A line for each thing worth knowing of a phase; empty where there is none."""
    lines = [f"    {phase.name}: {line}" for phase in phases for line in lines_of(phase)]
    return "\n".join(["clients:", *lines]) if lines else ""


def lines_of(phase: Phase) -> Iterator[str]:
    """Steady state, behind a schedule, queue, and errors of one phase, over all its clients."""
    yield from steadied(phase)
    yield from behind(phase.clients)
    yield from queued(phase.clients)
    yield from failed(phase.clients)
    yield from network.lines(phase)


def steadied(phase: Phase) -> Iterator[str]:
    """Whether a phase that was to run until it was steady came to be so, and when."""
    state = phase.steady
    if state is None:
        return
    rounds = f"{state.rounds:,} rounds of {measures.with_unit(state.round_ns, Unit.NANOSECONDS)}"
    if state.from_ns is None:
        yield f"not steady in {rounds}, the time limit"
    else:
        since = measures.with_unit(state.from_ns - phase.start_ns, Unit.NANOSECONDS)
        yield f"steady after {rounds}; figures count from {since} on"


def behind(clients: Iterable[Client]) -> Iterator[str]:
    """How far an open loop fell behind its schedule."""
    seen = [(client, client.load) for client in clients if client.load is not None]
    if not seen:
        return
    done = sum(total.count for client, _ in seen for total in client.operations)
    late, unstarted = (sum(getattr(load, name) for _, load in seen) for name in ("late", "unstarted"))
    longest = measures.with_unit(max(load.backlog_max_ns for _, load in seen), Unit.NANOSECONDS)
    yield (
        f"open loop: {late:,} of {done:,} operations started late, {unstarted:,} due operations never started; "
        f"longest backlog {longest}"
    )


def queued(clients: Iterable[Client]) -> Iterator[str]:
    """How requests went through io_uring."""
    seen = [(client, client.queue) for client in clients if client.queue is not None]
    if not seen:
        return
    done = sum(total.count for client, _ in seen for total in client.operations)
    calls = sum(queue.submissions for _, queue in seen)
    registered = "registered" if all(queue.registered for _, queue in seen) else "not registered"
    each = f", {done / calls:.3g} requests per call" if calls else ""
    yield f"io_uring: up to {sum(queue.depth for _, queue in seen):,} requests in flight{each}; files and buffers {registered}"
    threads = sum(queue.punted_threads for _, queue in seen)
    if any(queue.punted for _, queue in seen):
        yield f"io_uring: {threads:,} kernel worker threads (io-wq) did the requests that would block (punted)"


def failed(clients: Iterable[Client]) -> Iterator[str]:
    """Each kind of error with its number, the files of several clients apart."""
    counts: dict[tuple[str, str], int] = {}
    for client in clients:
        for error in client.errors:
            key = (reports.error_reason(error), f"{error.operation} {error.path}".strip())
            counts[key] = counts.get(key, 0) + error.count
    for (words, where), count in counts.items():
        yield f"{count:,} {'time' if count == 1 else 'times'} {words}: {where}"
