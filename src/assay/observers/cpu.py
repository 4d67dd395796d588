"""Measures CPU time: of the host by kind, steal included, and of each process with its CPU wait.

Sources: /proc/stat; /proc/PID/stat; /proc/PID/task/*/stat and schedstat; /proc/PID/status: the CPUs that a process may run on.
Cumulative times are in ns; shares refer to the time since the previous sample. The clock ticks of /proc/stat are 10 ms, so
shares over less than a second are coarse.
/proc/PID/schedstat covers the first thread only, so every thread is read. The time of a thread between its last sample and its
end is lost for `run_delay_ns` and `busiest_thread_ns`, but not for `user_ns` and `system_ns`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch, needs_file
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, counter, gauge, number, text_of, texts, why_not
from assay.machine.cpus import parse_ranges
from assay.records import ABSOLUTE, Series, Snapshot, Subject

STAT = "/proc/stat"
TICK_NS = 10_000_000
"""The kernel prints these times in USER_HZ: 100 on every supported architecture except alpha."""
KINDS = {"user": (0, 1), "system": (2, 5, 6), "idle": (3,), "iowait": (4,), "steal": (7,)}
"""Columns of the `cpu` line; user time includes guest time (proc_stat(5))."""
HOST_METRICS = (*(f"{kind}_ns" for kind in (*KINDS, "total")), *(f"{kind}_share" for kind in KINDS), "cpus")
PROCESS_METRICS = ("user_ns", "system_ns", "run_ns", "run_delay_ns", "busiest_thread_ns")
ALLOWED, ALLOWED_LINE = "cpus_allowed", "Cpus_allowed_list:"
Threads = Mapping[str, tuple[int, int, int]]
"""Thread -> CPU time by ticks; CPU time and CPU wait by the scheduler's clock; in ns."""


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the texts of /proc/stat, and of stat and schedstat of each process and thread."""
    paths = [STAT, *(f"/proc/{pid}/{file}" for pid in subject.pids for file in ("stat", "status"))]
    for pid in subject.pids:
        for thread in host.list(f"/proc/{pid}/task"):
            paths += [f"/proc/{pid}/task/{thread}/stat", f"/proc/{pid}/task/{thread}/schedstat"]
    return texts(host.read, paths)


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return times in ns and shares (0..1) over time. Raises EvidenceError on an unknown format or a falling counter."""
    reason = why_not(snapshots, STAT)
    missing = {f"cpu.{metric}": reason for metric in HOST_METRICS} if reason else {}
    refused = [reason for pid in subject.pids if (reason := why_not(snapshots, f"/proc/{pid}/stat"))]
    if not subject.pids:
        refused = ["the load has no process"]
    missing |= {f"process.{metric}": "; ".join(refused) for metric in PROCESS_METRICS if refused}
    origin = Origin(host=host_name, phase=phase, source="cpu:/proc/stat", layer="cpu")
    processes = Origin(host=host_name, phase=phase, source="cpu:/proc/PID/task/*/{stat,schedstat}", layer="process")
    own = (item for pid in subject.pids for item in process_series(processes, pid, snapshots))
    return Evidence(series=(*host_series(origin, snapshots), *own), missing=missing)


