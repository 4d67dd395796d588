"""`assay-engine states` on real processes: thousands of threads, processes that end, daemons, those that the kernel hides."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from assay.watch import process_tree
from stage.assay_process import NOBODY, wait_until

ENGINE = Path(__file__).parents[2] / "src/assay/bin/assay-engine"
THREADS = 10_000
MANY = """
import sys, threading, time
threading.stack_size(64 * 1024)
for _ in range(int(sys.argv[1])):
    threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()
print("ready", flush=True)
while True:
    pass
"""
DAEMON = """
import os, sys
print("ready", flush=True)
sys.stdin.read()
if os.fork() == 0:
    if sys.argv[1] == "True":
        os.setsid()
    if os.fork():
        os._exit(0)
    print(os.getpid(), flush=True)
    while True:
        pass
os.wait()
"""


@contextlib.contextmanager
def running(*argv):
    """A program whose first line was read."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", *argv], **pipes) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@contextlib.contextmanager
def looks(*pids, group="load", through=(), engine=ENGINE):
    """What asks for all counts so far."""
    options = json.dumps({"roots": {group: pids}})
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([*through, engine, "states", options], **pipes) as process:

        def asked():
            process.stdin.write("counts\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())["groups"][group]

        try:
            yield process, asked
        finally:
            process.kill()


def shares(found):
    return {row["kind"]: row["share"] / found["alive"] for row in found["rows"]}


def threads(found):
    return {row["kind"]: row["threads"] for row in found["rows"]}


def cpu_s(pid):
    return time.clock_gettime(~pid << 3 | 2)  # clock_getcpuclockid(3)


@pytest.mark.slow
def test_the_one_of_ten_thousand_threads_that_computes_is_found_at_little_cost():
    with running(MANY, str(THREADS)) as (program, _), looks(program.pid) as (process, asked):
        began, spent, ran = time.monotonic(), cpu_s(process.pid), cpu_s(program.pid)
        found = wait_until(lambda: found if (found := asked())["alive"] >= 25 else None, every_s=1.0)
        took = time.monotonic() - began
        assert shares(found)["running"] > 0.9
        assert threads(found)["sleep"] / found["alive"] == pytest.approx(THREADS, rel=0.02)
        assert found["times"].popitem()[1]["run_ns"] == pytest.approx(1e9 * (cpu_s(program.pid) - ran), rel=0.1)
        once = 0.05
        """CPU time to list them."""
        assert cpu_s(process.pid) - spent < once + 0.015 * took


def test_what_ends_between_two_looks_stays_counted():
    with running("print(1, flush=True)\nwhile True: pass") as (program, _), looks(program.pid) as (_, asked):
        wait_until(lambda: asked()["alive"] >= 10, every_s=0.2)
        program.kill()
        program.wait()
        before = asked()
        wait_until(lambda: asked()["looks"] >= before["looks"] + 5, every_s=0.2)
        after = asked()
        assert after["alive"] == before["alive"]
        assert (after["denied"], shares(after)["running"]) == (0, pytest.approx(1.0, abs=0.1))


@pytest.fixture
def reaper():
    """This process gets orphans, as the lab does."""
    former = process_tree.subreaper(1)
    yield
    process_tree.subreaper(former)


@pytest.mark.usefixtures("reaper")
@pytest.mark.parametrize("apart", ["True", "False"])
def test_a_daemon_is_of_the_load_and_a_helper_of_the_lab_is_not(apart):
    with running(DAEMON, apart) as (program, _), looks(program.pid) as (_, asked):
        helper = subprocess.Popen([sys.executable, "-c", "while True: pass"], process_group=0)
        program.stdin.close()
        daemon = int(program.stdout.readline())
        try:
            program.wait()
            before = wait_until(lambda: found if threads(found := asked()).get("running") else None, every_s=0.2)
            after = wait_until(lambda: found if (found := asked())["alive"] >= before["alive"] + 10 else None, every_s=0.2)
            more = {kind: count - threads(before).get(kind, 0.0) for kind, count in threads(after).items()}
            assert more.pop("running") == after["alive"] - before["alive"]
            assert not any(more.values())
        finally:
            helper.kill()
            helper.wait()
            os.kill(daemon, signal.SIGKILL)
            os.waitpid(daemon, 0)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("hide", [False, True])
def test_threads_of_another_user_are_told_as_hidden(hide, tmp_path):
    script = ["set -e", *(["mount -t proc -o hidepid=2 proc /proc"] if hide else []), 'exec "$@"']
    other = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    through = ("unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(script), "sh", *other)
    engine = shutil.copy(ENGINE, Path(tempfile.mkdtemp(dir="/tmp")) / "engine")
    Path(engine).parent.chmod(0o755)
    try:
        with (
            running("print(1, flush=True)\nwhile True: pass") as (program, _),
            looks(program.pid, through=through, engine=engine) as (_, asked),
        ):
            found = wait_until(lambda: found if (found := asked())["looks"] >= 5 else None, every_s=0.2)
        assert found["denied"] >= 5
        assert (found["alive"], found["rows"]) == (0, [])
    finally:
        shutil.rmtree(Path(engine).parent)


def test_no_look_is_taken_while_a_phase_is_to_be_spared():
    with running("print(1, flush=True)\nwhile True: pass") as (program, _), looks(program.pid) as (process, asked):
        wait_until(lambda: asked()["looks"] >= 3, every_s=0.2)
        process.stdin.write("spare 1000000000\n")
        before = asked()["looks"]
        time.sleep(0.5)
        assert asked()["looks"] == before
        wait_until(lambda: asked()["looks"] > before, every_s=0.2)
