"""Sums CPU time and I/O of all processes: the lab's own, kernel threads, and other processes.

Source: /proc/PID/stat of every process, and /proc/PID/io of processes that are neither the lab's nor the kernel's. A parent's
account contains its ended children, so processes that lived between two looks are counted too. A process is the lab's own if the
lab is its ancestor, or `assay serve` of the same notebook. A process that started after the lab in the lab's control group, and
whose parent has ended, counts as part of the target (a server that its commands started), and so as the lab's own. Most processes
do nothing between two looks: one with the same texts is the same object, so that nothing about it is worked out again.
Source: proc_pid_stat(5), proc_pid_io(5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch, needs_file
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge, named_numbers, number, text_of
from assay.frozen import dataclass
from assay.records import ABSOLUTE, Series, Snapshot, Subject

SELF = "/proc/self/stat"
SERVER = "/proc/server/pids"
"""A key of ours: the processes of the declared server, whose work is the target's own."""
WATCHERS = "/proc/locks/notebook"
"""A key of ours: the processes that show the notebook in a browser (`assay serve`), whose work is the lab's own."""
TICK_NS = 10_000_000
INIT, USER_INIT = 1, "systemd"
"""To whom orphans go: the first process, and in a session of its own the manager of that session."""
KERNEL_THREAD = 0x00200000  # PF_KTHREAD among the flags of a task (Linux: include/linux/sched.h)
NOTHING = {"read_bytes": 0, "write_bytes": 0}
MOST_NAMED = 8
UNCERTAIN_NS = 2 * TICK_NS
"""User and system time are rounded down to a tick, so this much of a rise may be older."""
UNITS = dict.fromkeys(("cpu_ns", "sure_cpu_ns", "kernel_cpu_ns", "own_cpu_ns"), "ns") | dict.fromkeys(NOTHING, "bytes")


@dataclass(frozen=True, kw_only=True)
class SeenProcess:
    """One process at one look."""

    command: str
    parent: int
    job: int
    """Its process group, which children inherit."""
    started: int
    """In ticks since the machine began."""
    cpu_ns: int
    """Of itself, and of its children that have ended; where orphans go of itself alone."""
    read_bytes: int | None
    write_bytes: int | None
    group: str | None
    """Its control groups, read where they decide."""
    of_kernel: bool


Look = Mapping[int, SeenProcess]


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
    found: dict[int, SeenProcess] = {}
    past, known = former[0] if former else (None, {})
    for path, text in snapshot.raw.items():
        (_, _, pid, *name) = path.split("/")
        if name != ["stat"] or not pid.isdigit() or text is None:
            continue
        of_it = (path, f"/proc/{pid}/io", f"/proc/{pid}/cgroup")
        same = past is not None and int(pid) in known and all(snapshot.raw.get(one) == past.raw.get(one) for one in of_it)
        found[int(pid)] = known[int(pid)] if same else process(int(pid), snapshot, of_it)
    return found


