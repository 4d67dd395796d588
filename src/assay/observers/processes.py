"""Adds up what every process of this machine did meanwhile, apart for the lab's own, the kernel's threads and all others.

Source: /proc/PID/stat of every process, and /proc/PID/io of those that are neither the lab's nor the kernel's. Time and bytes of
children that have ended are in their parent's account, so what came and went between two looks is counted as well. A process is
the lab's own where the lab is among its ancestors. One that was started after the lab in the lab's own control group, and whose
parent is gone, is taken for a part of the target (a server that its commands started): it is counted with the lab's own.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.catalogue import Evidence, Host, Observer
from assay.errors import EvidenceError
from assay.records import ABSOLUTE, Series, Snapshot, Subject
from assay.snapshots import Origin, gauge, named_numbers, number, text_of

SELF = "/proc/self/stat"
TICK_NS, MOST_NAMED = 10_000_000, 8
INIT, USER_INIT = 1, "systemd"
"""To whom orphans go: the first process, and in a session of its own the manager of that session."""
KERNEL_THREAD = 0x00200000  # PF_KTHREAD among the flags of a task (Linux: include/linux/sched.h)
UNCERTAIN_NS = 2 * TICK_NS
"""User and system time are each rounded down to a tick: of the rise of one process so much may be of before."""
NOTHING = {"read_bytes": 0, "write_bytes": 0}
UNITS = dict.fromkeys(("cpu_ns", "sure_cpu_ns", "kernel_cpu_ns", "own_cpu_ns"), "ns") | dict.fromkeys(NOTHING, "bytes")


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


def available(host: Host) -> str | None:
    """None where processes are to be seen."""
    return None if host.exists(SELF) else "no /proc/self/stat: the processes of this host are not visible"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """The texts: stat of all, io of those that are not threads of the kernel, cgroup of those younger than the lab."""
    raw: dict[str, object] = {SELF: host.read(SELF)}
    began = int(words(str(raw[SELF]))[19])
    raw["/proc/self/cgroup"] = optional(host, "/proc/self/cgroup")
    for pid in filter(str.isdigit, host.list("/proc")):
        if not (stat := optional(host, f"/proc/{pid}/stat")):
            continue
        raw[f"/proc/{pid}/stat"] = stat
        fields = words(stat)
        if int(pid) != INIT and not int(fields[6]) & KERNEL_THREAD:
            raw[f"/proc/{pid}/io"] = optional(host, f"/proc/{pid}/io")
            if int(fields[19]) >= began:
                raw[f"/proc/{pid}/cgroup"] = optional(host, f"/proc/{pid}/cgroup")
    return raw


def optional(host: Host, path: str) -> str | None:
    """The text of a file that may be gone by now (None), or not be for us (empty)."""
    try:
        return host.read(path)
    except OSError as error:
        return "" if isinstance(error, PermissionError) else None


def words(stat: str) -> list[str]:
    """What follows the command's name in a stat file: state, parent, ... Raises EvidenceError."""
    found = stat.rpartition(")")[2].split()
    if len(found) < 20:
        raise EvidenceError(f"found {stat[:60]!r}; expected a line of /proc/PID/stat")
    return found


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Time and bytes by whose they are, and of the foreign commands that used most. Raises EvidenceError on other text."""
    origin = Origin(host=host_name, phase=phase, source="processes:/proc/*/{stat,io}", layer="foreign")
    looks = [(snapshot, look(snapshot)) for snapshot in snapshots if text_of(snapshot, SELF)]
    totals, commands, hidden = dict.fromkeys(UNITS, 0), dict[str, dict[str, int]](), 0
    points = [(looks[0][0].at_ns, dict(totals), dict[str, dict[str, int]]())] if looks else []
    for (former, before), (snapshot, after) in itertools.pairwise(looks):
        ours, gone = own(after, snapshot) | own(before, former), left_to(before, after)
        for pid, process in after.items():
            risen = rise(pid, process, before, gone.get(pid, ()))
            kind = "own" if pid in ours else "kernel" if process.of_kernel else ""
            count(totals, risen, kind)
            hidden += not kind and process.read_bytes is None
            if not kind and any(risen.values()):
                count(commands.setdefault(process.command, dict.fromkeys(UNITS, 0)), risen, kind)
        points.append((snapshot.at_ns, dict(totals), {name: dict(found) for name, found in commands.items()}))
    reason, lacking = "what other users' processes moved is told to root alone", NOTHING if hidden else {}
    series = [gauge(origin, ABSOLUTE, name, UNITS[name], [(at, of[name]) for at, of, _ in points]) for name in UNITS]
    return Evidence(
        series=(*(one for one in series if points and one.metric not in lacking), *named(origin, points)),
        missing={f"foreign.{metric}": reason for metric in lacking},
    )


def look(snapshot: Snapshot) -> dict[int, Process]:
    """Every process of a snapshot by its number."""
    found: dict[int, Process] = {}
    for path in snapshot.raw:
        (_, _, pid, *name), stat = path.split("/"), text_of(snapshot, path)
        if name != ["stat"] or not pid.isdigit() or stat is None:
            continue
        fields, io, command = words(stat), text_of(snapshot, f"/proc/{pid}/io"), stat.partition("(")[2].rpartition(")")[0]
        heir = adopts(int(pid), command)
        counters = NOTHING if io is None or heir else named_numbers(io, path)
        found[int(pid)] = Process(
            command=command,
            parent=number(fields[1], path),
            started=number(fields[19], path),
            cpu_ns=sum(number(word, path) for word in fields[11 : 13 if heir else 15]) * TICK_NS,
            read_bytes=counters.get("read_bytes"),
            write_bytes=counters.get("write_bytes"),
            group=text_of(snapshot, f"/proc/{pid}/cgroup"),
            of_kernel=bool(number(fields[6], path) & KERNEL_THREAD),
        )
    return found


def own(look: Look, snapshot: Snapshot) -> set[int]:
    """The lab, its descendants, and what its target's commands left running; the parent of these is gone."""
    lab, group = int((text_of(snapshot, SELF) or "").partition(" ")[0]), text_of(snapshot, "/proc/self/cgroup")
    parents = {pid for pid, one in look.items() if adopts(pid, one.command)}
    left = {pid for pid, one in look.items() if one.parent in parents and group is not None and one.group == group}
    return {pid for pid in look if not {lab, *left}.isdisjoint(ancestry(pid, look))}


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


