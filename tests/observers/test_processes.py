"""The observer of processes: whose a process is, children that ended, threads of the kernel, what is hidden; a real neighbour."""

import os
import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.processes import OBSERVER
from assay.records import Edge, ServerNode, Snapshot, Subject
from stage.assay_process import running
from stage.observer_looks import look, the_series

LAB, SECOND_NS, TICKS = 100, 1_000_000_000, 100
KERNEL = 0x200000
IO = "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {0}\nwrite_bytes: {1}\ncancelled_write_bytes: 0\n"


@dataclass(frozen=True)
class Told:
    """One process of a made-up machine; times in ticks."""

    pid: int
    parent: int = 1
    name: str = "sh"
    own: int = 0
    children: int = 0
    started: int = 10
    flags: int = 0
    moved: tuple | str | None = (0, 0)
    """None: gone by then; empty: only told to root."""
    group: str | None = None
    job: int | None = None
    """Its process group; None: one of its own."""

    def stat(self):
        return (
            f"{self.pid} ({self.name}) S {self.parent} {self.job or self.pid} 1 0 -1 {self.flags} 0 0 0 0 "
            f"{self.own} 0 {self.children} 0 20 0 1 0 {self.started} 0 0"
        )


def snapshot(at, edge, *processes, group="0::/lab"):
    lab = Told(LAB, name="assay", started=50, group=group)
    raw = {"/proc/self/stat": lab.stat(), "/proc/self/cgroup": group}
    for one in (Told(1, 0, "init", started=0), lab, *processes):
        raw[f"/proc/{one.pid}/stat"] = one.stat()
        raw[f"/proc/{one.pid}/io"] = IO.format(*one.moved) if one.moved else one.moved
        raw[f"/proc/{one.pid}/cgroup"] = one.group
    return Snapshot(edge=edge, at_ns=int(at * SECOND_NS), took_ns=1000, raw=raw)


def parsed(before, after, server=None, watchers=None):
    looks = [snapshot(0, Edge.ARMED, *before), snapshot(1, Edge.LAST, *after)]
    if server is not None:
        looks = [replace(one, raw={**one.raw, "/proc/server/pids": server}) for one in looks]
    if watchers is not None:
        looks = [replace(one, raw={**one.raw, "/proc/locks/notebook": watchers}) for one in looks]
    return OBSERVER.parse("h", "p", looks, Subject())


def last(evidence, metric, subject=""):
    return the_series(evidence, metric, subject).value[-1]


def seconds(evidence, metric="cpu_ns", subject=""):
    return last(evidence, metric, subject) / SECOND_NS


def test_others_are_counted_apart_from_the_lab_and_the_kernel():
    before = [Told(200, LAB, "engine"), Told(300, 1, "dd"), Told(7, 2, "kworker", flags=KERNEL)]
    after = [
        Told(200, LAB, "engine", own=100),
        Told(300, 1, "dd", own=50, moved=(5, 7)),
        Told(7, 2, "kworker", own=30, flags=KERNEL, moved=None),
    ]
    evidence = parsed(before, after)
    assert (seconds(evidence), seconds(evidence, "own_cpu_ns"), seconds(evidence, "kernel_cpu_ns")) == (0.5, 1.0, 0.3)
    assert (last(evidence, "read_bytes"), last(evidence, "write_bytes")) == (5, 7)
    assert seconds(evidence, "cpu_ns", "command:dd") == 0.5
    assert not evidence.missing


def test_children_that_ended_are_in_their_parents_account_and_counted_once():
    assert seconds(parsed([], [Told(200, LAB, "engine"), Told(201, 200, "fio", own=90, started=60)])) == 0
    evidence = parsed([Told(300, 1, "make")], [Told(300, 1, "make", children=70)])
    assert seconds(evidence) == 0.7
    before = [Told(300, 1, "make"), Told(301, 300, "cc1", own=500, moved=(100, 0))]
    after = [Told(300, 1, "make", children=520, moved=(130, 0))]
    evidence = parsed(before, after)
    assert (seconds(evidence), last(evidence, "read_bytes")) == (0.2, 30)
    before = [Told(300, 1, "bash"), Told(301, 300, "sh", own=1), Told(302, 301, "pytest", own=900, children=500, moved=(70, 0))]
    after = [Told(300, 1, "bash", children=1411, moved=(75, 0))]
    evidence = parsed(before, after)
    assert (seconds(evidence), last(evidence, "read_bytes")) == (pytest.approx(0.1), 5)
    assert seconds(parsed([Told(400, 1, "old", own=500)], [])) == 0
    evidence = parsed([Told(300, 1, "old", own=900, started=10)], [Told(300, 1, "new", own=20, started=70)])
    assert seconds(evidence) == 0.2


def test_what_the_targets_commands_left_running_is_a_part_of_the_target(subtests):
    for group, started, parent, is_other in [
        ("0::/lab", 60, 1, False),
        ("0::/user", 60, 1, True),
        (None, 40, 1, True),
        ("0::/lab", 60, 300, True),
    ]:
        with subtests.test(group=group, started=started, parent=parent, is_other=is_other):
            server = Told(500, parent, "slapd", started=started, group=group)
            busy = Told(500, parent, "slapd", own=80, started=started, group=group)
            assert (seconds(parsed([Told(300), server], [Told(300), busy])) > 0) is is_other


