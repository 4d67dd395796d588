"""The plug `crash_disk`: what was flushed outlives a cut of the power, the rest does not, and nothing of it stays."""

import os
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError, UsageError
from assay.machine import power
from assay.records import Action
from stage.served_stage import family, marked, needs, needs_fuse, needs_root
from stage.targets_host import HOST, MIB, leftovers, placing

TARGET = catalogue.find("targets", "crash_disk")
SIZES = {"ext4": 64 * MIB, "xfs": 320 * MIB}
pytestmark = [pytest.mark.root, needs_root, needs_fuse, needs("nbdkit", "nbdfuse", "losetup", "mkfs.ext4", "mkfs.xfs")]


@pytest.fixture
def powered(tmp_path):
    """What sets a disk up; its power is lost and comes back by `lose_power`."""
    mark = marked()
    with placing(TARGET, tmp_path) as placed:

        def give(**knobs):
            made = placed(size=SIZES[knobs.get("filesystem", "ext4")], **knobs)
            made.work = Path(made.place.address)
            return made

        give.check = placed.check
        yield give
    assert family(mark) == []


def lose_power(disk):
    disk.event(Action.POWER)
    disk.event(Action.POWER, "back")


def write(path, content, *, flush):
    with path.open("wb") as file:
        file.write(content)
        if flush:
            file.flush()
            os.fsync(file.fileno())


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_what_was_flushed_outlives_the_cut_the_rest_does_not_and_where_flushes_are_ignored_nothing_does(powered, filesystem):
    disk = powered(filesystem=filesystem)
    write(disk.work / "kept", b"k" * MIB, flush=True)
    write(disk.work / "gone", b"g" * MIB, flush=False)
    lose_power(disk)
    assert (disk.work / "kept").read_bytes() == b"k" * MIB
    gone = disk.work / "gone"
    assert not gone.exists() or gone.read_bytes() != b"g" * MIB
    write(disk.work / "later", b"l", flush=True)
    lose_power(disk)
    assert (disk.work / "later").read_bytes() == b"l", "it can lose its power again"
    disk.end()
    disk = powered(filesystem=filesystem, flush="ignored")
    assert disk.facts()["disk.flush"] == "ignored"
    write(disk.work / "kept", b"k" * MIB, flush=True)
    lose_power(disk)
    assert disk.work.is_dir(), "the file system and its directory were there before"
    assert not (disk.work / "kept").exists()


def test_it_is_cold_when_mounted_again_full_when_filled_and_without_power_every_write_fails(powered):
    disk = powered()
    write(disk.work / "a", b"a" * MIB, flush=True)
    TARGET.drop_caches(HOST, disk.place)
    assert (disk.work / "a").read_bytes() == b"a" * MIB
    facts = disk.facts()
    assert (facts["disk.flush"], facts["disk.cache"]) == ("honoured", "volatile")
    assert "has_journal" in facts["mkfs.features"]
    disk.event(Action.FILL)
    with pytest.raises(OSError, match="No space left"):
        write(disk.work / "more", b"m" * MIB, flush=True)
    disk.event(Action.FILL, "back")
    write(disk.work / "more", b"m" * MIB, flush=True)
    loop, *below = disk.place.devices
    assert TARGET.devices(HOST, disk.place) == (loop, *below)
    file = os.open(disk.work / "open", os.O_CREAT | os.O_WRONLY)
    disk.event(Action.POWER)
    with pytest.raises(OSError, match="Input/output error"):
        os.pwrite(file, b"x" * 4096, 0)
    with pytest.raises(TrialError, match="no power"):
        disk.event(Action.POWER)
    disk.event(Action.POWER, "back")
    write(disk.work / "new", b"n", flush=True)
    now, *rest = TARGET.devices(HOST, disk.place)
    os.close(file)
    assert rest == below
    assert now != loop, "the file that was still open kept the loop device of the former life"


def test_a_disk_whose_flushes_are_not_as_the_knob_says_is_refused(powered, monkeypatch, tmp_path):
    monkeypatch.setattr(power, "CACHE", {power.HONOURED: "unsafe", power.IGNORED: "writeback"})
    monkeypatch.setattr("assay.targets.crash_disk.found_flush", lambda host, disk: "ignored")
    with pytest.raises(TrialError, match="flush: set to honoured, and the running server has ignored"):
        powered()
    assert leftovers(tmp_path / "scratch") == ([], [], [])


def test_all_that_is_wrong_is_said_at_once(powered, monkeypatch):
    found = powered.check(size=9 * MIB + 1, filesystem="xfs", needs_bytes=MIB * 64)
    assert any("expected whole MiB, at least 300" in one for one in found)
    assert any("for what the workloads write" in one for one in found)
    monkeypatch.setitem(SIZES, "xfs", 9 * MIB + 1)
    with pytest.raises(UsageError, match="whole MiB"):
        powered(filesystem="xfs")
