"""Counts the system calls, storage I/O and CPU time of the server's processes.

Sources, for every process of the target's server on this host and its children: io, status, stat and task/*/schedstat in
/proc/PID, and the account of its control group. `rchar` and `wchar` are rung L5; they include sockets only if used by read and
write, and exclude io_uring. `read_bytes` is rung L6, the reads below the server's page cache; `write_bytes` counts dirtied pages,
which proves no durability. A new process counts from 0. An ended process keeps its last counts; the kernel adds them to the
process that waited for it (proc_pid_io(5)), and if that is a server process too, they are not counted twice.

CPU time is that of the server's control groups where no other process is in them: nothing of it is lost. Else it is that of its
processes with their ended threads, and of the children that they waited for. `unwaited` counts processes that ignore the end of
their children (SIGCHLD), and those that ended unwaited: the time of what came and went between two looks is in no account then.

Once the TCP connections of clients and server on one machine are compared (/proc/PID/net/tcp): a program with one of
either is between them, and one that a client reached by the server's own port is beside it (SO_REUSEPORT). One that has
connections of clients and none to a server without any is in its place. Clients of a FUSE mount connect by its program.
"""

from __future__ import annotations

import errno
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch, needs_file
from assay.evidence.served import BESIDE_FACT, BETWEEN_FACT, DIRECT_FACT, DOORS_FACT, INSTEAD_FACT
from assay.evidence.snapshots import (
    Counters,
    Origin,
    counter,
    gauge,
    named_numbers,
    process_ways,
    readings,
    rise,
    text_of,
    texts,
)
from assay.evidence.sources import SERVER
from assay.machine import server_time
from assay.machine.between import Others, doors, others
from assay.machine.peers import BY_KERNEL, clients
from assay.machine.server import pids
from assay.machine.server_time import has_ended, pids_of, threads_of
from assay.machine.stack import mount_of
from assay.records import Fact, FactClass, Rung, Series, Snapshot, Subject, When

