"""Where the time of a phase went: what the threads of the load and of its server did at random moments. Pure.

A share is a mean over looks that depend on each other, so its error comes from the means of blocks of looks (Flyvbjerg and
Petersen, J. Chem. Phys. 91, 1989). The block is the smallest one with B^3 > 2 n (s / s1)^4, s being the error by these blocks
and s1 that by single looks (Lee et al., Phys. Rev. E 83, 2011); else the largest one of which there are enough.
Student's factor belongs to the number of blocks. Two looks of each kind are added, as Agresti and Coull do (1998), so that a
share that was hardly ever seen has an error, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay.evidence import device_idle, ladder
from assay.frozen import dataclass
from assay.records import Observations, Phase, Series, TimePart

LAYER = "time"
LOAD, SERVER = "load", "server"
ALIVE, FRESH = "alive", "fresh"
"""Looks that found a thread, and those that found a process which was new."""
ALIVE_NS = "alive_ns"
"""Time in which there was a thread."""
CLOSED = (
    "the kernel does not show what these threads do: they are another user's, or closed (hidepid, ptrace_scope). "
    "Run Assay as root, or as that user with kernel.yama.ptrace_scope = 0"
)
ABSENT = "none of its processes was there"
LOOKS, DENIED = "looks", "denied"
WHOLE = (LOOKS, ALIVE, ALIVE_NS, DENIED, FRESH)
SQUARES = {1: "squares", 4: "squares_4", 16: "squares_16", 64: "squares_64", 256: "squares_256"}
"""Looks in a block -> the sum of the squares of the blocks' sums."""
SUMS = ("share", "threads", "pieces", *SQUARES.values())
TIMES = ("run_ns", "ready_ns")
CONNECTION = "connection_"
CONNECTIONS = {
    f"{CONNECTION}{name}": name
    for name in (
        *("looks", "none", "names", "sockets", "on_the_way", "queued", "crowded", "full", "closed", "small"),
        *("trips", "rtt_ns", "min_rtt_ns"),
    )
}
OWN_PROGRAM = "assay-engine"
"""On a far host the name goes on behind it."""
RUNNING, READY = "running", "ready"
ABLE = (RUNNING, READY)
"""States of a thread that could run."""
FEWEST_LOOKS = 10
"""Fewer tell nothing: the error of a half is then a quarter."""
FEWEST_BLOCKS = 6
SHORTEST_NS, LONG_NS = 200_000_000, 1_000_000_000
NORMAL = 1.96
ADDED = 4.0
"""Looks that are added to those that are independent, half of them in the state."""
MOST_FRESH = 0.05
"""At more looks with a new process counts of threads are too low."""
MOST_DENIED = 0.05
"""Of more threads for each look nothing could be seen: what the others did is not what the group did."""
SEVERAL = 1.5
"""So many threads are more than one."""
LEAST_ERROR = 0.01
"""Of a count: a thread may end after its last one."""
LEAST_SHARE = 0.005
"""Less of the time a device was busy is not told."""


@dataclass(frozen=True, kw_only=True)
class Connections:
    """What the connections waited for while the group waited for the other end, as shares of these looks."""

    looks: int
    none: float
    """No socket was open."""
    names: float
    """A name server was at the other end of one."""
    sockets: float
    """How many were open, on average."""
    on_the_way: float
    queued: float
    crowded: float
    full: float
    closed: float
    small: float
    rtt_ns: float | None
    min_rtt_ns: float | None
    """Round trips, smoothed and the least, of a connection on average; None where none was known."""


@dataclass(frozen=True, kw_only=True)
class TimeLadder:
    """The parts of the time of one group, largest first."""

    group: str
    looks: int
    parts: tuple[TimePart, ...]
    fresh: float
    """Share of the looks that found a new process."""
    connections: Connections | None
    """None where nobody waited for another end."""
    of: float = 1.0
    """Of the clock the part whose shares these are."""

    def share(self, *states: str) -> float:
        """The share of some states, of all processes."""
        return sum(part.share for part in self.parts if part.state in states)

    def threads(self, *states: str) -> float:
        """The mean number of threads in some states."""
        return sum(part.threads for part in self.parts if part.state in states)

    def pieces(self, state: str) -> float:
        """How often a state was found after a look that did not find it, of the process that was in it most often."""
        return max((part.pieces for part in self.parts if part.state == state), default=0.0)

    def error(self, *states: str) -> float:
        """Half of the 95 % interval of the share of some states: at most the sum of their parts'."""
        return sum(part.error for part in self.parts if part.state in states and part.share)

    def process(self, *states: str) -> str:
        """The process that was in some states most; empty where none was."""
        mine = [part for part in self.parts if part.state in states]
        return max(mine, key=lambda part: (part.share, part.threads)).process if mine else ""


