"""CPU time of a server from looks at its processes: of their control groups, else of each process with its ended children.

Threads and processes that end between two looks are in the account of their group, of their process, or of the process that
waited for them. The very end of a thread is in its group's account alone: each thread that the host started may hide so much. A
process that outlives its parent is waited for by an ancestor of the server (init): what the ancestors have
gained by it is the most that the server can have lost. Children whose parent ignores their end are in no account: `unwaited`.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from assay.catalogue import Host
from assay.evidence.snapshots import named_numbers, number, text_of, texts
from assay.frozen import dataclass
from assay.machine import cgroups
from assay.machine.server import in_group
from assay.records import Snapshot

TICK_NS = 10_000_000
"""USER_HZ is 100 on every architecture that this runs on (proc_pid_stat(5))."""
THREAD_END_NS = 10_000
"""The most that the end of a thread takes after it was put into its process's account: 3 microseconds on the machines seen."""
STAT, STARTED = "/proc/stat", "started"
SIGCHLD = 1 << 16
UTIME, WAITED = slice(11, 13), slice(13, 15)
"""Fields of /proc/PID/stat after the state: own user and system time, and those of the children that were waited for."""
PARENT = 1
INIT = 1


@dataclass(frozen=True, kw_only=True)
class ProcessTime:
    """CPU time of one process at one look, in ns."""

    parent: int
    own: int
    """Of all its threads, the ended ones included."""
    blur: int
    """How much more it may be: /proc counts ended threads in whole ticks."""
    waited: int
    """Of its children that it waited for, and of theirs."""
    ignores: bool
    """Whether it ignores the end of its children: then their time is in no account."""


@dataclass(frozen=True, kw_only=True)
class ServerTime:
    """CPU time of a server since the first look, at each look."""

    spent_ns: tuple[int, ...]
    unwaited: tuple[int, ...]
    """How many processes are there that may have had children whose time nobody counts, and how many ended unwaited."""
    missed_ns: tuple[int, ...]
    """The most that is not in `spent_ns` though it is in an account: of ancestors that waited, and parts of ticks."""


def server_time(seen: Sequence[Snapshot]) -> ServerTime:
    """The CPU time of a server at each look: by its control groups where they are its own, else by its processes."""
    groups = own_groups(seen)
    if groups:
        first: dict[str, int] = {}
        for group, used in (pair for look in groups for pair in look.items()):
            first.setdefault(group, used)
        spent, last = [], dict[str, int]()
        for look in groups:
            last |= look  # a group that is gone keeps what it had
            spent.append(sum(used - first[group] for group, used in last.items()))
        return ServerTime(spent_ns=tuple(spent), unwaited=(0,) * len(seen), missed_ns=(0,) * len(seen))
    found = by_process([processes_of(one) for one in seen], [above(one) for one in seen])
    hidden = [*ends_of_threads(seen)]
    return replace(found, missed_ns=tuple(known + more for known, more in zip(found.missed_ns, hidden, strict=True)))


def ends_of_threads(seen: Sequence[Snapshot]) -> Iterator[int]:
    """Yield, for each look, the most that the ends of the server's threads took; 0 while only living ones have CPU time."""
    first: tuple[int, int] | None = None
    for one in seen:
        now = one.raw.get(STARTED)
        gone = sum(ended_threads_ns(one, pid) for pid in pids_of(one))
        if not isinstance(now, int):
            yield 0
            continue
        first = first or (now, gone)
        yield (now - first[0]) * THREAD_END_NS if gone > first[1] + 2 * TICK_NS else 0


