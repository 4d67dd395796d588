import subprocess
import sys

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.process_io import OBSERVER
from assay.records import Direction, Edge, Rung, Span, Subject
from stage.assay_process import wait_until
from stage.observer_looks import bumped, look, readings, recorded, replayed, the_series

IO = "/proc/4242/io"
SUBJECT = Subject(pids=(4242,))


def test_each_span_holds_what_was_moved_between_its_edges():
    change = {IO: bumped(r"(?m)^(read_bytes: )(\d+)", 8192)}
    evidence = OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), SUBJECT, {}, change), SUBJECT)
    l2 = readings(evidence, rung=Rung.CLIENT_CACHE, direction=Direction.READ)
    assert {one.span: one.bytes for one in l2} == {Span.BEFORE: 0, Span.CLOCK: 8192, Span.DRAIN: 0}
    assert all(one.subject == "pid:4242" and one.uncertainty_bytes == 4096 for one in l2)
    assert list(the_series(evidence, "read_bytes", "pid:4242").value) == [0, 0, 8192, 8192]
    assert not evidence.missing


def test_what_cannot_be_read_is_missing():
    subject = Subject(pids=(4242, 77))
    evidence = OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), subject), subject)
    assert {one.subject for one in evidence.readings} == {"pid:4242"}
    assert "/proc/77/io: No such file" in evidence.missing["L2.read"]
    assert OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), Subject()), Subject()).missing["L1.read"]


def test_a_falling_counter_or_unknown_text_is_refused(subtests):
    for change in [bumped(r"(rchar: )(\d+)", -1), lambda text: text.replace("rchar", "rcher"), lambda text: "x"]:
        with subtests.test(change=change), pytest.raises(EvidenceError, match=r"found .* expected"):
            OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), SUBJECT, {}, {IO: change}), SUBJECT)


def test_a_real_write_is_charged_at_dirtying_and_a_cold_read_to_storage(tmp_path):
    file = tmp_path / "data"
    code = (
        "import os, sys\n"
        "sys.stdin.readline()\n"
        f"fd = os.open({str(file)!r}, os.O_RDWR | os.O_CREAT)\n"
        "os.write(fd, os.urandom(1 << 20) * 4)\n"
        "print(flush=True); sys.stdin.readline()\n"
        "os.fsync(fd); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED); os.pread(fd, 4 << 20, 0)\n"
        "print(flush=True); sys.stdin.readline()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        subject = Subject(pids=(child.pid,))
        snapshots = [look(OBSERVER, Local(), subject, Edge.ARMED, 0)]
        for edge in (Edge.LAST, Edge.DRAINED):
            child.stdin.write(b"\n")
            child.stdin.flush()
            child.stdout.readline()
            snapshots.append(look(OBSERVER, Local(), subject, edge, len(snapshots)))
        child.communicate(b"\n")
    evidence = OBSERVER.parse("h", "p", snapshots, subject)
    kind = subprocess.run(["stat", "-fc", "%T", tmp_path], capture_output=True, text=True, check=True).stdout
    if "tmpfs" in kind:
        pytest.skip("the temporary directory is in memory: no device below it")
    written = readings(evidence, rung=Rung.CLIENT_CACHE, direction=Direction.WRITE, span=Span.CLOCK)[0].bytes
    assert 4 << 20 <= written < 5 << 20
    read = readings(evidence, rung=Rung.CLIENT_CACHE, direction=Direction.READ, span=Span.DRAIN)[0].bytes
    assert 4 << 20 <= read < 6 << 20
    assert readings(evidence, rung=Rung.SYSCALL, direction=Direction.WRITE, span=Span.CLOCK)[0].bytes >= 4 << 20


def test_open_files_of_a_process_and_of_what_it_started_are_held_against_their_limit():
    with subprocess.Popen(["sh", "-c", "ulimit -n 20; sleep 60 3< /dev/null & echo; wait"], stdout=subprocess.PIPE) as shell:
        shell.stdout.readline()
        subject = Subject(pids=(shell.pid,))
        wait_until(lambda: [4, 20] in OBSERVER.read(Local(), subject)["open files"].values())
        found = OBSERVER.parse("h", "p", (seen := look(OBSERVER, Local(), subject, Edge.ARMED, 0),), subject).series
        (sleeper,) = seen.raw["open files"].keys() - {str(shell.pid)}
        subprocess.run(["kill", sleeper], check=True)
    limits = {(one.metric, one.subject): list(one.value) for one in found}
    assert (limits["open_files", f"pid:{sleeper}"], limits["open_files_limit", f"pid:{sleeper}"]) == ([4], [20])