def of_phase(phase: Phase, observations: Observations, group: str = LOAD) -> TimeLadder | None:
    """Where the time of a group went while the clock ran; None where too few looks were taken, or the phase is too short."""
    if phase.lasted_ns < SHORTEST_NS:
        return None
    metrics = (*WHOLE, *CONNECTIONS, *SUMS, *TIMES)
    series = (one for metric in metrics for one in observations.over_time(phase.name, LAYER, metric))
    every = [one for one in series if one.subject.partition(":")[0] == group]
    whole: dict[str, float] = {}
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for one in every:
        risen = ladder.known_rise(one, phase.start_ns, phase.end_ns)
        if one.metric in SUMS:
            process, _, state = one.subject.partition(":")[2].rpartition(":")
            if state == "other_thread" and process.startswith(OWN_PROGRAM):
                state = "idle"  # threads that wait for its workers, or for the time to report
            sums = rows.setdefault((process, state), dict.fromkeys(SUMS, 0.0))
            sums[one.metric] += risen  # over all hosts
        elif one.metric not in TIMES:
            whole[one.metric] = whole.get(one.metric, 0.0) + risen
    looks = whole.get(ALIVE, 0.0)
    if looks < FEWEST_LOOKS or _is_closed(whole):
        return None
    times, fresh = _times(phase, every), whole.get(FRESH, 0.0) / looks
    alive_ns = min(whole.get(ALIVE_NS, 0.0), phase.lasted_ns)  # it waits before the clock and after it
    counted = {name: sum(one.values()) / alive_ns for name, one in times.items()} if alive_ns else {}
    sampled = tuple(_parts(rows, looks, {name: one["ready_ns"] / (sum(one.values()) or 1.0) for name, one in times.items()}))
    parts = sorted(calibrated(sampled, counted, looks, fresh), key=lambda part: (-part.share, -part.threads))
    if not any(part.share for part in parts):
        return None
    return TimeLadder(
        group=group,
        looks=round(looks),
        parts=tuple(parts),
        fresh=fresh,
        connections=_connections(whole),
    )


def why_unknown(phase: Phase, observations: Observations, group: str = LOAD) -> str | None:
    """Why there are no shares of a phase of a second or more; None where nobody was to look."""
    if phase.lasted_ns < LONG_NS:
        return None
    of_group = [one for metric in (LOOKS, ALIVE, DENIED) for one in observations.over_time(phase.name, LAYER, metric)]
    risen = {one.metric: ladder.known_rise(one, phase.start_ns, phase.end_ns) for one in of_group if one.subject == group}
    if _is_closed(risen):
        return CLOSED
    key = f"{LAYER}.share"
    missing = next((one.reason for one in observations.missing if one.key == key and one.phase in (None, phase.name)), None)
    if missing is not None and group == LOAD:
        return missing
    if ALIVE not in risen:
        return None
    looks = risen[ALIVE]
    if not looks and risen.get(LOOKS):
        return ABSENT
    return f"{looks:.0f} looks at the threads (at least {FEWEST_LOOKS}). With many threads each look costs more; use a longer run"


def _is_closed(whole: Mapping[str, float]) -> bool:
    """Whether the kernel hid too much of a group."""
    return whole.get(DENIED, 0.0) > MOST_DENIED * whole.get(LOOKS, 0.0)


def _connections(whole: Mapping[str, float]) -> Connections | None:
    """What was seen of the connections; None where they were never asked."""
    sums = {name: whole.get(metric, 0.0) for metric, name in CONNECTIONS.items()}
    looks, trips = sums.pop("looks"), sums.pop("trips")
    if not looks:
        return None
    rtt_ns, min_rtt_ns = (sum_ns / trips if trips else None for sum_ns in (sums.pop("rtt_ns"), sums.pop("min_rtt_ns")))
    shares = {name: value / looks for name, value in sums.items()}
    return Connections(looks=round(looks), **shares, rtt_ns=rtt_ns, min_rtt_ns=min_rtt_ns)


def _parts(rows: Mapping[tuple[str, str], Mapping[str, float]], looks: float, ready: Mapping[str, float]) -> Iterator[TimePart]:
    """Yield each part; of what could run, what had no CPU apart."""
    for (process, state), sums in rows.items():
        share, threads = sums["share"] / looks, sums["threads"] / looks
        error = error_of(share, looks, {size: sums[name] for size, name in SQUARES.items()})
        waiting = ready.get(process, 0.0) if state == RUNNING else 0.0
        for name, part in ((state, 1 - waiting), (READY, waiting)):
            if part and (share or threads):
                yield TimePart(
                    process=process,
                    state=name,
                    share=share * part,
                    error=error * part,
                    threads=threads * part,
                    pieces=sums["pieces"],
                )


