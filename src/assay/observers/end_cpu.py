"""Measures each CPU's busy and soft interrupt time, and the time of both ends of a network load on each CPU.

Sources: the lines `cpuN` of /proc/stat, /proc/softirqs, and /proc/PID/task/*/stat of the load, of all that it started and of the
named server (its subjects begin with `server:`). A thread's time since the previous sample counts for the CPU that it ran on
last, which is exact for pinned threads. Threads of a control group that is frozen (freezer.state, cgroup.events) count as
`frozen` at that look. Only CPUs that an end ran on, or that served packets, have series. Targets without a server address are not
looked at.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_file
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, counter, gauge, number, text_of, texts, why_not
from assay.machine import freezer, server
from assay.machine.peers import ends, is_over_network
from assay.records import Series, Snapshot, Subject

LAYER = "end_cpu"
STAT, SOFTIRQS = "/proc/stat", "/proc/softirqs"
TICK_NS = 10_000_000
"""USER_HZ is 100 on every supported architecture except alpha."""
BUSY, IDLE, SOFT, STOLEN = (0, 1, 2, 5, 6), (3, 4), (5, 6), (7,)
"""Columns after `cpuN`: user, nice, system, idle, iowait, irq, softirq, steal (proc_stat(5))."""
TIMES = {"busy_ns": BUSY, "soft_ns": SOFT, "stolen_ns": STOLEN, "total_ns": (*BUSY, *IDLE, *STOLEN)}
PACKETS = {"net_rx": "NET_RX", "net_tx": "NET_TX"}
RUN = "run_ns"
STOPPED = (["T"], ["t"])
"""States of a thread that a signal or a tracer stopped (proc_pid_stat(5))."""
SERVERS, FROZEN = "servers", "frozen"
TICKS, LAST_CPU = (11, 12), 36
"""Words of a thread's stat file after its name in brackets: utime, stime; the CPU that it ran on last."""
Times = Mapping[tuple[str, str], int]
"""(CPU, metric) -> ns or count."""


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the texts of /proc/stat, /proc/softirqs, and of the stat file of each thread of both ends."""
    if not is_over_network(subject):
        return {}
    paths, servers = [STAT, SOFTIRQS], server.pids(host, subject.server)
    every = ends(host, subject, servers)
    for pid in every:
        paths += [f"/proc/{pid}/task/{thread}/stat" for thread in host.list(f"/proc/{pid}/task")]
    groups = freezer.files(host, every)
    files = texts(host.read, dict.fromkeys(path for of in groups.values() for path in of))
    return {**texts(host.read, paths), **files, SERVERS: list(servers), FROZEN: {str(pid): of for pid, of in groups.items()}}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return times and packets of each CPU, and of each process on each CPU. Raises EvidenceError on an unknown format."""
    if not is_over_network(subject):
        return Evidence()
    missing: dict[str, str] = {}
    for path, metrics in ((STAT, (*TIMES, RUN)), (SOFTIRQS, PACKETS)):
        if reason := why_not(snapshots, path):
            missing |= {f"{LAYER}.{metric}": reason for metric in metrics}
    seen = [snapshot for snapshot in snapshots if text_of(snapshot, STAT)]
    spent = by_cpu([threads_of(snapshot) for snapshot in seen])
    origin = Origin(host=host_name, phase=phase, source=f"{LAYER}:{STAT}", layer=LAYER)
    own = Origin(host=host_name, phase=phase, source=f"{LAYER}:/proc/PID/task/*/stat", layer=LAYER)
    here = {cpu for one in spent for _, cpu in one}
    named = {str(pid) for one in seen if isinstance(pids := one.raw.get(SERVERS), list | tuple) for pid in pids}
    series = [*of_cpus(origin, snapshots, here)]
    for pid, cpu in sorted({key for one in spent for key in one}):
        points = [(snapshot.at_ns, one.get((pid, cpu), 0)) for snapshot, one in zip(seen, spent, strict=True)]
        series.append(counter(own, f"{'server' if pid in named else 'pid'}:{pid}@cpu:{cpu}", RUN, "ns", points))
    return Evidence(series=(*series, *stopped(own, seen, named)), missing=missing)


def stopped(origin: Origin, seen: Sequence[Snapshot], servers: set[str]) -> Iterator[Series]:
    """Yield how many threads of each end were stopped by a signal, a tracer or a freezer at each look; nothing where none was."""
    for end in ("load", "server"):
        for metric, holds in (("stopped", is_stopped), (FROZEN, is_frozen)):
            points = [(one.at_ns, sum(holds(one, path) for path in threads_in(one, end, servers))) for one in seen]
            if any(count for _, count in points):
                yield gauge(origin, end, metric, "count", points)


def threads_in(snapshot: Snapshot, end: str, servers: set[str]) -> Iterator[str]:
    """Yield the stat files of the threads of an end at one look."""
    for path in snapshot.raw:
        if path.endswith("/stat") and "/task/" in path and (path.split("/")[2] in servers) == (end == "server"):
            yield path


def is_stopped(snapshot: Snapshot, path: str) -> bool:
    """Return whether a thread was stopped at one look."""
    return (text_of(snapshot, path) or "").rpartition(")")[2].split()[:1] in STOPPED


