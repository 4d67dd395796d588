"""External commands really watched: the account of the whole tree, and nothing left behind."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.hosts import exits
from stage.assay_process import as_nobody, wait_until
from stage.rows import each
from stage.watch_stage import DRIVER, MIB, SIZE, call, filled, moved, of, root, watched


def test_a_cold_file_is_read_from_storage_and_a_warm_one_is_not(subtests, room):
    for argv in [("dd", "if=f", "of=/dev/null", "bs=1M"), ("cat", "f"), ("cp", "f", "g")]:
        with subtests.test(argv=argv):
            filled(room / "f", cold=True)
            cold, *_ = watched(room, *argv, stdout=subprocess.DEVNULL)
            warm, *_ = watched(room, *argv, stdout=subprocess.DEVNULL)
            for seen in (cold, warm):
                assert seen["status"] == 0
                assert seen["account"]["lost"] == 0
                assert SIZE <= moved(seen, "L1", "read") <= 1.05 * SIZE or "cp" in argv
            assert moved(cold, "L2", "read") >= 0.98 * SIZE > 8 * MIB > moved(warm, "L2", "read")
            assert of(cold, room / "f")["cached_before_bytes"] < MIB
            assert of(warm, room / "f")["cached_before_bytes"] > 0.9 * SIZE


def test_children_of_children_are_in_the_account(room):
    filled(room / "f", 8 * MIB)
    seen, *_ = watched(room, "sh", "-c", "sh -c 'cat f f f f; true' > /dev/null; cat f > /dev/null")
    assert 40 * MIB <= seen["account"]["rchar"] <= 42 * MIB
    assert seen["account"]["processes"] == 1
    assert seen["account"]["lost"] == 0
    assert seen["account"]["cpu_user_ns"] + seen["account"]["cpu_system_ns"] > 0


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.dup2(os.open("/dev/null", os.O_RDWR), 1)
        time.sleep(0.6)
        with open("late", "wb") as file:
            file.write(bytes(8 << 20))
        os._exit(0)
    os._exit(0)
os.wait()
"""


def test_a_daemon_that_goes_on_after_the_command_is_waited_for_and_accounted(room):
    seen, status, _ = watched(room, sys.executable, "-S", "-c", DAEMON)
    assert status == 0
    assert seen["elapsed_ns"] > 600_000_000
    assert seen["account"]["wchar"] >= 8 * MIB
    assert seen["account"]["processes"] == 2
    assert seen["account"]["lost"] == 0


def test_what_outlives_the_command_for_long_makes_the_account_a_lower_bound(room):
    script = "(head -c 5000000 /dev/zero > big; exec sleep 600) > /dev/null 2>&1 & echo $!; sleep 0.3"
    seen, status, (out, _) = watched(room, "sh", "-c", script, options=("--linger", "0.2"))
    os.kill(int(out), signal.SIGKILL)
    assert status == 0
    assert seen["account"]["lost"] == 1
    assert "still runs" in seen["account"]["lost_reason"]
    assert seen["account"]["wchar"] >= 5_000_000
    assert seen["elapsed_ns"] < 300 * 10**9, "it did not wait for all of it"


def test_a_signal_after_the_commands_end_ends_the_wait_for_its_daemons(room):
    script = "sleep 600 > /dev/null 2>&1 & echo $!"
    process, result = call(room, "sh", "-c", script, options=("--linger", "600"), stdout=subprocess.PIPE)
    daemon = int(process.stdout.readline())
    wait_until(lambda: Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1] == str(process.pid))
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(300) == 0
    os.kill(daemon, signal.SIGKILL)
    process.stdout.close()
    assert json.loads(result.read_text())["account"]["lost"] == 1


IGNORES = """
import os, signal, subprocess
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.execvp("dd", ["dd", "if=f", "of=/dev/null", "bs=1M", "status=none"])
try:
    os.wait()
except ChildProcessError:
    pass
"""


@root
def test_children_that_the_kernel_reaps_are_known_from_their_exit_records(room):
    source, reason = exits.listen()
    if source is None:
        pytest.skip(f"nobody hears of exits here: {reason}")
    source.close()
    filled(room / "f", cold=True)
    seen, *_ = watched(room, sys.executable, "-S", "-c", IGNORES)
    assert seen["account"]["lost"] == 0
    assert seen["account"]["read_bytes"] >= SIZE
    assert seen["account"]["rchar"] >= SIZE
    sources = {one["source"] for one in seen["observations"]["readings"] if one["rung"] in ("L1", "L2")}
    assert sources == {"tree:taskstats"}