def error_of(share: float, looks: float, squares: Mapping[int, float]) -> float:
    """Half of the 95 % interval of a share of so many looks, from the sums of squares of blocks by their size."""
    found, first = NORMAL * math.sqrt(share * (1 - share) / looks) if 0 < share < 1 else 0.0, 0.0
    for size, total in sorted(squares.items()):
        blocks = looks / size
        if blocks < FEWEST_BLOCKS:
            break
        variance = max(0.0, total / blocks / size**2 - share**2) / (blocks - 1)
        first = first or variance
        found = max(found, student(blocks - 1) * math.sqrt(variance)) if size > 1 else student(blocks - 1) * math.sqrt(variance)
        if first == 0.0 or size**3 > 2 * looks * (variance / first) ** 2:
            break
    independent = min(looks, NORMAL**2 * share * (1 - share) / found**2) if found else looks
    center = (share * independent + ADDED / 2) / (independent + ADDED)
    return max(found, NORMAL * math.sqrt(center * (1 - center) / (independent + ADDED)))


def student(freedom: float) -> float:
    """The factor of a 95 % interval for so many degrees of freedom: Cornish and Fisher's expansion, 1 % too small for 5."""
    z = NORMAL
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def calibrated(parts: Sequence[TimePart], counted: Mapping[str, float], looks: float, fresh: float) -> Iterator[TimePart]:
    """Yield the parts with what could run as the kernel counted it (threads, on average), and all others in the time left.

    On a busy machine a look waits for a CPU itself, and finds the load when it sleeps: too often. Counts of threads that begin
    and end between two looks are too low; where there are many of those, counts only raise what was seen.
    """
    seen: dict[str, float] = {}
    for part in parts:
        if part.state in ABLE:
            seen[part.process] = seen.get(part.process, 0.0) + part.threads
    factors = {
        name: _factor(name, parts, counted[name] / mean, fresh) for name, mean in seen.items() if mean and counted.get(name)
    }
    exact = {name for name in factors if fresh <= MOST_FRESH and _many(name, parts) <= SEVERAL}
    able = sum(part.share for part in parts if part.state in ABLE)
    raised = sum(part.share * factors.get(part.process, 1.0) for part in parts if part.state in ABLE)
    fitting = min(1.0, 1.0 / raised) if raised else 1.0
    rest = (1 - raised * fitting) / (1 - able) if able < 1 else 0.0
    for part in parts:
        if part.state in ABLE:
            factor = factors.get(part.process, 1.0)
            is_exact = part.process in exact
            error = part.share * fitting * factor / looks + LEAST_ERROR if is_exact else part.error
            yield replace(part, share=part.share * factor * fitting, threads=part.threads * factor, error=min(error, part.error))
        else:
            yield replace(part, share=part.share * rest)


def _factor(process: str, parts: Sequence[TimePart], factor: float, fresh: float) -> float:
    """By what the share is multiplied: of several threads, which may all run for a moment, within the error of the looks."""
    able = [part for part in parts if part.process == process and part.state in ABLE]
    share, error = sum(part.share for part in able), sum(part.error for part in able)
    if fresh > MOST_FRESH:
        factor = max(1.0, factor)
    if share and _many(process, parts) > SEVERAL:
        factor = min(max(factor, 1 - error / share), 1 + error / share)
    return factor


def _many(process: str, parts: Sequence[TimePart]) -> float:
    """How many threads a process had, on average."""
    return sum(part.threads for part in parts if part.process == process)


def _times(phase: Phase, every: list[Series]) -> dict[str, dict[str, float]]:
    """Process name -> time on a CPU, and ready for one without it: counted by the kernel, exact."""
    found: dict[str, dict[str, float]] = {}
    for one in every:
        if one.metric in TIMES:
            name = one.subject.partition(":")[2]
            sums = found.setdefault(name, dict.fromkeys(TIMES, 0.0))
            sums[one.metric] += ladder.known_rise(one, phase.start_ns, phase.end_ns)
    return found


def busy(phase: Phase, observations: Observations) -> Iterator[tuple[str, float]]:
    """Yield each block device that had requests, with the share of the clock in which it had one; others' requests included."""
    span_ns = phase.lasted_ns
    for one in observations.over_time(phase.name, "block", device_idle.BUSY):
        risen = ladder.rise(one, phase.start_ns, phase.end_ns)
        if risen and span_ns > 0 and (share := min(1.0, risen * device_idle.TICK_NS / span_ns)) >= LEAST_SHARE:
            yield one.subject.rpartition(":")[2], share
