"""What a server's processes did: recorded processes that come and go, and a real one that reads, writes and computes."""

import os
import subprocess
import sys

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.machine.server import pids
from assay.observers.server_process import OBSERVER
from assay.records import Direction, Edge, Rung, ServerNode, Snapshot, Span, Subject
from stage.observer_looks import look, readings, the_series

SUBJECT = Subject(server=(ServerNode(pid_file="/run/pid"),))
NAMES = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes")


def accounts(pid, *, threads=1, run=0, wait=0, cpus="0-3", parent=1, **counters):
    """The texts about one process."""
    told = {name: counters.get(name, 0) for name in NAMES}
    return {
        f"/proc/{pid}/io": "".join(f"{name}: {value}\n" for name, value in told.items()),
        f"/proc/{pid}/status": f"Name:\tx\nPPid:\t{parent}\nCpus_allowed_list:\t{cpus}\n",
        **{f"/proc/{pid}/task/{pid + thread}/schedstat": f"{run} {wait} 3\n" for thread in range(threads)},
    }


def snapshot(edge, at, *processes):
    raw = {"pids": [int(next(iter(texts)).split("/")[2]) for texts in processes]}
    for texts in processes:
        raw |= texts
    return Snapshot(edge=edge, at_ns=at, took_ns=1, raw=raw)


def clock(before, after, between=()):
    looks = [snapshot(Edge.ARMED, 0, *before), *between, snapshot(Edge.LAST, 10**9, *after)]
    return OBSERVER.parse("h", "p", looks, SUBJECT)


def moved(evidence, rung, direction):
    (found,) = readings(evidence, rung=rung, direction=direction, span=Span.CLOCK)
    return found.bytes


def test_what_all_processes_moved_is_summed_and_an_ended_one_keeps_what_it_had():
    before = [accounts(10, read_bytes=100, rchar=5), accounts(20, read_bytes=7)]
    after = [accounts(10, read_bytes=4196, rchar=50, syscr=3), accounts(20, read_bytes=8)]
    found = clock(before, after)
    assert moved(found, Rung.SERVER_CACHE, Direction.READ) == 4097
    assert moved(found, Rung.SERVER_PROCESS, Direction.READ) == 45
    assert readings(found, rung=Rung.SERVER_PROCESS, direction=Direction.READ)[0].operations == 3
    poll = snapshot(Edge.POLL, 5, accounts(10, write_bytes=10), accounts(30, write_bytes=500))
    found = clock([accounts(10, write_bytes=10)], [accounts(10, write_bytes=20), accounts(40, write_bytes=1)], [poll])
    assert moved(found, Rung.SERVER_CACHE, Direction.WRITE) == 10 + 500 + 1


def test_what_an_ended_child_had_is_in_its_parents_account_and_counts_once():
    """The kernel adds the account of a child to that of the process that waits for it, all of it (proc_pid_io(5))."""
    first = [accounts(10, rchar=5), accounts(20, parent=10, rchar=1000)]
    polls = [
        snapshot(Edge.POLL, 5, accounts(10, rchar=5), accounts(20, parent=10, rchar=1400), accounts(21, parent=20, rchar=70)),
        snapshot(Edge.POLL, 6, accounts(10, rchar=5), accounts(20, parent=10, rchar=1470)),
    ]
    assert moved(clock(first, [accounts(10, rchar=1475)], polls), Rung.SERVER_PROCESS, Direction.READ) == 470
    ignored = clock(first, [accounts(10, rchar=7)], polls)
    assert moved(ignored, Rung.SERVER_PROCESS, Direction.READ) == 472, "nobody waited for it, so nobody else has its account"


