"""What a server's processes did: recorded processes that come and go, and a real one that reads, writes and computes."""

import os
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.machine.server import pids
from assay.observers.server_process import OBSERVER
from assay.records import Direction, Edge, Rung, ServerNode, Snapshot, Span, Subject
from stage.observer_looks import look, readings, the_series

SUBJECT = Subject(server=(ServerNode(pid_file="/run/pid"),))
NAMES = ("rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes")


MS = 1_000_000


def accounts(pid, *, threads=1, run=0, wait=0, cpus="0-3", parent=1, ticks=0, waited=0, ignores=False, **counters):
    """The texts about one process; its time and that of children it waited for also in ticks of 10 ms."""
    told = {name: counters.get(name, 0) for name in NAMES}
    return {
        f"/proc/{pid}/io": "".join(f"{name}: {value}\n" for name, value in told.items()),
        f"/proc/{pid}/status": f"Name:\tx\nPPid:\t{parent}\nSigIgn:\t{ignores << 16:016x}\nCpus_allowed_list:\t{cpus}\n",
        f"/proc/{pid}/stat": f"{pid} (a) b) S {parent} 0 0 0 0 0 0 0 0 0 {ticks} 0 {waited} 0 20 0 1 0 7\n",
        f"/proc/{pid}/cgroup": "2:cpuacct:/\n",
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


def test_threads_that_came_later_and_how_long_they_waited():
    """A thread from the first look, and one for each connection: two were seen, with a third of their time in a queue."""
    steady = {"ticks": 100, "run": MS}
    polls = [
        snapshot(
            Edge.POLL, 5, accounts(10, ticks=160, run=2 * MS), accounts(20, parent=10, run=200 * MS, wait=100 * MS, ticks=20)
        ),
        snapshot(
            Edge.POLL, 9, accounts(10, ticks=200, run=3 * MS), accounts(30, parent=10, run=100 * MS, wait=50 * MS, ticks=10)
        ),
    ]
    found = clock([accounts(10, **steady)], [accounts(10, ticks=280, run=4 * MS, waited=30)], polls)
    brief, waited, count = (the_series(found, f"brief_{name}", "server").value for name in ("ns", "ready_ns", "threads"))
    assert list(count) == [0, 1, 1, 0]
    assert brief[-1] == the_series(found, "run_ns", "server").value[-1] - 3 * MS
    assert waited[-1] == pytest.approx(brief[-1] / 2)


def test_what_is_not_there_is_told_and_a_fall_is_refused():
    assert "no process" in clock([], [accounts(10)]).missing["L6.read"]
    closed = accounts(10) | {"/proc/10/io": {"error": "Permission denied"}}
    assert "Run as root" in clock([closed], [closed]).missing["server.run_ns"]
    assert OBSERVER.read(Local(), Subject()) == {}
    assert OBSERVER.parse("h", "p", [], Subject()).missing == {}
    with pytest.raises(EvidenceError, match="falling"):
        clock([accounts(10, read_bytes=9)], [accounts(10, read_bytes=8)])


def spent(before, after, between=()):
    found = clock(before, after, between)
    return the_series(found, "run_ns", "server").value[-1] / 1e6, the_series(found, "unwaited", "server").value[-1]


def missed(before, after, waited, *, ignores=False):
    """The same, and the most (ms) in other accounts: each process has a clock of its own, and init waited for these ticks."""
    looks = [
        snapshot(edge, edge is Edge.LAST, *processes, accounts(1, parent=0, waited=ticks, ignores=ignores))
        for edge, processes, ticks in ((Edge.ARMED, before, waited[0]), (Edge.LAST, after, waited[1]))
    ]
    clocks = [{str(pid): int(one.raw[f"/proc/{pid}/stat"].split()[14]) * 10 * MS for pid in one.raw["pids"]} for one in looks]
    raws = [
        {**one.raw, "pids": one.raw["pids"][:-1], "ancestors": [1], "clocks": told}
        for one, told in zip(looks, clocks, strict=True)
    ]
    found = OBSERVER.parse("h", "p", [replace(one, raw=raw) for one, raw in zip(looks, raws, strict=True)], SUBJECT)
    values = [the_series(found, name, "server").value[-1] for name in ("run_ns", "unwaited", "missed_ns")]
    return values[0] / 1e6, values[1], values[2] / 1e6


def test_time_of_what_ended_between_two_looks_is_kept():
    """Milliseconds of CPU time, and processes whose children may be in no account."""
    top = accounts(10, ticks=7)
    child = accounts(20, parent=10, run=300 * MS, ticks=30)
    poll = [snapshot(Edge.POLL, 5, top, accounts(20, parent=10, run=400 * MS, ticks=40))]
    rows = {
        "threads that ended": (spent([accounts(10, run=5 * MS)], [accounts(10, run=6 * MS, ticks=60)]), (595, 0)),
        "children that came and went": (spent([top], [accounts(10, ticks=7, waited=57)]), (570, 0)),
        "a child that was seen, and waited for": (spent([top], [accounts(10, ticks=7, waited=41)], poll), (410, 0)),
        "a worker from before, waited for": (spent([top, child], [accounts(10, ticks=7, waited=41)], poll), (110, 0)),
        "a child that nobody waited for": (spent([top], [top], poll), (400, 1)),
        "children that are ignored": (spent([top], [accounts(10, ticks=9, ignores=True)]), (20, 1)),
        "orphans that init waited for": (missed([top], [accounts(10, ticks=7, waited=9)], (5, 30)), (90, 0, 250 + 20 + 20)),
        "init waited for others": (missed([top], [accounts(10, ticks=9)], (5, 30)), (20, 0, 0)),
        "init ignores the end of children": (missed([top, child], [top], (5, 30), ignores=True), (0, 1, 0)),
        "precise where threads live": (spent([accounts(10, run=1)], [accounts(10, run=1 + 5 * MS)]), (5, 0)),
    }
    assert {name: found for name, (found, _) in rows.items()} == {name: wanted for name, (_, wanted) in rows.items()}


def test_init_waits_for_the_orphans_of_a_server_that_has_no_parent_in_its_container(tmp_path):
    for pid in (1, 8, 9):
        (tmp_path / f"proc/{pid}").mkdir(parents=True)
        (tmp_path / f"proc/{pid}/stat").write_text(f"{pid} (x) S 0 0 0\n")
    (tmp_path / "pid").write_text("8")
    host = Local(name="h", root=tmp_path)
    assert OBSERVER.read(host, Subject(server=(ServerNode(pid_file="/pid"),)))["ancestors"] == [1]


def in_group(pid, group, used, members):
    """A process in a control group with this account, and who else is in it."""
    file = f"/sys/fs/cgroup/cpuacct{group}/cpuacct.usage"
    return {**accounts(pid, ticks=1), f"/proc/{pid}/cgroup": f"2:cpuacct:{group}\n", file: f"{used}\n"}, {file: members}


def grouped(*looks, beside=None):
    """CPU time by looks of (texts, members); `beside` are the texts of a further process at the last one."""
    seen = []
    for at, (texts, members) in enumerate(looks):
        edge = Edge.ARMED if at == 0 else Edge.LAST if at == len(looks) - 1 else Edge.POLL
        one = snapshot(edge, at, texts, *([beside] if beside and edge is Edge.LAST else []))
        seen.append(Snapshot(edge=edge, at_ns=at, took_ns=1, raw={**one.raw, "members": members}))
    return the_series(OBSERVER.parse("h", "p", seen, SUBJECT), "run_ns", "server").value[-1]


def test_a_group_counts_where_it_is_the_servers_own():
    first, last = in_group(10, "/s", 100, [10]), in_group(10, "/s", 7100, [10, 11])
    assert grouped(first, last) == 7000, "11 came and went"
    assert grouped(in_group(10, "/s", 100, [10, 99]), in_group(10, "/s", 7100, [10, 99])) == 0, "99 is another's: by process"
    assert grouped(in_group(10, "/", 100, [10]), in_group(10, "/", 7100, [10])) == 0, "the root group has everybody"
    texts, members = last
    ended = {key: text.replace(") S", ") Z") for key, text in accounts(11, parent=10).items()}
    assert grouped(first, (texts, members), beside=ended) == 7000, "the kernel names the root group for one that has ended"
    gone = {"/proc/11/cgroup": "2:cpuacct:/\n", "/proc/11/stat": {"error": "No such file or directory"}}
    beside = {**accounts(11, parent=10), **gone}
    assert grouped(first, (texts, members), beside=beside) == 7000, "or had ended by the time at which its state was read"


KINDS = {
    "thread a connection": "class S(ThreadingMixIn, TCPServer): pass",
    "process a connection": "class S(ForkingMixIn, TCPServer): pass",
    "pre-forked": "class S(TCPServer): pass",
    "event": "S = None",
}
SERVERS = """
import os, selectors, socket, sys
from socketserver import *
def work(link):
    if not link.recv(1): return
    sum(range(400_000)); link.send(b"+")
class H(BaseRequestHandler):
    def handle(self): work(self.request)
TCPServer.allow_reuse_address = True
{server}
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
if S is None:
    box = selectors.DefaultSelector(); box.register(listener, 1)
    while True:
        for key, _ in box.select():
            if key.fileobj is listener: box.register(listener.accept()[0], 1)
            else: work(key.fileobj); box.unregister(key.fileobj); key.fileobj.close()
server = S(listener.getsockname(), H, bind_and_activate=False); server.socket.close(); server.socket = listener
if {forked}: os.fork() or os.fork()
server.serve_forever(poll_interval=0.01)
"""
RULER = "/sys/fs/cgroup/cpuacct"


@pytest.mark.root
@pytest.mark.skipif(not Path(f"{RULER}/cpuacct.usage").exists() or os.geteuid() != 0, reason="no accounting of version 1")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shared", [False, True], ids=["own group", "group shared with others"])
def test_the_cpu_time_of_servers_of_each_kind_is_that_of_the_kernels_account(tmp_path, kind, shared):
    (group := Path(f"{RULER}/assay-test-{os.getpid()}")).mkdir()
    argv = [sys.executable, "-c", SERVERS.format(server=KINDS[kind], forked=kind == "pre-forked")]
    into = ["sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh"]
    subject = Subject(server=(ServerNode(pid_file=str(tmp_path / "pid")),))
    seen, used = [], []
    with (
        subprocess.Popen([*into, *argv], stdout=subprocess.PIPE, text=True) as server,
        subprocess.Popen(["sleep", "60"]) as other,
    ):
        try:
            if shared:
                (group / "cgroup.procs").write_text(str(other.pid))
            port = int(server.stdout.readline())
            (tmp_path / "pid").write_text(f"{server.pid}\n")
            for at, edge in enumerate((Edge.ARMED, Edge.POLL, Edge.LAST)):
                used.append(int((group / "cpuacct.usage").read_text()))
                seen.append(look(OBSERVER, Local(), subject, edge, at))
                for _ in range(40 if edge is not Edge.LAST else 0):
                    with socket.create_connection(("127.0.0.1", port)) as link:
                        link.send(b"?")
                        assert link.recv(1) == b"+"
                time.sleep(0.1)
        finally:
            for pid in (*pids(Local(), subject.server)[::-1], other.pid):
                os.kill(pid, 9)
    while (group / "cgroup.procs").read_text():
        time.sleep(0.01)
    group.rmdir()
    found = the_series(OBSERVER.parse("h", "p", seen, subject), "run_ns", "server").value[-1]
    assert found == pytest.approx(used[-1] - used[0], rel=0.05), f"{found / (used[-1] - used[0]):.3f} times"


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