def test_without_exit_records_they_are_said_to_be_lost():
    with as_nobody(DRIVER) as bench:
        filled(bench.home / "f", 8 * MIB).chmod(0o644)
        bench.home.chmod(0o777)
        seen, *_ = watched(bench.home, sys.executable, "-S", "-c", IGNORES, through=bench.through, env=bench.environment())
    assert seen["account"]["lost"] >= 1
    assert "SIGCHLD" in seen["account"]["lost_reason"]


def test_a_process_with_more_rights_than_ours_is_said_to_be_lost():
    with as_nobody(DRIVER) as bench:
        bench.home.chmod(0o777)
        shutil.copy(shutil.which("cat"), bench.home / "cat")
        (bench.home / "cat").chmod(0o4755)
        words = ("sh", "-c", "./cat /dev/null; echo done")
        ours, *_ = watched(bench.home, *words, through=bench.through, env=bench.environment())
        words = ("./cat", "/dev/null")
        seen, status, _ = watched(bench.home, *words, through=bench.through, env=bench.environment())
    assert (status, seen["account"]["lost"], ours["account"]["lost"]) == (0, 1, 0)
    assert "other rights" in seen["account"]["lost_reason"]


def test_the_bytes_over_time_rise_from_nothing_to_the_account(room):
    script = (
        "dd if=/dev/zero of=f bs=1M count=8 conv=fsync status=none; sleep 1.3; dd if=/dev/zero of=g bs=1M count=8 status=none"
    )
    seen, *_ = watched(room, "sh", "-c", script)
    (series,) = [one for one in seen["observations"]["series"] if one["metric"] == "write_bytes" and one["layer"] == "process"]
    assert series["value"][0] == 0
    assert series["value"] == sorted(series["value"])
    assert series["value"][-1] == seen["account"]["write_bytes"]
    assert any(8 * MIB <= value < 16 * MIB for value in series["value"])


def test_nothing_is_left_behind_and_little_is_used(room):
    seen, *_ = watched(room, "sh", "-c", "sleep 1 & sleep 1; wait", stdout=subprocess.DEVNULL, options=("--budget",))
    # 0, 1, 2 and the directory that lists them
    assert len(seen["left"]["descriptors"]) == 4
    assert seen["left"]["children"] == []
    assert 0 < seen["own_cpu_ns"] < 250_000_000 + seen["elapsed_ns"] * 0.003


def test_the_command_is_in_our_group_and_session_and_control_groups(room):
    script = "import os; print(os.getpgrp(), os.getsid(0)); print(open('/proc/self/cgroup').read())"
    process, _ = call(room, sys.executable, "-S", "-c", script, stdout=subprocess.PIPE)
    out = process.communicate(timeout=300)[0].decode()
    group, session = out.splitlines()[0].split()
    assert (int(group), int(session)) == (os.getpgrp(), os.getsid(0))
    assert out.partition("\n")[2].strip() == Path("/proc/self/cgroup").read_text().strip()


def test_watching_imports_nothing_heavy():
    heavy = ("numpy", "scipy", "duckdb", "pydantic", "typer", "rich", "altair", "jinja2")
    code = f"import sys, assay.watch.command; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_thousands_of_short_processes_are_followed(room):
    (room / "in").write_bytes(b"x" * 1000)
    script = 'i=0; while [ $i -lt 400 ]; do /bin/cat in >> "out$((i % 7))"; i=$((i + 1)); done'
    seen, *_ = watched(room, "sh", "-c", script)
    assert seen["account"]["lost"] == 0
    assert seen["account"]["wchar"] >= 400_000
    if os.geteuid() == 0 and seen["files_missing"] is None:
        assert {Path(one["path"]).name for one in seen["files"] if one["written"]} == {f"out{i}" for i in range(7)}


@each("words", "taskset -c {} true", "sh -c 'taskset -c {} sleep 0.3; true'")
def test_the_cpus_are_those_of_the_process_that_works(room, words):
    """A short one binds itself after its start; the parent of the other one may run everywhere."""
    seen, *_ = watched(room, *shlex.split(words.format(min(os.sched_getaffinity(0)))))
    allowed, *_ = (one for one in seen["observations"]["series"] if one["metric"] == "cpus_allowed")
    assert allowed["value"] == [1.0]
