"""Every process of a host at one look, from the texts of /proc/PID/stat, io and cgroup, and how they are related.

Source: proc_pid_stat(5), proc_pid_io(5). Looks follow each other in fractions of a second, and most processes do nothing between
two of them: one whose texts are the same is the same object, so that nothing about it is worked out again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.errors import EvidenceError
from assay.evidence.snapshots import named_numbers, number, text_of
from assay.frozen import dataclass
from assay.records import Snapshot

TICK_NS = 10_000_000
INIT, USER_INIT = 1, "systemd"
"""To whom orphans go: the first process, and in a session of its own the manager of that session."""
KERNEL_THREAD = 0x00200000  # PF_KTHREAD among the flags of a task (Linux: include/linux/sched.h)
NOTHING = {"read_bytes": 0, "write_bytes": 0}


@dataclass(frozen=True, kw_only=True)
class Process:
    """One process at one look."""

    command: str
    parent: int
    started: int
    """In ticks since the machine began."""
    cpu_ns: int
    """Of itself, and of its children that have ended; where orphans go of itself alone."""
    read_bytes: int | None
    write_bytes: int | None
    group: str | None
    """Its control groups, read where they decide."""
    of_kernel: bool


Look = Mapping[int, Process]


def words(stat: str) -> list[str]:
    """What follows the command's name in a stat file: state, parent, ... Raises EvidenceError."""
    found = stat.rpartition(")")[2].split()
    if len(found) < 20:
        raise EvidenceError(f"found {stat[:60]!r}; expected a line of /proc/PID/stat")
    return found


def seen_over_time(snapshots: Sequence[Snapshot]) -> list[tuple[Snapshot, Look]]:
    """Each snapshot with its processes; one of which nothing changed since the look before is the same object."""
    found: list[tuple[Snapshot, Look]] = []
    for snapshot in snapshots:
        found.append((snapshot, look(snapshot, *found[-1:])))
    return found


def look(snapshot: Snapshot, *former: tuple[Snapshot, Look]) -> Look:
    """Every process of a snapshot by its number. Most did nothing since the former look: their texts are not read again."""
    found: dict[int, Process] = {}
    past, known = former[0] if former else (None, {})
    for path, text in snapshot.raw.items():
        (_, _, pid, *name) = path.split("/")
        if name != ["stat"] or not pid.isdigit() or text is None:
            continue
        of_it = (path, f"/proc/{pid}/io", f"/proc/{pid}/cgroup")
        same = past is not None and int(pid) in known and all(snapshot.raw.get(one) == past.raw.get(one) for one in of_it)
        found[int(pid)] = known[int(pid)] if same else process(int(pid), snapshot, of_it)
    return found


def process(pid: int, snapshot: Snapshot, paths: tuple[str, str, str]) -> Process:
    """One process from its texts: stat, io, cgroup. Raises EvidenceError."""
    path = paths[0]
    stat, io, group = (text_of(snapshot, one) for one in paths)
    fields, command = words(stat or ""), (stat or "").partition("(")[2].rpartition(")")[0]
    heir = adopts(pid, command)
    counters = NOTHING if io is None or heir else named_numbers(io, path)
    return Process(
        command=command,
        parent=number(fields[1], path),
        started=number(fields[19], path),
        cpu_ns=sum(number(word, path) for word in fields[11 : 13 if heir else 15]) * TICK_NS,
        read_bytes=counters.get("read_bytes"),
        write_bytes=counters.get("write_bytes"),
        group=group,
        of_kernel=bool(number(fields[6], path) & KERNEL_THREAD),
    )


def adopts(pid: int, command: str) -> bool:
    """Whether orphans go to this process: what they had used goes into its account with them, and is not its own."""
    return pid == INIT or command == USER_INIT


def ancestry(pid: int, look: Look) -> Iterator[int]:
    """A process, its parent, and so on up."""
    seen: set[int] = set()
    while pid in look and pid not in seen:
        seen.add(pid)
        yield pid
        pid = look[pid].parent


def left_to(before: Look, after: Look) -> dict[int, list[Process]]:
    """Which processes ended, by who has their account by now: the next of their ancestors that is still there."""
    found: dict[int, list[Process]] = {}
    for child in before.keys() - after.keys():
        heir = next((pid for pid in ancestry(child, before) if pid in after), None)
        if heir is not None and not adopts(heir, after[heir].command):
            found.setdefault(heir, []).append(before[child])
    return found
