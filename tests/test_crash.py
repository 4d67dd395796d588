"""Interrupted or killed at any moment: nothing is left behind, and --resume completes the very same schedule."""

import contextlib
import fnmatch
import json
import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest

from stage.assay_process import PATIENCE_S, announced, kill, wait_until
from stage.kill_moments import cleaned, loads, moments, noted, struck
from stage.sizes import few_and_many

INTERRUPTED = (
    "assay: interrupted. All changes of the machine are undone. Finished runs are in the notebook."
    " Go on with --resume; `assay compare` shows what there is."
)
RATE = 399_999_007
"""The throttle of the experiment: no other test has it."""
EXPERIMENT = """
title = "Crash"
question = "Is anything left?"
compare = "target"
repeats = {repeats}
matters = "10 %"
seed = 3
observers = ["block", "process_io", "page_cache", "memory", "environment"]

[machine]
sysctl."vm.page-cluster" = 7

[targets.ext4]
kind = "loopfs"
filesystem = "ext4"
size = "48 MiB"
limit.read_bytes_per_s = "399999007 B/s"
limit.write_bytes_per_s = "399999007 B/s"
[targets.xfs]
kind = "loopfs"
filesystem = "xfs"
size = "320 MiB"
[targets.btrfs]
kind = "loopfs"
filesystem = "btrfs"
size = "160 MiB"

[workloads.spool]
kind = "metadata"
object = "file"
count = 100
list_every = 50
operations = ["create", "list", "stat", "unlink"]
memory = "256 MiB"
quiesce = "0 s"
[workloads.stream]
kind = "bulk_io"
operations = ["write", "read"]
size = "16 MiB"
record_size = "1 MiB"
flush = "end"
cache = "cold"
memory = "256 MiB"
quiesce = "0 s"
[workloads.tool]
kind = "command"
argv = ["sh", "-c", "sleep 0.5 & dd if=/dev/zero of={{directory}}/dd bs=1M count=4 status=none; wait"]
memory = "256 MiB"
quiesce = "0 s"

[measures]
"spool.create.ops_per_s" = {{}}
"stream.write.bytes_per_s" = {{ claim = {{ tier = "device", durability = "stable-media", regime = "burst" }} }}
"stream.read.bytes_per_s" = {{ claim = {{ tier = "device", regime = "cold" }} }}
"tool.command.elapsed_ns" = {{}}
"""
COMMAND_ONLY = """
title = "Outlived"
question = "Who outlives the engine?"
repeats = 1
seed = 1
[targets.here]
kind = "directory"
path = "{path}"
[workloads.tool]
kind = "command"
argv = ["sh", "-c", "sleep 300 & setsid sleep 301 & wait"]
quiesce = "0 s"
[measures]
"tool.command.elapsed_ns" = {{}}
"""
RUN = ("run", "e.toml", "--resume", "--progress", "none")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="loop devices, mounts and throttle rules need root")


def folder(bench):
    (found,) = [path.parent for path in bench.home.glob("lab/*/plan.json")]
    return found


def finished(bench):
    """Trial -> the bytes of its finished runs' records."""
    found = {}
    for path in bench.home.glob("lab/*/trials/*/attempt-*/run.json"):
        if (run := json.loads(path.read_text()))["outcome"] == "finished":
            found.setdefault(run["trial"]["id"], []).append((run["trial"]["levels"], path.stat().st_mtime_ns))
    return found


def rules():
    """Throttle rules of this test's rate."""
    found = []
    for place, _, names in os.walk("/sys/fs/cgroup"):  # which passes over a group that somebody removes meanwhile
        for name in fnmatch.filter(names, "blkio.throttle.*_bps_device"):
            with contextlib.suppress(OSError):
                found += [line for line in Path(place, name).read_text().splitlines() if line.endswith(f" {RATE}")]
    return found


def swapped_pages():
    """The setting of the machine that the experiment changes, and no other test."""
    return Path("/proc/sys/vm/page-cluster").read_text()


def assert_undone(entries):
    for kind, details in entries:
        if kind in ("directory", "file", "cgroup"):
            assert not Path(details["path"]).exists(), (kind, details)


WAYS = (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM, signal.SIGKILL)


@pytest.mark.root
@pytest.mark.slow
@needs_root
@few_and_many("points", 4, 20)
def test_a_lab_that_is_ended_leaves_nothing_and_what_it_finished_stays(bench, points):
    (bench.home / "e.toml").write_text(EXPERIMENT.format(repeats=2 if points < 10 else 8))
    whole = cleaned(bench, struck(bench, "after a trial is kept", lambda pid: bool(finished(bench))))
    as_found = swapped_pages()
    assert as_found != "7\n"
    plan, before, had = (folder(bench) / "plan.json").read_bytes(), finished(bench), 0
    assert before
    for number, moment in enumerate(moments(points, whole.noted)):
        way = WAYS[number % len(WAYS)]
        lab = cleaned(bench, struck(bench, *moment, way=way, engines=number % 2 == 1))
        had += bool(lab.open)
        if way is not signal.SIGKILL and lab.status != 0:
            assert (lab.status, lab.complaint.strip()) == (130, INTERRUPTED), lab.told
        assert rules() == [], lab.told
        assert swapped_pages() == as_found, lab.told
        assert_undone(lab.open)
        assert (folder(bench) / "plan.json").read_bytes() == plan, lab.told
        now = finished(bench)
        assert {trial: now[trial] for trial in before} == before, "finished trials stay as they are and are not run again"
        before = now
    assert had > points // 2, "the moments hit labs that had something"
    assert_completed(bench, before)