def ended_threads_ns(snapshot: Snapshot, pid: int) -> int:
    """Return the CPU time of a process's ended threads: what it has, less what its living threads have."""
    fields = (text_of(snapshot, f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
    ticks = sum(number(word, "stat") for word in fields[UTIME]) * TICK_NS if len(fields) >= UTIME.stop else 0
    return max(0, ticks - sum(run for run, _ in threads_of(snapshot, pid).values()))


def read(host: Host, running: Iterable[int]) -> Mapping[str, object]:
    """Return the texts that `server_time` needs of these processes and their control groups, beside their threads."""
    own = texts(host.read, (f"/proc/{pid}/{name}" for pid in running for name in ("cgroup", "stat")))  # see `has_ended`
    files = {cgroups.account(text) for path, text in own.items() if path.endswith("/cgroup") and isinstance(text, str)}
    accounts = sorted(file for file in files if file)
    members = {file: list(in_group(host, file.rpartition("/")[0])) for file in accounts}
    ancestors = [*_above(host, own)]
    return {
        **own,
        **texts(host.read, accounts),
        "members": members,
        "clocks": clocks(host, running),
        STARTED: started(host),
        "ancestors": ancestors,
        **texts(host.read, (f"/proc/{pid}/{name}" for pid in ancestors for name in ("stat", "status"))),
    }


def started(host: Host) -> int | None:
    """Return how many processes and threads the host has started since its boot; None where it does not tell."""
    with contextlib.suppress(OSError):
        match = re.search(r"^processes (\d+)$", host.read(STAT), re.MULTILINE)
        return int(match[1]) if match else None
    return None


def clocks(host: Host, running: Iterable[int]) -> Mapping[str, int]:
    """Return the CPU time (ns) of these processes by their own clocks; empty where the host cannot."""
    found = dict[str, int]()
    if host.syscalls is None:
        return found
    for pid in running:
        with contextlib.suppress(OSError):
            found[str(pid)] = host.syscalls.cpu_clock(pid)
    return found


def _above(host: Host, own: Mapping[str, object]) -> Iterator[int]:
    """Yield the ancestors of a server's processes that are no part of it, nearest first: they wait for its orphans.

    A process that was brought into a container has no parent there; init waits for its orphans all the same.
    """
    seen = {int(path.split("/")[2]) for path in own}
    waiting = [parent_of(text) for path, text in own.items() if path.endswith("/stat") and isinstance(text, str)]
    while waiting:
        pid = waiting.pop(0)
        if pid not in seen and pid > 0:
            seen.add(pid)
            yield pid
            with contextlib.suppress(OSError):
                waiting.append(parent_of(host.read(f"/proc/{pid}/stat")))
    if INIT not in seen:
        yield INIT


def parent_of(stat: str) -> int:
    """Parse the parent of a process from its /proc/PID/stat; 0 without one."""
    fields = stat.rpartition(")")[2].split()
    return number(fields[PARENT], "stat") if len(fields) > PARENT else 0


# ------------------------------------------------------------------------------------------------ control groups


def own_groups(seen: Sequence[Snapshot]) -> list[dict[str, int]] | None:
    """CPU time (ns) of the server's groups at each look; None where a living one is in none, or a group has others, too."""
    looks, strangers, known = [], list[set[int]](), {pid for one in seen for pid in pids_of(one)}
    for one in seen:
        texts = {pid: text_of(one, f"/proc/{pid}/cgroup") for pid in pids_of(one) if not has_ended(one, pid)}
        files = {cgroups.account(text) for text in texts.values() if text}
        used = {file: nanoseconds(text, file) for file in files if file and (text := text_of(one, file)) is not None}
        if None in files or not files or used.keys() != files:
            return None
        top = {file: spent for file, spent in used.items() if not any(below(file, other) for other in used if other != file)}
        looks.append(top)
        strangers.append({pid for file in top for pid in members(one, file)} - known)
    met: set[int] = set()
    for look in strangers:
        if met & look:
            return None
        met |= look
    return looks


def has_ended(snapshot: Snapshot, pid: int) -> bool:
    """Whether a process had ended when its state was read, which is after its group: that may be the root group then."""
    state = (text_of(snapshot, f"/proc/{pid}/stat") or "").rpartition(")")[2].split()[:1]
    return state in ([], ["Z"], ["X"])


def below(file: str, other: str) -> bool:
    """Whether the group of one file is below that of another one."""
    return file.startswith(other.rpartition("/")[0] + "/") and file != other


def nanoseconds(text: str, file: str) -> int:
    """Parse the CPU time of a group. Raises EvidenceError."""
    if file.endswith(cgroups.USAGE[1]):
        return number(text.strip(), file)
    return named_numbers(text, file).get("usage_usec", 0) * 1000


def members(snapshot: Snapshot, file: str) -> Iterator[int]:
    """Yield the processes of a group and of those below it, at one look."""
    found = snapshot.raw.get("members")
    listed = found.get(file) if isinstance(found, Mapping) else None
    yield from (int(pid) for pid in listed) if isinstance(listed, list | tuple) else ()


# ------------------------------------------------------------------------------------------------ processes


def pids_of(snapshot: Snapshot) -> list[int]:
    """Return the server's processes at one look."""
    found = snapshot.raw.get("pids")
    return [int(pid) for pid in found] if isinstance(found, list | tuple) else []


def processes_of(snapshot: Snapshot) -> dict[int, ProcessTime]:
    """Return the CPU time of each process; one that ended during the look is left out.

    /proc/PID/stat counts ended threads, too, in ticks: what the living ones ran for says more where it is within the last tick.
    """
    found, told = {}, snapshot.raw.get("clocks")
    for pid in pids_of(snapshot):
        fields = (text_of(snapshot, f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
        if len(fields) < WAITED.stop:
            continue
        ticks = sum(number(word, "stat") for word in fields[UTIME]) * TICK_NS
        threads = sum(run for run, _ in threads_of(snapshot, pid).values())
        waited = sum(number(word, "stat") for word in fields[WAITED]) * TICK_NS
        clock = told.get(str(pid)) if isinstance(told, Mapping) else None
        by_ticks = min(max(threads, ticks), ticks + 2 * TICK_NS)
        found[pid] = ProcessTime(
            parent=number(fields[PARENT], "stat"),
            own=int(clock) if isinstance(clock, int) else by_ticks,
            blur=0 if isinstance(clock, int) else max(0, ticks + 2 * TICK_NS - by_ticks),
            waited=waited,
            ignores=ignores(snapshot, pid),
        )
    return found


def ignores(snapshot: Snapshot, pid: int) -> bool:
    """Whether a process ignores the end of its children."""
    ignored = re.search(r"^SigIgn:\s*(\w+)", text_of(snapshot, f"/proc/{pid}/status") or "", re.MULTILINE)
    return bool(ignored and int(ignored[1], 16) & SIGCHLD)


def above(snapshot: Snapshot) -> dict[int, int] | None:
    """What each ancestor of the server has of children that it waited for (ns); None where one is unknown or ignores them."""
    listed = snapshot.raw.get("ancestors")
    found = {}
    for pid in listed if isinstance(listed, list | tuple) else ():
        fields = (text_of(snapshot, f"/proc/{pid}/stat") or "").rpartition(")")[2].split()
        if len(fields) < WAITED.stop or ignores(snapshot, int(pid)):
            return None
        found[int(pid)] = sum(number(word, "stat") for word in fields[WAITED]) * TICK_NS
    return found or None


def threads_of(snapshot: Snapshot, pid: int | None = None) -> dict[str, tuple[int, int]]:
    """Return thread -> CPU time and CPU wait in ns, without threads that ended during the look; of one process or of all."""
    paths = [path for path in snapshot.raw if "/task/" in path and (pid is None or path.startswith(f"/proc/{pid}/"))]
    words = {path: text.split() for path in paths if (text := text_of(snapshot, path))}
    return {path: (number(row[0], path), number(row[1], path)) for path, row in words.items() if len(row) > 1}


def by_process(looks: Sequence[Mapping[int, ProcessTime]], ancestors: Sequence[Mapping[int, int] | None]) -> ServerTime:
    """Add up what processes had when they were last seen, and what those that waited had of ended ones beyond that.

    What nobody of the server waited for is bounded by what its ancestors waited for; where those are unknown, it is counted.
    A server whose processes stay and waited for none has lost nothing. Waited children are counted in whole ticks.
    """
    highest, base, kept, lost = dict[int, int](), dict[int, int](), 0, 0
    spent, unwaited, missed = list[int](), list[int](), list[int]()
    before: Mapping[int, ProcessTime] | None = None
    first, ended = dict[int, int](), False
    orphans = _waited_above(ancestors)
    for look, found in zip(looks, orphans, strict=True):
        waited_for = _waited_for(before or {}, look)
        for pid in (before or {}).keys() - look.keys():
            kept += -base[pid] if pid in waited_for else highest[pid] - base[pid]
            lost += pid not in waited_for
        for pid, one in look.items():
            known = before is not None and pid in before
            highest[pid] = max(one.own + one.waited, highest[pid] if known else 0)
            if not known:
                base[pid] = highest[pid] if before is None else 0
        total = kept + sum(highest[pid] - base[pid] for pid in look)
        spent.append(max(total, spent[-1] if spent else 0))
        first = {pid: one.waited for pid, one in look.items()} if before is None else first
        grown = [pid for pid, one in look.items() if one.waited != first.get(pid, 0)]
        ended = ended or bool(grown) or bool((before or {}).keys() - look.keys())
        unwaited.append((lost if found is None else 0) + sum(one.ignores for one in look.values()))
        unseen = sum(look[pid].blur for pid in look) if before is not None else 0
        missed.append((found or 0 if ended else 0) + unseen + 2 * TICK_NS * len(grown))
        before = look
    return ServerTime(spent_ns=tuple(spent), unwaited=tuple(unwaited), missed_ns=tuple(missed))


def _waited_above(looks: Sequence[Mapping[int, int] | None]) -> list[int | None]:
    """What the ancestors' accounts gained since the first look, at each look; None from where one was unknown or had changed."""
    found: list[int | None] = []
    for look in looks:
        first = looks[0]
        known = first is not None and look is not None and first.keys() >= look.keys() and (not found or found[-1] is not None)
        gain = sum(had - first[pid] for pid, had in look.items()) + 2 * TICK_NS * len(look) if known and first and look else 0
        found.append((gain if look != first else 0) if known else None)
    return found


def _waited_for(before: Mapping[int, ProcessTime], after: Mapping[int, ProcessTime]) -> set[int]:
    """Return the ended processes whose time is in the account of their nearest living ancestor: the kernel adds all of it."""
    heirs: dict[int, list[int]] = {}
    for pid in before.keys() - after.keys():
        heir = before[pid].parent
        while heir in before and heir not in after:
            heir = before[heir].parent
        heirs.setdefault(heir, []).append(pid)
    found: set[int] = set()
    for heir, gone in heirs.items():
        owed = sum(before[pid].own + before[pid].waited for pid in gone)
        had = after[heir].waited - (before[heir].waited if heir in before else 0) if heir in after else 0
        if heir in after and had >= owed - 2 * TICK_NS * len(gone):
            found |= {*gone}
    return found