def rise(pid: int, now: Process, before: Look, gone: Sequence[Process]) -> dict[str, int]:
    """By how much the account of a process rose. What a child had before it ended was not used since."""
    was = before.get(pid)
    past = [was, *gone] if was and was.started == now.started else []
    cpu = max(0, now.cpu_ns - sum(one.cpu_ns for one in past))
    moved = {way: max(0, (getattr(now, way) or 0) - sum(getattr(one, way) or 0 for one in past)) for way in NOTHING}
    return {"cpu_ns": cpu, "sure_cpu_ns": max(0, cpu - UNCERTAIN_NS), **moved}


def count(totals: dict[str, int], risen: Mapping[str, int], kind: str) -> None:
    """Add to what is foreign, or to the time of the kernel's or the lab's own."""
    for metric, value in {f"{kind}_cpu_ns": risen["cpu_ns"]}.items() if kind else risen.items():
        totals[metric] += value


def named(origin: Origin, points: Sequence[tuple[int, Mapping[str, int], Mapping[str, Mapping[str, int]]]]) -> Iterator[Series]:
    """The foreign commands that used most, each over time."""
    last = points[-1][2] if points else {}
    for metric in ("cpu_ns", "read_bytes", "write_bytes"):
        for command in sorted(last, key=lambda name: -last[name][metric])[:MOST_NAMED]:
            over_time = [(at, found[command][metric] if command in found else 0) for at, _, found in points]
            if last[command][metric]:
                yield gauge(origin, f"command:{command}", metric, UNITS[metric], over_time)


OBSERVER = Observer(
    name="processes",
    gives=tuple(f"foreign.{metric}" for metric in UNITS),
    cost="1.4 ms of CPU a look for 93 processes, 65 of them threads of the kernel",
    available=available,
    read=read,
    parse=parse,
)