def test_a_child_that_ends_while_it_is_looked_at_is_counted_once(subtests):
    """It was listed and gone when its account was to be read, before or after its parent's; no reason to know nothing."""
    for seen_by_then in [5, 1405]:
        with subtests.test(seen_by_then=seen_by_then):
            child = {"/proc/20/io": {"error": "No such file or directory"}}
            polls = [
                snapshot(Edge.POLL, 5, accounts(10, rchar=5), accounts(20, parent=10, rchar=1400)),
                snapshot(Edge.POLL, 6, accounts(10, rchar=seen_by_then), child),
            ]
            found = clock([accounts(10, rchar=5)], [accounts(10, rchar=1405)], polls)
            assert found.missing == {}
            assert moved(found, Rung.SERVER_PROCESS, Direction.READ) == 1400


def test_processor_time_of_all_threads_and_of_the_busiest():
    before = [accounts(10, threads=2, run=100, wait=50)]
    after = [accounts(10, threads=2, run=1100, wait=250), accounts(20, run=5000, wait=0, cpus="2,7")]
    found = clock(before, after)
    assert list(the_series(found, "run_ns", "server").value) == [0, 7000]
    assert list(the_series(found, "busiest_thread_ns", "server").value) == [0, 5000]
    assert list(the_series(found, "cpus", "server").value) == [4, 5]
    assert list(the_series(found, "processes", "server").value) == [1, 2]


def test_what_is_not_there_is_told_and_a_fall_is_refused():
    assert "no process" in clock([], [accounts(10)]).missing["L6.read"]
    closed = accounts(10) | {"/proc/10/io": {"error": "Permission denied"}}
    assert "Run as root" in clock([closed], [closed]).missing["server.run_ns"]
    assert OBSERVER.read(Local(), Subject()) == {}
    assert OBSERVER.parse("h", "p", [], Subject()).missing == {}
    with pytest.raises(EvidenceError, match="falling"):
        clock([accounts(10, read_bytes=9)], [accounts(10, read_bytes=8)])


SERVER = """
import os, sys
print(os.getpid(), flush=True)
sys.stdin.readline()
child = os.fork()
if not child:
    with open(sys.argv[1], "wb") as file:
        file.write(b"x" * (1 << 20))
    os._exit(0)
os.waitpid(child, 0)
sum(range(3_000_000))
print("done", flush=True)
sys.stdin.readline()
"""


def test_a_real_server_and_its_child_are_counted(tmp_path):
    argv = [sys.executable, "-c", SERVER, str(tmp_path / "out")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        pid = process.stdout.readline().strip()
        (tmp_path / "pid").write_text(f"{pid}\n")
        subject = Subject(server=(ServerNode(pid_file=str(tmp_path / "pid")),))
        armed = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"
        last = look(OBSERVER, Local(), subject, Edge.LAST, 1)
        process.stdin.write("\n")
        process.stdin.flush()
    found = OBSERVER.parse("h", "p", [armed, last], subject)
    assert moved(found, Rung.SERVER_PROCESS, Direction.WRITE) >= 1 << 20
    assert the_series(found, "run_ns", "server").value[-1] > 0
    assert the_series(found, "cpus", "server").value[0] == len(os.sched_getaffinity(0))


def test_processes_of_a_pid_file_their_children_and_nobody_else(tmp_path):
    with subprocess.Popen(["sh", "-c", "sleep 60 & sleep 60"]) as process:
        try:
            (tmp_path / "pid").write_text(f"{process.pid}\n")
            found: tuple[int, ...] = ()
            while len(found) < 3:
                found = pids(Local(), (ServerNode(pid_file=str(tmp_path / "pid")),))
            assert found[0] == process.pid
            assert len(found) == 3
        finally:
            for pid in pids(Local(), (ServerNode(pid_file=str(tmp_path / "pid")),))[::-1]:
                os.kill(pid, 9)
    assert pids(Local(), (ServerNode(pid_file=str(tmp_path / "none")),)) == ()
    (tmp_path / "pid").write_text("no number\n")
    assert pids(Local(), (ServerNode(pid_file=str(tmp_path / "pid")),)) == ()


def test_a_control_group_names_processes(tmp_path):
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n999999999\n")
    assert pids(Local(), (ServerNode(cgroup=str(tmp_path)),))[0] == os.getpid()