def host_series(origin: Origin, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the host's time by kind, cumulative and as shares since the previous sample."""
    seen = [(snapshot.at_ns, *times_of(text)) for snapshot in snapshots if (text := text_of(snapshot, STAT))]
    if not seen:
        return
    for kind in (*KINDS, "total"):
        yield counter(origin, ABSOLUTE, f"{kind}_ns", "ns", without_small_falls([(at, times[kind]) for at, times, _ in seen]))
    for kind in KINDS:
        pairs = itertools.pairwise(seen)
        steps = [(at, after[kind] - before[kind], after["total"] - before["total"]) for (_, before, _), (at, after, _) in pairs]
        yield gauge(
            origin, ABSOLUTE, f"{kind}_share", "share", [(at, max(0, of) / total) for at, of, total in steps if total > 0]
        )
    yield gauge(origin, ABSOLUTE, "cpus", "count", [(at, cpus) for at, _, cpus in seen])


def times_of(text: str) -> tuple[dict[str, int], int]:
    """Return the time by kind in ns, their sum as `total`, and the number of online CPUs."""
    lines = [line.split() for line in text.splitlines() if line.startswith("cpu")]
    if not lines or lines[0][0] != "cpu" or len(lines[0]) < 9:
        raise EvidenceError(f"found {text[:40]!r} in {STAT}; expected a line `cpu` with at least 8 times")
    ticks = [number(word, STAT) for word in lines[0][1:]]
    times = {kind: sum(ticks[column] for column in columns) * TICK_NS for kind, columns in KINDS.items()}
    return times | {"total": sum(times.values())}, len(lines) - 1


def without_small_falls(points: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Remove small falls of idle and iowait: the kernel estimates iowait and may correct it.

    A fall of more than a second stays: that counter was reset.
    """
    kept: list[tuple[int, int]] = []
    for at, value in points:
        former = kept[-1][1] if kept else value
        kept.append((at, former if former - 1_000_000_000 < value < former else value))
    return kept


def process_series(origin: Origin, pid: int, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the CPU time of one process and of its busiest thread, and the CPU wait of its threads."""
    seen = [snapshot for snapshot in snapshots if text_of(snapshot, f"/proc/{pid}/stat")]
    own = [(snapshot.at_ns, ticks_of(text_of(snapshot, f"/proc/{pid}/stat") or "")) for snapshot in seen]
    if not own:
        return
    subject = f"pid:{pid}"
    if allowed := [(one.at_ns, cpus) for one in seen if (cpus := allowed_of(text_of(one, f"/proc/{pid}/status") or ""))]:
        yield gauge(origin, subject, ALLOWED, "count", allowed)
    yield counter(origin, subject, "user_ns", "ns", [(at, user) for at, (user, _) in own])
    yield counter(origin, subject, "system_ns", "ns", [(at, system) for at, (_, system) in own])
    spent = since_first([threads_of(snapshot, pid) for snapshot in seen])
    for metric, figure in (("run_ns", 1), ("run_delay_ns", 2)):
        points = [(snapshot.at_ns, sum(one[figure] for one in of.values())) for snapshot, of in zip(seen, spent, strict=True)]
        yield counter(origin, subject, metric, "ns", points)
    busiest = [max((ticks for ticks, _, _ in of.values()), default=0) for of in spent]
    yield counter(
        origin, subject, "busiest_thread_ns", "ns", list(zip([snapshot.at_ns for snapshot in seen], busiest, strict=True))
    )


def allowed_of(text: str) -> int:
    """Return the number of CPUs that a process may run on, by its status file; 0 where that does not say it."""
    lists = [line.removeprefix(ALLOWED_LINE) for line in text.splitlines() if line.startswith(ALLOWED_LINE)]
    return sum(1 for _ in parse_ranges(lists[0])) if lists else 0


def ticks_of(text: str) -> tuple[int, int]:
    """Parse user and system time in ns of a stat file; the command's name may contain blanks and brackets."""
    words = text.rpartition(")")[2].split()
    if len(words) < 13:
        raise EvidenceError(f"found {text[:60]!r}; expected a line of /proc/PID/stat")
    return number(words[11], "/proc/PID/stat") * TICK_NS, number(words[12], "/proc/PID/stat") * TICK_NS


def threads_of(snapshot: Snapshot, pid: int) -> Threads:
    """Return the times of each thread; a thread that ended during the look is omitted."""
    found: dict[str, tuple[int, int, int]] = {}
    prefix = f"/proc/{pid}/task/"
    has_schedstat = text_of(snapshot, f"{prefix}{pid}/schedstat") is not None  # else no thread has one on this kernel
    for path in snapshot.raw:
        thread, _, name = path.removeprefix(prefix).partition("/")
        stat, scheduled = text_of(snapshot, path), text_of(snapshot, f"{prefix}{thread}/schedstat")
        if not path.startswith(prefix) or name != "stat" or stat is None or (has_schedstat and scheduled is None):
            continue
        words = (scheduled or "0 0 0").split()
        found[thread] = (sum(ticks_of(stat)), number(words[0], path), number(words[1], path))
    return found


def since_first(samples: Sequence[Threads]) -> list[Threads]:
    """Return each thread's times since the first sample; a new thread counts from 0, an ended one keeps its last times."""
    first = samples[0]
    spent: dict[str, tuple[int, int, int]] = {}
    result: list[Threads] = []
    for sample in samples:
        for thread, (ticks, ran, waited) in sample.items():
            start = first.get(thread, (0, 0, 0))
            spent[thread] = (ticks - start[0], ran - start[1], waited - start[2])
        result.append(dict(spent))
    return result


OBSERVER = Observer(
    name="cpu",
    gives=(*(f"cpu.{metric}" for metric in HOST_METRICS), *(f"process.{metric}" for metric in (*PROCESS_METRICS, ALLOWED))),
    sources=(Source(keys="cpu.*", words="CPU counters of the host", way="/proc/stat and /proc/PID/schedstat (observer cpu)"),),
    watch=Watch.ALWAYS,
    cost="21 µs CPU per look (one process of one thread)",
    available=needs_file(STAT, "the host's CPU time is invisible"),
    read=read,
    parse=parse,
    every_s=1.0,
)