def test_a_declared_server_and_what_it_forks_are_the_targets_own():
    before = [Told(500, 1, "postgres"), Told(600, 1, "cron")]
    after = [Told(500, 1, "postgres", own=10), Told(501, 500, "postgres", moved=(90, 0)), Told(600, 1, "cron", moved=(5, 0))]
    assert last(parsed(before, after), "read_bytes") == 95
    evidence = parsed(before, after, server="500 501")
    assert (last(evidence, "read_bytes"), seconds(evidence)) == (5, 0)


def test_a_worker_that_ended_and_that_nobody_waited_for_is_the_servers(subtests):
    """It is in no control group any more; its process group is that of the server."""
    for job, is_other in [(500, False), (None, True)]:
        with subtests.test(job=job, is_other=is_other):
            before, after = [Told(500, 1, "smbd")], [Told(500, 1, "smbd"), Told(501, 1, "smbd", own=20, moved=(0, 12), job=job)]
            evidence = parsed(before, after, server="500")
            assert (last(evidence, "write_bytes") > 0, seconds(evidence) > 0) == (is_other, is_other)


def test_the_processes_of_a_declared_server_are_read(tmp_path):
    (tmp_path / "pid").write_text("1")
    node = ServerNode(pid_file=str(tmp_path / "pid"))
    assert "1" in OBSERVER.read(Local(), Subject(server=(node,)))["/proc/server/pids"].split()
    assert "/proc/server/pids" not in OBSERVER.read(Local(), Subject())


def test_who_shows_the_notebook_works_for_the_lab_with_what_it_started_and_its_neighbours_do_not():
    before = [Told(500, 1, "assay"), Told(600, 1, "other", job=500)]
    after = [Told(500, 1, "assay", own=10), Told(501, 500, "query", own=30), Told(600, 1, "other", own=7, job=500)]
    evidence = parsed(before, after, watchers="500")
    assert (seconds(evidence), seconds(evidence, "own_cpu_ns")) == (pytest.approx(0.07), pytest.approx(0.4))
    assert seconds(parsed(before, after)) == pytest.approx(0.47)


def test_who_shows_the_notebook_is_found_by_its_lock(tmp_path):
    holds = "import sys; from pathlib import Path; from assay.machine import notebook_watchers as w; w.watch(Path(sys.argv[1]))"
    with running(
        sys.executable, "-c", f"{holds}; print(flush=True); import time; time.sleep(60)", str(tmp_path), stdin=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        other.stdin.close()
        assert OBSERVER.read(Local(), Subject(notebook=str(tmp_path)))["/proc/locks/notebook"] == str(other.pid)
        assert OBSERVER.read(Local(), Subject(notebook="/var"))["/proc/locks/notebook"] == ""
        assert "/proc/locks/notebook" not in OBSERVER.read(Local(), Subject())


def test_the_manager_of_a_session_adopts_as_the_first_process_does():
    manager = Told(300, 1, "systemd")
    server = [Told(500, 300, "slapd", own=own, started=60, group="0::/lab") for own in (0, 80)]
    assert seconds(parsed([manager, server[0]], [manager, server[1]])) == 0
    heir = Told(300, 1, "systemd", children=500, moved=(9, 9))
    evidence = parsed([manager, Told(501, 300, "old", own=400)], [heir])
    assert (seconds(evidence), last(evidence, "read_bytes")) == (0, 0)


def test_time_that_rounding_leaves_open_and_bytes_that_are_hidden_are_not_sure():
    many = [[Told(300 + index, 1, f"d{index}", own=own) for index in range(20)] for own in (0, 1)]
    evidence = parsed(*many)
    assert (seconds(evidence), seconds(evidence, "sure_cpu_ns")) == (0.2, 0)
    gone = parsed([Told(300)], [Told(300), Told(301, moved=None)])
    assert not gone.missing
    evidence = parsed([Told(300, moved="")], [Told(300, moved="")])
    assert set(evidence.missing) == {"other_processes.read_bytes", "other_processes.write_bytes"}
    assert not [one for one in evidence.series if one.metric == "read_bytes"]
    look_at = snapshot(0, Edge.ARMED)
    with pytest.raises(EvidenceError, match=r"expected a line of /proc/PID/stat"):
        OBSERVER.parse(
            "h", "p", [Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw={**look_at.raw, "/proc/9/stat": "9 (x) S"})], None
        )


def burner(*before):
    """A process that computes for 0.3 s of its own time, once a line is sent to it."""
    code = "import time; print(flush=True); input(); exec('while time.process_time() < 0.3: pass'); print(flush=True); input()"
    return subprocess.Popen([*before, sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def between(child):
    """What the observer sees while a process computes."""
    child.stdout.readline()
    host, subject = Local(), Subject()
    looks = [look(OBSERVER, host, subject, Edge.ARMED, 0)]
    child.stdin.write("\n")
    child.stdin.flush()
    child.stdout.readline()
    looks.append(look(OBSERVER, host, subject, Edge.LAST, 1))
    child.communicate("\n")
    return OBSERVER.parse("h", "p", looks, subject)


def test_our_own_real_child_is_ours():
    with burner() as child:
        raw = OBSERVER.read(Local(), Subject())
        assert f"/proc/{child.pid}/cgroup" in raw
        assert f"/proc/{os.getppid()}/cgroup" not in raw, "who is older than the lab was not started for it"
        evidence = between(child)
    assert seconds(evidence, "own_cpu_ns") >= 0.25
