import subprocess
import sys

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.cpu import OBSERVER
from assay.records import Edge, Subject
from stage.observer_looks import bumped, look, recorded, replayed, the_series

STAT = "/proc/stat"
SUBJECT = Subject(pids=(4242,))
FIRST = r"(?m)^cpu  (\d+)"
STEAL = r"(?m)^cpu (?: \d+){7} (\d+)"


def parsed(*changes, subject=SUBJECT):
    return OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), subject, *changes), subject)


def test_shares_are_of_the_time_since_the_former_look():
    evidence = parsed({}, {STAT: lambda text: bumped(STEAL, 25)(bumped(FIRST, 75)(text))})
    assert list(the_series(evidence, "steal_share").value) == [0.25]
    assert list(the_series(evidence, "user_share").value) == [0.75]
    assert list(the_series(evidence, "steal_ns").value) == [0, 0, 250_000_000, 250_000_000]
    assert the_series(evidence, "total_ns").value[-1] == 1_000_000_000
    assert list(the_series(evidence, "cpus").value) == [2, 2, 2, 2]


def test_waiting_is_summed_over_all_threads_not_the_first_alone():
    waits = r"\d+ (\d+) \d+"
    change = {f"/proc/4242/task/{thread}/schedstat": bumped(waits, by) for thread, by in ((4242, 1000), (4243, 500))}
    assert the_series(parsed({}, change), "run_delay_ns", "pid:4242").value[-1] == 1500


def test_a_thread_that_ends_keeps_what_it_had():
    ended = {f"/proc/4242/task/4243/{name}": lambda _: None for name in ("stat", "schedstat")}
    waited = {"/proc/4242/task/4243/schedstat": bumped(r"\d+ (\d+) \d+", 700)}
    assert list(the_series(parsed({}, waited, ended), "run_delay_ns", "pid:4242").value) == [0, 0, 700, 700]
    waited = {"/proc/4242/task/4243/schedstat": bumped(r"\d+ (\d+) \d+", 700)}
    ended = {"/proc/4242/task/4243/schedstat": lambda _: None}
    assert list(the_series(parsed({}, waited, ended), "run_delay_ns", "pid:4242").value) == [0, 0, 700, 700]


def test_a_small_step_back_of_idle_is_the_kernels_guess_and_a_large_one_a_reset():
    idle = r"(?m)^cpu (?: \d+){3} (\d+)"
    assert the_series(parsed({}, {STAT: bumped(idle, -3)}), "idle_ns").value[-1] == 0
    with pytest.raises(EvidenceError, match="falling"):
        parsed({}, {STAT: bumped(idle, -3000)})


def test_what_cannot_be_read_is_refused_or_named():
    with pytest.raises(EvidenceError, match="expected a line `cpu`"):
        parsed({}, {STAT: lambda _: "cpu 1 2 3\n"})
    with pytest.raises(EvidenceError, match="/proc/PID/stat"):
        parsed({}, {"/proc/4242/stat": lambda _: "4242 (x) S 1\n"})
    evidence = parsed(subject=Subject(pids=(77,)))
    assert "/proc/77/stat" in evidence.missing["process.user_ns"]
    assert "cpu.steal_ns" not in evidence.missing


def test_a_real_busy_thread_is_seen():
    code = (
        "import sys, threading, time\n"
        "def burn():\n"
        "    while time.thread_time() < 0.3: pass\n"
        "print(flush=True); sys.stdin.readline()\n"
        "t = threading.Thread(target=burn); t.start(); t.join()\n"
        "print(flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        subject = Subject(pids=(child.pid,))
        child.stdout.readline()
        armed = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
        child.stdin.write(b"\n")
        child.stdin.flush()
        child.stdout.readline()
        last = look(OBSERVER, Local(), subject, Edge.LAST, 1)
        child.communicate(b"\n")
    evidence = OBSERVER.parse("h", "p", [armed, last], subject)
    own = f"pid:{child.pid}"
    assert the_series(evidence, "user_ns", own).value[-1] + the_series(evidence, "system_ns", own).value[-1] >= 250e6
    assert the_series(evidence, "total_ns").value[-1] >= 280e6