def process(pid: int, snapshot: Snapshot, paths: tuple[str, str, str]) -> SeenProcess:
    """One process from its texts: stat, io, cgroup. Raises EvidenceError."""
    path = paths[0]
    stat, io, group = (text_of(snapshot, one) for one in paths)
    fields, command = words(stat or ""), (stat or "").partition("(")[2].rpartition(")")[0]
    heir = adopts(pid, command)
    counters = NOTHING if io is None or heir else named_numbers(io, path)
    return SeenProcess(
        command=command,
        parent=number(fields[1], path),
        job=number(fields[2], path),
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


def left_to(before: Look, after: Look) -> dict[int, list[SeenProcess]]:
    """Which processes ended, by who has their account by now: the next of their ancestors that is still there."""
    found: dict[int, list[SeenProcess]] = {}
    for child in before.keys() - after.keys():
        heir = next((pid for pid in ancestry(child, before) if pid in after), None)
        if heir is not None and not adopts(heir, after[heir].command):
            found.setdefault(heir, []).append(before[child])
    return found


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the texts: stat of all processes, io of all except kernel threads, cgroup of those younger than the lab."""
    raw: dict[str, object] = {SELF: host.read(SELF)}
    if subject.server:
        from assay.machine.server import pids  # few commands are clients

        raw[SERVER] = " ".join(str(pid) for pid in pids(host, subject.server))
    if subject.notebook:
        from assay.machine.notebook_watchers import watchers  # commands keep no notebook

        raw[WATCHERS] = " ".join(str(pid) for pid in watchers(host, subject.notebook))
    began = int(words(str(raw[SELF]))[19])
    raw["/proc/self/cgroup"] = text_or_none(host, "/proc/self/cgroup")
    for pid in filter(str.isdigit, host.list("/proc")):
        if not (stat := text_or_none(host, f"/proc/{pid}/stat")):
            continue
        raw[f"/proc/{pid}/stat"] = stat
        fields = words(stat)
        if int(pid) != INIT and not int(fields[6]) & KERNEL_THREAD:
            raw[f"/proc/{pid}/io"] = text_or_none(host, f"/proc/{pid}/io")
            if int(fields[19]) >= began:
                raw[f"/proc/{pid}/cgroup"] = text_or_none(host, f"/proc/{pid}/cgroup")
    return raw


def text_or_none(host: Host, path: str) -> str | None:
    """Return the text of a file; None if it is gone, empty without permission."""
    try:
        return host.read(path)
    except OSError as error:
        return "" if isinstance(error, PermissionError) else None


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return time and bytes by owner, and of the busiest other commands. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source="processes:/proc/*/{stat,io}", layer="other_processes")
    looks = seen_over_time([snapshot for snapshot in snapshots if text_of(snapshot, SELF)])
    totals, commands, hidden = dict.fromkeys(UNITS, 0), dict[str, dict[str, int]](), 0
    points = [(looks[0][0].at_ns, dict(totals), dict[str, dict[str, int]]())] if looks else []
    owned = [own_processes(found, snapshot) for snapshot, found in looks]
    for (_, before), (snapshot, after), *both in zip(looks, looks[1:], owned, owned[1:], strict=False):
        ours, gone = set().union(*both), left_to(before, after)
        for pid, process in after.items():
            kind = "own" if pid in ours else "kernel" if process.of_kernel else ""
            hidden += not kind and process.read_bytes is None
            if process is before.get(pid) and pid not in gone:
                continue
            risen = rise(pid, process, before, gone.get(pid, ()))
            count(totals, risen, kind)
            if not kind and any(risen.values()):
                count(commands.setdefault(process.command, dict.fromkeys(UNITS, 0)), risen, kind)
        points.append((snapshot.at_ns, dict(totals), {name: dict(found) for name, found in commands.items()}))
    reason, lacking = "reading the I/O of other users' processes needs root", NOTHING if hidden else {}
    series = [gauge(origin, ABSOLUTE, name, UNITS[name], [(at, of[name]) for at, of, _ in points]) for name in UNITS]
    return Evidence(
        series=(*(one for one in series if points and one.metric not in lacking), *command_series(origin, points)),
        missing={f"other_processes.{metric}": reason for metric in lacking},
    )


def own_processes(look: Look, snapshot: Snapshot) -> set[int]:
    """Return the lab, its descendants, who shows its notebook, what its target's commands left running, the declared server.

    An orphan in the process group of a server's process is the server's too: a worker that has ended is in no control group
    any more, and keeps its account until its new parent looks.
    """
    lab, group = int((text_of(snapshot, SELF) or "").partition(" ")[0]), text_of(snapshot, "/proc/self/cgroup")
    parents = {pid for pid, one in look.items() if adopts(pid, one.command)}
    left = {pid for pid, one in look.items() if one.parent in parents and group is not None and one.group == group}
    named, watching = ({int(word) for word in (text_of(snapshot, key) or "").split()} for key in (SERVER, WATCHERS))
    jobs = {look[pid].job for pid in named & look.keys()}
    workers = {pid for pid, one in look.items() if one.parent in parents and one.job in jobs}
    return {pid for pid in look if not {lab, *left, *named, *workers, *watching}.isdisjoint(ancestry(pid, look))}


def rise(pid: int, now: SeenProcess, before: Look, gone: Sequence[SeenProcess]) -> dict[str, int]:
    """Return the rise of a process's account, without the inherited accounts of ended children."""
    was = before.get(pid)
    past = [was, *gone] if was and was.started == now.started else []
    cpu = max(0, now.cpu_ns - sum(one.cpu_ns for one in past))
    passed = {way: max(0, (getattr(now, way) or 0) - sum(getattr(one, way) or 0 for one in past)) for way in NOTHING}
    return {"cpu_ns": cpu, "sure_cpu_ns": max(0, cpu - UNCERTAIN_NS), **passed}


def count(totals: dict[str, int], risen: Mapping[str, int], kind: str) -> None:
    """Add to the totals of other processes, or to the CPU time of the kernel or the lab."""
    for metric, value in {f"{kind}_cpu_ns": risen["cpu_ns"]}.items() if kind else risen.items():
        totals[metric] += value


def command_series(
    origin: Origin, points: Sequence[tuple[int, Mapping[str, int], Mapping[str, Mapping[str, int]]]]
) -> Iterator[Series]:
    """Yield the series of the busiest other commands."""
    last = points[-1][2] if points else {}
    for metric in ("cpu_ns", "read_bytes", "write_bytes"):
        for command in sorted(last, key=lambda name: -last[name][metric])[:MOST_NAMED]:
            over_time = [(at, found[command][metric] if command in found else 0) for at, _, found in points]
            if last[command][metric]:
                yield gauge(origin, f"command:{command}", metric, UNITS[metric], over_time)


OBSERVER = Observer(
    name="processes",
    gives=tuple(f"other_processes.{metric}" for metric in UNITS),
    sources=(
        Source(
            keys="other_processes.*",
            words="CPU time and I/O of every other process",
            way="/proc of the host (observer processes; assay stat --observe processes)",
        ),
    ),
    watch=Watch.ALWAYS,
    cost="1.0 ms CPU per look (125 processes, 80 of them kernel threads)",
    available=needs_file(SELF, "processes are invisible"),
    read=read,
    parse=parse,
)