WAYS = process_ways(Rung.SERVER_PROCESS, Rung.SERVER_CACHE)
COUNTERS = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes")
KEYS = ("L5.read", "L5.write", "L6.read", "L6.write")
METRICS = (
    "run_ns",
    "unwaited",
    "missed_ns",
    "busiest_thread_ns",
    "brief_ns",
    "brief_ready_ns",
    "brief_threads",
    "cpus",
    "processes",
)
SUBJECT = "server"
FACTS = {"between": BETWEEN_FACT, "beside": BESIDE_FACT, "direct": DIRECT_FACT, "instead": INSTEAD_FACT, "doors": DOORS_FACT}
DOORS = "doors"
PROVEN = ("between", "beside", "direct")
"""What shows that the server is a part of it: a proxy connects to it after its client did."""
GONE = tuple(map(os.strerror, (errno.ENOENT, errno.ESRCH)))
Account = tuple[int, Counters]
"""The parent of a process, and its counters."""


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the server's current processes, and the texts of each process and thread; empty without a server."""
    if not subject.server:
        return {}
    running = pids(host, subject.server)
    paths = [f"/proc/{pid}/{name}" for pid in running for name in ("io", "status")]
    paths += [f"/proc/{pid}/task/{thread}/schedstat" for pid in running for thread in host.list(f"/proc/{pid}/task")]
    load = clients(host, subject) if subject.pids and any(running) else ()
    who = others(host, load, running, subject.endpoints) if load else Others()
    if who.instead and any(mount_of(host, one).filesystem in BY_KERNEL for one in subject.endpoints if one.startswith("/")):
        who = who._replace(instead="")  # the connection of the load's mount is the kernel's
    told: dict[str, object] = {name: value for name, value in who._asdict().items() if value}
    told |= {DOORS: ", ".join(found)} if not load and running and (found := doors(host, running)) else {}
    return {"pids": list(running), **texts(host.read, paths), **server_time.read(host, running), **told}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return rungs L5 and L6, and CPU time in ns. Raises EvidenceError on an unknown format."""
    if not subject.server:
        return Evidence()
    seen = [snapshot for snapshot in snapshots if snapshot.raw.get("pids")]
    refused = why_not(snapshots, seen)
    if refused:
        return Evidence(missing=dict.fromkeys((*KEYS, *(f"server.{metric}" for metric in METRICS)), refused))
    origin = Origin(host=host_name, phase=phase, source="server_process:/proc/PID/io", layer="server")
    looks = list(zip(seen, since_first([processes_of(one) for one in seen]), strict=True))
    return Evidence(
        readings=tuple(readings(origin, SUBJECT, looks, WAYS)),
        series=tuple(series_of(origin, seen)),
        facts=tuple(facts_of(host_name, phase, seen)),
    )


def facts_of(host_name: str, phase: str, seen: Sequence[Snapshot]) -> Iterator[Fact]:
    """Yield the programs that were seen between clients and server, or beside it; they have other numbers in each trial."""
    named = {name for one in seen for name in FACTS if name in one.raw}
    for name, key in FACTS.items():
        if name == "instead" and named & {*PROVEN}:
            continue
        who = next((str(one.raw[name]) for one in seen if name in one.raw), None)
        if who is not None:
            yield Fact(host=host_name, when=When.BEFORE, key=f"{key}{phase}", value=who, fact_class=FactClass.IDENTITY)


def why_not(snapshots: Sequence[Snapshot], seen: Sequence[Snapshot]) -> str | None:
    """Return why the evidence is missing; None if the server ran at every look and its accounts are readable."""
    if len(seen) < len(snapshots):
        return f"no process of the server at {len(snapshots) - len(seen)} of {len(snapshots)} looks"
    closed = [
        path for one in seen for pid in pids_of(one) if not is_gone(one, path := f"/proc/{pid}/io") and text_of(one, path) is None
    ]
    return f"{closed[0]}: not readable. Run as root or as the server's user." if closed else None


def is_gone(snapshot: Snapshot, path: str) -> bool:
    """Return True if the process ended during the look: children of a forking server end at any time."""
    answer = snapshot.raw.get(path)
    return isinstance(answer, Mapping) and answer.get("error") in GONE


def processes_of(snapshot: Snapshot) -> dict[int, Account | None]:
    """Return the parent (0 if unknown) and the I/O counters of each process; None for one that ended during the look."""
    found: dict[int, Account | None] = {}
    for pid in pids_of(snapshot):
        text = text_of(snapshot, path := f"/proc/{pid}/io")
        counted = named_numbers(text or "", path)
        parent = re.search(r"^PPid:\s*(\d+)", text_of(snapshot, f"/proc/{pid}/status") or "", re.MULTILINE)
        amounts = {name: counted.get(name, 0) for name in COUNTERS}
        found[pid] = (int(parent[1]) if parent else 0, amounts) if text is not None else None
    return found


def since_first(looks: Sequence[Mapping[int, Account | None]]) -> list[dict[str, int]]:
    """Return the sums since the first look: of all live processes, and of ended ones that no live account contains."""
    kept, before = dict.fromkeys(COUNTERS, 0), dict[int, Account]()
    result: list[dict[str, int]] = []
    for look in looks:
        now = {pid: account for pid, account in look.items() if account is not None}
        for pid in [*lost_accounts(before, now)]:
            if pid in look:
                now[pid] = before[pid]  # it ended after its parent was read; the parent's next account contains it
            else:
                kept = {name: kept[name] + before[pid][1][name] for name in COUNTERS}
        for pid in before.keys() & now.keys():
            for name in COUNTERS:
                rise(before[pid][1][name], now[pid][1][name], f"{name} of {pid}")
        result.append({name: kept[name] + sum(amounts[name] for _, amounts in now.values()) for name in COUNTERS})
        before = now
    return [{name: total[name] - result[0][name] for name in COUNTERS} for total in result]


def lost_accounts(before: Mapping[int, Account], after: Mapping[int, Account]) -> Iterator[int]:
    """Yield the ended processes whose account was not added to their nearest live ancestor.

    The kernel adds the account to the process that waits, which then rises by at least that much. It adds it to none if SIGCHLD
    is ignored or the process outlived its parent.
    """
    heirs: dict[int, list[int]] = {}
    for pid in before.keys() - after.keys():
        heir = before[pid][0]
        while heir in before and heir not in after:
            heir = before[heir][0]
        heirs.setdefault(heir, []).append(pid)
    for heir, gone in heirs.items():
        owed = {name: sum(before[pid][1][name] for pid in gone) for name in COUNTERS}
        past = before[heir][1] if heir in before else dict.fromkeys(COUNTERS, 0)
        if heir not in after or any(after[heir][1][name] - past[name] < owed[name] for name in COUNTERS):
            yield from gone


def series_of(origin: Origin, seen: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield the CPU time of the server, that of its busiest thread and of threads that came later, CPUs and processes."""
    threads = [{who: time for who, time in threads_of(one).items() if not has_ended(one, int(who.split("/")[2]))} for one in seen]
    spent: dict[str, tuple[int, int]] = {}
    busiest, steady = list[tuple[int, int]](), list[int]()
    for snapshot, sample in zip(seen, threads, strict=True):
        for who, (running, waiting) in sample.items():
            start = threads[0].get(who, (0, 0))
            spent[who] = (running - start[0], waiting - start[1])
        busiest.append((snapshot.at_ns, max((sum(one) for one in spent.values()), default=0)))
        steady.append(sum(running for who, (running, _) in spent.items() if who in threads[0]))
    time, at_ns = server_time.server_time(seen), [snapshot.at_ns for snapshot in seen]
    brief = [*itertools.accumulate((whole - part for whole, part in zip(time.spent_ns, steady, strict=True)), max)]
    yield counter(origin, SUBJECT, "run_ns", "ns", list(zip(at_ns, time.spent_ns, strict=True)))
    yield gauge(origin, SUBJECT, "unwaited", "count", list(zip(at_ns, time.unwaited, strict=True)))
    yield gauge(origin, SUBJECT, "missed_ns", "ns", list(zip(at_ns, time.missed_ns, strict=True)))
    yield counter(origin, SUBJECT, "busiest_thread_ns", "ns", busiest)
    yield counter(origin, SUBJECT, "brief_ns", "ns", list(zip(at_ns, brief, strict=True)))
    yield gauge(origin, SUBJECT, "brief_ready_ns", "ns", list(zip(at_ns, ready_of(threads, brief), strict=True)))
    at_once = [len(sample.keys() - threads[0].keys()) for sample in threads]
    yield gauge(origin, SUBJECT, "brief_threads", "count", list(zip(at_ns, at_once, strict=True)))
    yield gauge(origin, SUBJECT, "cpus", "count", [(snapshot.at_ns, cpus_of(snapshot)) for snapshot in seen])
    yield gauge(origin, SUBJECT, "processes", "count", [(snapshot.at_ns, len(pids_of(snapshot))) for snapshot in seen])


