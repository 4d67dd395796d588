"""`assay stat` with evidence that is asked for by name (a server here, tracepoints), and what it sees of others unasked."""

import shutil
import subprocess
import time

import pytest

from assay.hosts.local import Local
from assay.machine import bpftrace
from assay_process import wait_until
from stat_stage import PYTHON, SIZE, cold, dd, failed, loop_disk, neighbour, root, stat, warm

pytestmark = [root, pytest.mark.alone]
SERVES = """
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
with open("pid", "w") as file:
    file.write(str(os.getpid()))
with open("port", "w") as file:
    file.write(f"{server.getsockname()[1]} ")
while True:
    client, _ = server.accept()
    with open("data", "rb") as file, client:
        while piece := file.read(1 << 20):
            client.sendall(piece)
            time.sleep(0.02)  # so that a fetch lasts long enough for shares of processor time, on the fastest machine, too
"""
FETCHES = """
import socket, time
begun, got = time.perf_counter(), 0
with socket.create_connection(("127.0.0.1", int(open("port").read()))) as server:
    while piece := server.recv(1 << 20):
        got += len(piece)
print(got / 1e6 / (time.perf_counter() - begun), "MB/s")
"""
REPORTED = ("--reported", "([0-9.]+) MB/s", "--unit", "MB/s", "--direction", "read")
NAMED = ("--server", "pid_file=pid,data=data,address=127.0.0.1")


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"))


@pytest.fixture(scope="module")
def served(disk):
    """A program that sends a file to whoever asks."""
    process = subprocess.Popen([PYTHON, "-I", "-S", "-c", SERVES], cwd=disk)
    try:
        wait_until(lambda: (disk / "port").exists() and (disk / "port").read_text().endswith(" "))
        yield disk
    finally:
        process.kill()
        process.wait()


def finding(told, rule):
    return next(one for one in told["findings"] if one["rule"] == rule)


def fetched(disk, *options):
    return stat(disk, PYTHON, "-I", "-S", "-c", FETCHES, before=(*options, *REPORTED))


def test_a_server_that_is_named_is_judged_by_what_its_own_storage_was_asked(served):
    cold(served / "data")
    honest = fetched(served, *NAMED)
    warm(served / "data")
    lie = fetched(served, *NAMED)
    assert finding(honest, "T02")["state"] == "pass"
    assert set(failed(honest)) <= {"L03"}  # the loopback may be said to be the limit
    assert finding(lie, "T02")["state"] == "fail"
    assert lie["verdict"] == "INVALID"
    assert "from the server's memory" in lie["label"]
    assert finding(honest, "L02")["state"] == "pass"
    assert finding(honest, "N03")["observed"]["bytes_share"] < 0.5, "what the server read is no stranger's"


def test_what_a_server_here_sends_is_no_boast_though_no_storage_of_ours_moved(served):
    told = fetched(served)
    assert "E05" not in failed(told)
    assert finding(told, "T02")["state"] == "n/a"


# -------------------------------------------------------------------------------------------------- tracepoints


needs_tracing = pytest.mark.skipif(bpftrace.obstacle(Local()) is not None, reason=str(bpftrace.obstacle(Local())))


@needs_tracing
def test_tracepoints_tell_whose_the_flushes_were(disk):
    words = dd("/dev/urandom", "out", "count=8", "conv=fsync")
    told = stat(disk.parent, *words, before=("--observe", "tracepoints"))
    (disk.parent / "out").unlink()
    assert "own processes sent" in finding(told, "D02")["statement"]
    assert finding(told, "E04")["state"] == "pass"


@needs_tracing
@pytest.mark.parametrize("way", ["ends", "is killed"])
def test_what_runs_beside_a_command_ends_with_it(disk, way):
    before = running("bpftrace")
    script = "sleep 0.1" if way == "ends" else "kill -9 $PPID; sleep 0.1"
    command = [PYTHON, "-m", "assay.cli.main", "stat", "--observe", "tracepoints", "--", "sh", "-c", script]
    subprocess.run(command, cwd=disk, capture_output=True, check=False)
    deadline = time.monotonic() + 120
    while running("bpftrace") - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running("bpftrace") == before


def running(name):
    """The processes of that name."""
    return set(subprocess.run([shutil.which("pgrep"), "-x", name], capture_output=True, text=True, check=False).stdout.split())


def test_where_tracepoints_are_not_asked_for_the_finding_says_how(disk):
    told = stat(disk, *dd("/dev/urandom", "out", "count=8"))
    (disk / "out").unlink()
    doubtful = [one for one in told["findings"] if "tracepoints" in (one["advice"] or "")]
    assert all("assay stat --observe tracepoints" in one["advice"] for one in doubtful)


# ----------------------------------------------------------------------------------------------- what others do


def test_others_at_work_and_the_kernels_log_are_seen_unasked(disk):
    with neighbour(disk):
        told = stat(disk, *dd("data", "/dev/null", "iflag=direct"))
    assert finding(told, "N07")["state"] in ("pass", "fail")
    assert finding(told, "N03")["state"] == "fail"
    assert "of the device's" in finding(told, "N03")["statement"]
    assert failed(told) == {}, "a neighbour makes no other rule fail"
    assert told["ladder"]["storage"]["read_bytes"] >= SIZE