def is_frozen(snapshot: Snapshot, path: str) -> bool:
    """Return whether a control group of the thread's process was frozen at one look."""
    groups = snapshot.raw.get(FROZEN)
    files = groups.get(path.split("/")[2], ()) if isinstance(groups, Mapping) else ()
    return any(freezer.is_frozen(text_of(snapshot, file) or "") for file in files)


def of_cpus(origin: Origin, snapshots: Sequence[Snapshot], here: set[str]) -> Iterator[Series]:
    """Yield the counters of the CPUs that an end ran on, or that served packets."""
    for path, counters, names in ((STAT, times_of, tuple(TIMES)), (SOFTIRQS, packets_of, tuple(PACKETS))):
        looks = [(one.at_ns, counters(text)) for one in snapshots if (text := text_of(one, path))]
        packets = [packets_of(text) for one in snapshots if (text := text_of(one, SOFTIRQS))]
        served = {
            cpu for (cpu, name), count in (packets[-1].items() if packets else ()) if count > packets[0].get((cpu, name), 0)
        }
        for cpu, metric in itertools.product(sorted(here | served), names):
            rows = [(at, found[cpu, metric]) for at, found in looks if (cpu, metric) in found]
            # The kernel corrects its estimate of iowait, so a total may fall by some ticks.
            highest = itertools.accumulate((value for _, value in rows), max)
            points = [(at, value) for (at, _), value in zip(rows, highest, strict=True)]
            if points:
                yield counter(origin, f"cpu:{cpu}", metric, "ns" if metric.endswith("_ns") else "count", points)


def times_of(text: str) -> Times:
    """Return the times of each online CPU in ns."""
    found: dict[tuple[str, str], int] = {}
    for words in (line.split() for line in text.splitlines() if line.startswith("cpu") and not line.startswith("cpu ")):
        if len(words) < 9:
            raise EvidenceError(f"found {' '.join(words)[:40]!r} in {STAT}; expected a CPU with at least 8 times")
        ticks = [number(word, STAT) for word in words[1:9]]
        for metric, columns in TIMES.items():
            found[words[0][3:], metric] = sum(ticks[column] for column in columns) * TICK_NS
    return found


def packets_of(text: str) -> Times:
    """Return the soft interrupts of received and sent packets of each CPU."""
    lines = text.splitlines()
    cpus = [word.removeprefix("CPU") for word in lines[0].split()] if lines else []
    rows = {name.strip(): rest.split() for name, colon, rest in (line.partition(":") for line in lines[1:]) if colon}
    found: dict[tuple[str, str], int] = {}
    for metric, name in PACKETS.items():
        if len(rows.get(name, ())) < len(cpus) or not cpus:
            raise EvidenceError(f"found no {name} for each CPU in {SOFTIRQS}; expected a column for each")
        found |= {(cpu, metric): number(word, SOFTIRQS) for cpu, word in zip(cpus, rows[name], strict=False)}
    return found


def threads_of(snapshot: Snapshot) -> Mapping[tuple[str, str], tuple[int, str]]:
    """Return (process, thread) -> CPU time in ns and the CPU that it ran on last; threads that ended are left out."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for path in snapshot.raw:
        words, text = path.split("/"), text_of(snapshot, path)
        if len(words) == len(("", "proc", "PID", "task", "THREAD", "stat")) and text is not None:
            after = text.rpartition(")")[2].split()
            if len(after) <= LAST_CPU:
                raise EvidenceError(f"found {text[:60]!r}; expected a line of /proc/PID/task/THREAD/stat")
            ticks = sum(number(after[word], path) for word in TICKS)
            found[words[2], words[4]] = ticks * TICK_NS, after[LAST_CPU]
    return found


def by_cpu(samples: Sequence[Mapping[tuple[str, str], tuple[int, str]]]) -> list[Mapping[tuple[str, str], int]]:
    """Return, for each sample, (process, CPU) -> time since the first one; a new thread counts from 0."""
    spent: defaultdict[tuple[str, str], int] = defaultdict(int)
    known = {thread: ran for thread, (ran, _) in samples[0].items()} if samples else {}
    result: list[Mapping[tuple[str, str], int]] = []
    for sample in samples:
        for (pid, thread), (ran, cpu) in sample.items():
            spent[pid, cpu] += max(0, ran - known.get((pid, thread), 0))
            known[pid, thread] = ran
        result.append(dict(spent))
    return result


OBSERVER = Observer(
    name=LAYER,
    gives=tuple(f"{LAYER}.{metric}" for metric in (*TIMES, *PACKETS, RUN, "stopped", FROZEN)),
    sources=(
        Source(
            keys="end_cpu.*",
            words="CPU time of both ends and of soft interrupts, by CPU",
            way="a target with a server address, and /proc/stat, /proc/softirqs (observer end_cpu)",
        ),
    ),
    cost="100 µs CPU per look (two CPUs, one process of one thread)",
    available=needs_file(STAT, "the CPU time of the ends is invisible"),
    read=read,
    parse=parse,
    every_s=0.5,
)