def ready_of(threads: Sequence[Mapping[str, tuple[int, int]]], brief: Sequence[int]) -> Iterator[float]:
    """Yield how long threads that came later were ready without a CPU: as long for their time as those that were seen alive."""
    ran, waited = 0, 0
    for sample, spent in zip(threads, brief, strict=True):
        for who in sample.keys() - threads[0].keys():
            ran, waited = ran + sample[who][0], waited + sample[who][1]
        yield spent * waited / ran if ran else 0.0


def cpus_of(snapshot: Snapshot) -> int:
    """Return the number of CPUs that the server's processes may use."""
    allowed: set[int] = set()
    for pid in pids_of(snapshot):
        for line in (text_of(snapshot, f"/proc/{pid}/status") or "").splitlines():
            if line.startswith("Cpus_allowed_list:"):
                ranges = (part.partition("-") for part in line.partition(":")[2].strip().split(","))
                allowed |= {cpu for low, _, high in ranges for cpu in range(int(low), int(high or low) + 1)}
    return len(allowed)


OBSERVER = Observer(
    name="server_process",
    gives=(
        *KEYS,
        *(f"server.{metric}" for metric in METRICS),
        "fact:target.server.between.*",
        "fact:target.server.beside.*",
        "fact:target.server.instead.*",
        "fact:target.server.direct.*",
        "fact:target.server.doors.*",
    ),
    sources=(
        Source(keys="L5.*", words="process counters of the server: bytes of its system calls", way=SERVER),
        Source(keys="L6.read", words="process counters of the server: bytes read from storage", way=SERVER),
        Source(keys="L6.write", words="process counters of the server: bytes dirtied or written", way=SERVER),
        Source(keys="server.*", words="CPU, storage and TCP of the server's processes", way=SERVER),
        Source(keys="fact:target.server.between.*", words="a program between the clients and the server", way=SERVER),
        Source(keys="fact:target.server.instead.*", words="another program at the end of the clients' connections", way=SERVER),
        Source(keys="fact:target.server.doors.*", words="where the server listens", way=SERVER),
        Source(keys="fact:target.server.direct.*", words="a connection between a client and the server", way=SERVER),
        Source(keys="fact:target.server.beside.*", words="a program on the server's own port", way=SERVER),
    ),
    watch=Watch.SERVER,
    cost="45 µs CPU per look (one process of one thread)",
    available=needs_file("/proc/self/io", "bytes of processes are invisible. Use a kernel with CONFIG_TASK_IO_ACCOUNTING."),
    read=read,
    parse=parse,
    every_s=1.0,
)
