"""The observer of tracepoints: its program and its parse on recorded answers, and really run beside reads, writes and syncs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay import sampler
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.machine import bpftrace, stack
from assay.observers.tracepoints import MAPS, MOST_FILES, MOST_PROCESSES, OBSERVER
from assay.records import Edge, Snapshot, Subject
from assay.undo.ledger import Ledger
from stage.observer_looks import recorded, the_series
from stage.processes import ended, wait_ended

HOST = Local()
MIB = 1 << 20
SUBJECT = Subject(pids=(7, 8), paths=("/t/a", "/t/b"), backing_files=("/i",), directory="/t", devices=("loop0", "vda"))
LOOP0, VDA = 7 << 20, 254 << 20
FILES = {"/t/a": LOOP0, "/t/b": LOOP0, "/t": LOOP0, "/i": VDA}


def snapshot(edge, at_s, lost=0, inodes=(("/t/a", 12), ("/i", 12)), **maps):
    raw = {
        "inodes": dict(inodes),
        "file_systems": FILES,
        "devices": {"loop0": LOOP0, "vda": VDA},
        "page_bytes": 4096,
        "lost": lost,
        "maps": {**{name: {} for name in MAPS}, **maps},
    }
    return Snapshot(edge=edge, at_ns=at_s * 10**9, took_ns=1, raw=raw)


def made(*snapshots):
    return OBSERVER.parse("h", "p", snapshots, SUBJECT)


def test_pages_are_those_of_the_file_with_this_inode_on_this_file_system():
    found = made(
        snapshot(Edge.ARMED, 0, added={f"{LOOP0},12": 1}, all={"": 1}),
        snapshot(Edge.LAST, 1, added={f"{LOOP0},12": 257, f"{LOOP0},99": 3, f"{VDA},12": 5}, all={"": 265}),
    )
    assert list(the_series(found, "added_bytes", "path:/t/a").value) == [0, MIB]
    assert list(the_series(found, "added_bytes", "path:/t/b").value) == [0, 0]
    assert list(the_series(found, "added_bytes", "backing:/i").value) == [0, 5 * 4096]
    assert list(the_series(found, "added_bytes", "filesystem:/t").value) == [0, MIB + 3 * 4096]
    assert list(the_series(found, "lost_events").value) == [0, 0]


def test_a_file_that_was_made_anew_has_the_pages_of_both_inodes():
    found = made(
        snapshot(Edge.ARMED, 0),
        snapshot(Edge.POLL, 1, added={f"{LOOP0},12": 2}, all={"": 2}),
        snapshot(Edge.LAST, 2, inodes=(("/t/a", 13),), added={f"{LOOP0},12": 2, f"{LOOP0},13": 4}, all={"": 6}),
    )
    assert list(the_series(found, "added_bytes", "path:/t/a").value) == [0, 2 * 4096, 6 * 4096]


def test_of_too_many_files_no_part_passes_for_all_of_them():
    many = Subject(paths=tuple(f"/t/{number}" for number in range(MOST_FILES + 1)), directory="/t")
    looks = [snapshot(Edge.ARMED, 0), snapshot(Edge.LAST, 1, added={f"{LOOP0},12": 2}, all={"": 2})]
    found = OBSERVER.parse("h", "p", looks, many)
    assert {one.subject for one in found.series if one.metric == "added_bytes"} == {"filesystem:/t"}
    assert found.missing == {"tracepoints.added_bytes": "4,097 data files (limit 4,096)"}


def test_kinds_of_requests_are_told_by_their_letters():
    found = made(
        snapshot(Edge.ARMED, 0),
        snapshot(
            Edge.LAST,
            1,
            issued={f"{VDA},FF": 3, f"{VDA},WFS": 2, f"{VDA},WS": 9, f"{VDA},RA": 4, f"{LOOP0},FF": 50},
            bios={f"{VDA},FWS": 1, f"{VDA},FWFS": 1, f"{VDA},WFS": 2, f"{VDA},WS": 9},
            sectors={f"{VDA},FWFS": 8, f"{VDA},WFS": 16, f"{VDA},WS": 72, f"{VDA},R": 32, f"{VDA},RA": 8, f"{VDA},D": 1000},
        ),
    )
    told = {metric: the_series(found, metric, "device:vda").value[-1] for metric in ("flushes", "fua_writes", "own_flushes")}
    assert told == {"flushes": 3, "fua_writes": 2, "own_flushes": 4}
    assert the_series(found, "own_write_bytes", "device:vda").value[-1] == 96 * 512
    assert the_series(found, "own_read_bytes", "device:vda").value[-1] == 40 * 512
    assert the_series(found, "flushes", "device:loop0").value[-1] == 50


def test_syncs_pauses_and_what_was_lost():
    found = made(
        snapshot(Edge.ARMED, 0, lost=2),
        snapshot(Edge.LAST, 1, lost=3, syncs={"0": 5}, pauses={"0": 2}, paused={"0": 40}, all={"": 10}, added={"1,1": 6}),
    )
    told = {name: the_series(found, name).value[-1] for name in ("sync_calls", "dirty_pauses", "dirty_pause_ms", "lost_events")}
    assert told == {"sync_calls": 5, "dirty_pauses": 2, "dirty_pause_ms": 40, "lost_events": 7}


def test_a_page_that_came_between_two_maps_is_not_lost():
    found = made(
        snapshot(Edge.ARMED, 0),
        snapshot(Edge.POLL, 1, all={"": 12}, added={}),
        snapshot(Edge.POLL, 2, all={"": 20}, added={"1,1": 17}),
        snapshot(Edge.LAST, 3, all={"": 30}, added={"1,1": 27}),
    )
    assert list(the_series(found, "lost_events").value) == [0, 3, 3, 3]


def test_answers_are_put_together_from_what_is_printed():
    assert not made(Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw={})).series
    found = {"@added": {"1,2": 3}, "@all": 9, "@syncs": {}}
    assert bpftrace.maps_of(found) == {"added": {"1,2": 3}, "all": {"": 9}, "syncs": {}}
    assert bpftrace.kernel_number("254:3") == (254 << 20) + 3
    assert bpftrace.among("pid", (3, 3, 4)) == "pid == 3 || pid == 4"
    assert bpftrace.among("pid", ()) == "pid == -1"
    told = json.loads('{"type": "map", "data": {"@bios": {"5,RA": 2, "5,W": 1, "5,RA": 3}}}', object_pairs_hook=bpftrace.summed)
    assert told == {"type": "map", "data": {"@bios": {"5,RA": 5, "5,W": 1}}}


def test_who_cannot_use_it_is_told_how_and_too_many_processes_are_refused(tmp_path):
    assert "root" in bpftrace.obstacle(recorded("cgroup_v1"))
    assert OBSERVER.on_request
    with pytest.raises(EvidenceError, match="at most"):
        OBSERVER.beside.argv(HOST, Subject(pids=tuple(range(1, MOST_PROCESSES + 2))))


# ------------------------------------------------------------------------------------------------ really run

TRACEFS_BEFORE = Path("/proc/self/mountinfo").read_text().count(" - tracefs ")
WHY_NOT = bpftrace.obstacle(HOST)
real = pytest.mark.skipif(WHY_NOT is not None, reason=WHY_NOT or "")
WORK = """
import os, subprocess, sys
sys.stdin.readline()
path = sys.argv[1]
out = os.open(path + "/written", os.O_WRONLY | os.O_CREAT)
os.write(out, os.urandom(1 << 20))
os.fsync(out)
os.fdatasync(out)
source = os.open(path + "/read", os.O_RDONLY)
while os.read(source, 1 << 16):
    pass
