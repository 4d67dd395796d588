"""`assay stat` with evidence that is asked for by name (a server here, tracepoints), and what it sees of others unasked."""

import subprocess
import tempfile
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.machine import bpftrace
from stage.assay_process import Bench, wait_until
from stage.own_disk import ahead
from stage.stat_stage import MIB, PYTHON, SIZE, attached, cold, dd, detach, failed, loop_disk, neighbour, root, stat, warm

pytestmark = root
SERVES = """
import os, socket, time
with open("/proc/self/comm", "w") as file:
    file.write("assay-served")
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
def disk():
    """A disk in memory, and processors, that others do not take while shares of them are judged."""
    with ahead(), tempfile.TemporaryDirectory(dir="/dev/shm") as home:
        yield from loop_disk(Path(home), size=256 * MIB)


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
    assert finding(honest, "T02")["state"] == "pass", finding(honest, "T02")
    assert set(failed(honest)) <= {"L03"}  # the loopback may be said to be the limit
    assert finding(lie, "T02")["state"] == "fail"
    assert lie["verdict"] == "INVALID"
    assert "from the server's memory" in lie["label"]
    assert finding(honest, "L02")["state"] == "pass"
    assert "assay-served" not in str(finding(honest, "N03")), "what the server read is no stranger's"


def test_what_a_server_here_sends_is_no_boast_though_no_storage_of_ours_moved(served):
    told = fetched(served)
    assert "E05" not in failed(told)
    assert finding(told, "T02")["state"] == "n/a"


# -------------------------------------------------------------------------------------------------- tracepoints


needs_tracing = pytest.mark.skipif(bpftrace.obstacle(Local()) is not None, reason=str(bpftrace.obstacle(Local())))


@needs_tracing
def test_tracepoints_tell_whose_the_flushes_were(disk):
    """On a whole device: a file system may leave the flush to a thread of its own."""
    image = disk.parent / "whole"
    image.write_bytes(bytes(16 * MIB))
    device = attached(image)
    try:
        told = stat(disk, *dd("/dev/urandom", device, "count=8", "conv=fsync"), before=("--observe", "tracepoints"))
    finally:
        detach(device)
    assert "own processes sent" in finding(told, "D02")["statement"]
    assert finding(told, "E04")["state"] == "pass"


SEEN = 'for at in $(pgrep -x bpftrace); do grep -qz "$0" /proc/$at/environ && echo $at; done > seen; '


@needs_tracing
@pytest.mark.parametrize("end", ["true", "kill -9 $PPID; sleep 0.1"], ids=["ends", "is killed"])
def test_what_runs_beside_a_command_ends_with_it(tmp_path, end):
    bench = Bench(tmp_path)
    bench.run("stat", "--observe", "tracepoints", "--", "sh", "-c", SEEN + end, bench.mark)
    (tracer,) = (tmp_path / "seen").read_text().split()
    wait_until(lambda: int(tracer) not in bench.processes())


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
