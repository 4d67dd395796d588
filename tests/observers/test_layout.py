"""Where files lie: a recorded host that is flash, and real files beside what filefrag says of them."""

import shutil
import subprocess

import pytest

from assay.hosts.local import Local
from assay.machine.stack import rotates, stack
from assay.observers.layout import MOST_FILES, OBSERVER, sampled_files
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import look, the_series

SUBJECT = Subject(paths=("/a", "/b"), devices=("sda1", "sda"))


def snapshot(at, files, rotates=True):
    return Snapshot(
        edge=Edge.ARMED, at_ns=at, took_ns=1, raw={"rotates": rotates, "files": files} if rotates else {"rotates": False}
    )


def test_the_span_of_all_files_at_each_look():
    looks = [snapshot(0, {"/a": [4096, 8192], "/b": None}), snapshot(9, {"/a": [4096, 8192], "/b": [100, 50000]})]
    found = OBSERVER.parse("h", "p", looks, SUBJECT)
    assert list(the_series(found, "lowest_byte", "device:sda1").value) == [4096, 100]
    assert list(the_series(found, "highest_byte", "device:sda1").value) == [8192, 50000]
    assert not found.missing


def test_what_is_not_there_is_told(subtests):
    for looks, subject, why in [
        ([snapshot(0, {}, rotates=False)], SUBJECT, "no device below"),
        ([snapshot(0, {})], Subject(devices=("sda",)), "has no data files"),
        ([snapshot(0, {"/a": None})], SUBJECT, "reports no positions"),
    ]:
        with subtests.test(looks=looks, subject=subject, why=why):
            found = OBSERVER.parse("h", "p", looks, subject)
            assert not found.series
            assert why in found.missing["layout.lowest_byte"]


def test_of_many_files_an_even_sample():
    names = tuple(f"/d/{number:04d}" for number in range(1000))
    chosen = sampled_files(Subject(paths=names))
    assert len(chosen) == MOST_FILES
    assert chosen[0] == names[0]
    assert chosen[-1] > names[990]


def test_a_partition_is_asked_through_its_disk(tmp_path):
    disk = tmp_path / "sys/devices/sda"
    (disk / "queue").mkdir(parents=True)
    (disk / "sda1").mkdir()
    (disk / "sda1/partition").write_text("1\n")
    (disk / "queue/rotational").write_text("1\n")
    (tmp_path / "sys/class/block").mkdir(parents=True)
    (tmp_path / "sys/class/block/sda1").symlink_to("../../devices/sda/sda1")
    (tmp_path / "sys/class/block/sda").symlink_to("../../devices/sda")
    host = Local(name="recorded", root=tmp_path)
    assert rotates(host, "sda1")
    assert rotates(host, "sda")
    assert not rotates(host, "sdb")


@pytest.mark.skipif(shutil.which("filefrag") is None, reason="needs filefrag")
def test_real_files_lie_where_filefrag_says(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"x" * 3_000_000)
    subprocess.run(["sync", path], check=True)
    said = subprocess.run(["filefrag", "-b4096", "-v", path], capture_output=True, text=True, check=False)
    if said.returncode:
        pytest.skip("this file system has no map of extents")
    rows = [line.replace(":", " ").replace("..", " ").split() for line in said.stdout.splitlines() if line.strip()[:1].isdigit()]
    low, high = min(int(row[3]) for row in rows) * 4096, (max(int(row[4]) for row in rows) + 1) * 4096
    assert Local().syscalls.placed(str(path)) == (low, high)


def test_a_file_that_was_put_off_has_no_place_and_a_missing_one_is_refused(tmp_path):
    empty = tmp_path / "empty"
    empty.touch()
    assert Local().syscalls.placed(str(empty)) is None
    with pytest.raises(OSError, match="No such file"):
        Local().syscalls.placed(str(tmp_path / "none"))


def test_a_live_look_says_what_the_disk_is(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"x" * 100_000)
    devices = stack(Local(), str(tmp_path))
    raw = look(OBSERVER, Local(), Subject(paths=(str(path), "/none"), devices=devices), Edge.ARMED, 0).raw
    assert raw["rotates"] is bool(devices and rotates(Local(), devices[0]))
    if raw["rotates"]:
        assert raw["files"]["/none"] is None