subprocess.run(["sync", "-f", path], check=True)
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """What was counted of a process that writes, syncs twice, reads 2 MiB cold, and has a child that syncs."""
    if WHY_NOT is not None:
        pytest.skip(WHY_NOT)
    path = tmp_path_factory.mktemp("traced")
    (path / "read").write_bytes(os.urandom(2 * MIB))
    (path / "other").write_bytes(os.urandom(MIB))
    for name in ("read", "other"):
        HOST.syscalls.drop_file(str(path / name))
    worker = subprocess.Popen([sys.executable, "-c", WORK, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    subject = Subject(
        pids=(worker.pid,),
        paths=(str(path / "read"), str(path / "written")),
        directory=str(path),
        devices=stack.stack(HOST, str(path)),
    )
    ledger = Ledger(path / "ledger")
    companion = sampler.companion(HOST, ledger, OBSERVER.beside, subject)
    try:
        armed = looked(subject, companion, Edge.ARMED, 0)
        worker.stdin.write("\n")
        worker.stdin.flush()
        assert worker.stdout.readline() == "done\n"
        (path / "other").read_bytes()
        HOST.syscalls.syncfs(str(path))  # no sync(2), which writes back what other tests keep unwritten
        last = looked(subject, companion, Edge.LAST, 1)
    finally:
        companion.end()
        worker.communicate("\n")
    ledger.close()
    return path, subject, OBSERVER.parse("h", "p", [armed, last], subject), companion, ledger


def looked(subject, companion, edge, at_s):
    raw = {**OBSERVER.read(HOST, subject), **companion.read()}
    return Snapshot(edge=edge, at_ns=at_s * 10**9, took_ns=1, raw=raw)


@real
def test_real_pages_syncs_and_requests_are_those_of_the_process_and_its_child(watched):
    path, _, found, *_ = watched
    assert the_series(found, "added_bytes", f"path:{path}/read").value[-1] == 2 * MIB
    assert the_series(found, "added_bytes", f"path:{path}/written").value[-1] == MIB
    assert the_series(found, "added_bytes", f"filesystem:{path}").value[-1] >= 4 * MIB
    assert the_series(found, "lost_events").value[-1] < 64, "others may add a page between two maps that are printed"
    found = watched[2]
    assert the_series(found, "sync_calls").value[-1] == 3
    _, _, _, companion, ledger = watched
    assert not Path(f"/proc/{companion.process.pid}").exists()
    assert ledger.orphans(HOST) == ()
    mounts = Path("/proc/self/mountinfo").read_text()
    assert mounts.count(" - tracefs ") == TRACEFS_BEFORE


@real
def test_real_requests_of_the_process_are_its_own(watched):
    _, subject, found, *_ = watched
    if not subject.devices:
        pytest.skip("the directory for temporary files is on no block device")
    device = f"device:{subject.devices[0]}"
    assert 2 * MIB <= the_series(found, "own_read_bytes", device).value[-1] <= 3 * MIB + MIB // 2
    assert the_series(found, "own_write_bytes", device).value[-1] >= MIB


KILLED = """
import os, sys, time
from assay import sampler
from assay.hosts.local import Local
from assay.machine import bpftrace
from assay.undo.ledger import Ledger
from assay.observers.tracepoints import OBSERVER
from assay.records import Subject
bpftrace.ANSWER_S = 300.0
companion = sampler.companion(Local(), Ledger(sys.argv[1]), OBSERVER.beside, Subject(pids=(os.getpid(),), directory=sys.argv[1]))
print(companion.process.pid, flush=True)
time.sleep(600)
"""


@real
def test_it_dies_with_a_lab_that_is_killed(tmp_path):
    lab = subprocess.Popen([sys.executable, "-c", KILLED, tmp_path], stdout=subprocess.PIPE, text=True)
    tracer = int(lab.stdout.readline())
    assert not ended(tracer)
    lab.kill()
    lab.communicate()
    wait_ended(tracer)