def assert_completed(bench, before):
    done = bench.run(*RUN)
    assert done.returncode == 0, done.stderr
    schedule = json.loads((folder(bench) / "plan.json").read_text())["plan"]
    drawn = {trial["id"]: trial["levels"] for trial in schedule["trials"] if trial["block"] < schedule["blocks"]}
    now = finished(bench)
    assert {trial: runs[0][0] for trial, runs in now.items()} == drawn
    assert {trial: now[trial] for trial in before} == before
    assert bench.traces() == []
    assert rules() == []


@pytest.mark.root
@pytest.mark.slow
@needs_root
def test_the_next_run_itself_cleans_up_what_a_killed_one_left(bench):
    (bench.home / "e.toml").write_text(EXPERIMENT.format(repeats=2))
    lab = bench.start(*RUN)
    wait_until(lambda: loads(lab.pid))
    kill(lab.pid, signal.SIGSTOP)  # so that what its notes say is what is there
    entries = announced(lab.pid)
    kill(lab.pid)
    lab.communicate()
    left = bench.traces()
    assert left
    after = bench.start("run", "e.toml", "--resume", "--progress", "json")
    told = after.stderr.readline()
    while not told.startswith("{"):
        assert told.startswith("assay: undone after a killed run")
        told = after.stderr.readline()
    assert not set(left) & set(bench.traces())
    assert_undone(entries)
    kill(after.pid, signal.SIGINT)
    after.communicate(timeout=300)
    assert after.returncode == 130
    assert bench.traces() == []


def outlived(bench):
    (bench.home / "e.toml").write_text(COMMAND_ONLY.format(path=bench.home))
    lab = bench.start(*RUN)
    wait_until(lambda: sum("sleep" in command and "sh" not in command for command in bench.processes().values()) == 2)
    return lab


def test_children_of_a_command_do_not_outlive_an_engine_that_is_killed(bench):
    lab = outlived(bench)
    (engine,) = bench.engines()
    kill(engine)
    _, complaint = lab.communicate(timeout=300)
    assert "Traceback" not in complaint
    assert bench.processes() == {}
    assert finished(bench) == {}
    assert bench.traces() == []


def test_children_of_a_command_do_not_outlive_a_lab_that_is_killed_with_its_engine(bench):
    lab = outlived(bench)
    engines = bench.engines()
    kill(lab.pid, signal.SIGSTOP)
    for pid in (*engines, lab.pid):
        kill(pid)
    lab.communicate()
    assert bench.processes(), "some outlive both: that is what the ledger is for"
    assert bench.run("doctor").returncode == 0
    assert bench.traces() == []


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_on_a_terminal_clears_the_line_and_says_one(bench, way):
    (bench.home / "e.toml").write_text(COMMAND_ONLY.format(path=bench.home))
    main, terminal = pty.openpty()
    lab = bench.start("run", "e.toml", stdout=terminal, stderr=terminal, stdin=terminal)
    os.close(terminal)
    shown, told = b"", False
    with contextlib.suppress(OSError):  # the terminal is closed with its last process
        while select.select([main], [], [], PATIENCE_S)[0]:
            shown += os.read(main, 4096)
            if not told and b"trial 1/1" in shown and any("sleep" in command for command in bench.processes().values()):
                told = kill(lab.pid, way)
    os.close(main)
    assert lab.wait(300) == 130
    lines = [line.rsplit("\r", 1)[-1] for line in shown.decode().replace("\r\n", "\n").split("\n")]
    assert lines == [INTERRUPTED, ""], shown
    assert "trial 1/1" in shown.decode()
    assert bench.traces() == []


HIDDEN = """
title = "Hidden"
question = "Can anybody copy the mount?"
repeats = {repeats}
seed = 1
[targets.t]
kind = "loopfs"
filesystem = "ext4"
size = "16 MiB"
image = "sparse"
direct_io = false
[workloads.w]
kind = "metadata"
object = "file"
count = 100
operations = ["create"]
quiesce = "0 s"
[measures]
"w.create.ops_per_s" = {{}}
"""


@pytest.mark.root
@pytest.mark.slow
@needs_root
@few_and_many("trials", 3, 30)
def test_new_mount_namespaces_at_any_moment_harm_no_trial(bench, trials):
    """One at each line of the lab's notes: each copies all mounts of the host, and outlives the lab."""
    (bench.home / "e.toml").write_text(HIDDEN.format(repeats=trials))
    strangers, lines = [], 0
    lab = bench.start(*RUN)
    while lab.poll() is None:
        if (now := noted(lab.pid)) > lines:
            lines = now
            strangers.append(subprocess.Popen(["unshare", "--mount", "sleep", "infinity"]))
        assert str(bench.home) not in Path("/proc/self/mountinfo").read_text(), "the mount is invisible outside the lab"
        time.sleep(0.01)
    _, complaint = lab.communicate()
    for stranger in strangers:
        stranger.kill()
        stranger.wait()
    assert lab.returncode == 0, complaint
    assert len(strangers) > trials
    assert len(finished(bench)) == trials
    assert bench.traces() == []
