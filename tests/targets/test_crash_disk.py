"""The plug `crash_disk`: what was flushed outlives a cut of the power, the rest does not, and nothing of it stays."""

import os
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError, UsageError
from assay.machine import power
from assay.records import Action
from assay.undo.ledger import Ledger
from served_stage import family, marked, needs, needs_fuse, needs_root
from targets_host import HOST, MIB, leftovers, setting

TARGET = catalogue.find("targets", "crash_disk")
SIZES = {"ext4": 64 * MIB, "xfs": 320 * MIB}
pytestmark = [pytest.mark.root, needs_root, needs_fuse, needs("nbdkit", "nbdfuse", "losetup", "mkfs.ext4", "mkfs.xfs")]


class Powered:
    """A disk that was set up, and its power."""

    def __init__(self, ledger, scratch, **knobs):
        size = SIZES[knobs.get("filesystem", "ext4")]
        self.setting = setting(ledger, scratch, **catalogue.resolved(TARGET.knobs, {"size": size, **knobs}))
        self.place = TARGET.prepare(HOST, self.setting)
        self.work = Path(self.place.address)

    def event(self, action, way):
        getattr(TARGET.events[action], way)(HOST, self.setting, self.place)

    def lose_power(self):
        self.event(Action.POWER, "do")
        self.event(Action.POWER, "back")


@pytest.fixture
def powered(tmp_path):
    ledger, scratch, made, mark = Ledger(tmp_path / "ledger"), tmp_path / "scratch", [], marked()
    scratch.mkdir()

    def give(**knobs):
        made.append(Powered(ledger, scratch, **knobs))
        return made[-1]

    yield give
    for one in made:
        TARGET.teardown(HOST, one.setting, one.place)
    assert ledger.unwind() == ()
    assert leftovers(scratch) == ([], [], [])
    assert family(mark) == []


def write(path, content, *, flush):
    with path.open("wb") as file:
        file.write(content)
        if flush:
            file.flush()
            os.fsync(file.fileno())


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_what_was_flushed_outlives_the_cut_and_the_rest_does_not(powered, filesystem):
    disk = powered(filesystem=filesystem)
    write(disk.work / "kept", b"k" * MIB, flush=True)
    write(disk.work / "gone", b"g" * MIB, flush=False)
    disk.lose_power()
    assert (disk.work / "kept").read_bytes() == b"k" * MIB
    gone = disk.work / "gone"
    assert not gone.exists() or gone.read_bytes() != b"g" * MIB
    write(disk.work / "later", b"l", flush=True)
    disk.lose_power()
    assert (disk.work / "later").read_bytes() == b"l", "it can lose its power again"


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_a_disk_that_ignores_flushes_loses_what_was_flushed(powered, filesystem):
    disk = powered(filesystem=filesystem, flush="ignored")
    assert dict(TARGET.facts(HOST, disk.place))["disk.flush"] == "ignored"
    write(disk.work / "kept", b"k" * MIB, flush=True)
    disk.lose_power()
    assert disk.work.is_dir(), "the file system and its directory were there before"
    assert not (disk.work / "kept").exists()


def test_without_power_every_write_fails_and_a_file_that_is_still_open_keeps_nobody_from_going_on(powered):
    disk = powered()
    file = os.open(disk.work / "open", os.O_CREAT | os.O_WRONLY)
    disk.event(Action.POWER, "do")
    with pytest.raises(OSError, match="Input/output error"):
        os.pwrite(file, b"x" * 4096, 0)
    with pytest.raises(TrialError, match="no power"):
        disk.event(Action.POWER, "do")
    disk.event(Action.POWER, "back")
    write(disk.work / "new", b"n", flush=True)
    os.close(file)


def test_its_devices_are_those_of_its_present_life(powered):
    """A file that is still open keeps the loop device of the former life."""
    disk = powered()
    loop, *below = disk.place.devices
    assert TARGET.devices(HOST, disk.place) == (loop, *below)
    file = os.open(disk.work / "open", os.O_CREAT | os.O_WRONLY)
    disk.lose_power()
    now, *rest = TARGET.devices(HOST, disk.place)
    os.close(file)
    assert rest == below
    assert now != loop


def test_cold_means_mounted_again_and_facts_name_the_file_system(powered):
    disk = powered()
    write(disk.work / "a", b"a" * MIB, flush=True)
    TARGET.drop_caches(HOST, disk.place)
    assert (disk.work / "a").read_bytes() == b"a" * MIB
    facts = dict(TARGET.facts(HOST, disk.place))
    assert (facts["disk.flush"], facts["disk.cache"]) == ("honoured", "volatile")
    assert "has_journal" in facts["mkfs.features"]


def test_a_full_file_system_has_no_room_for_a_block_and_gets_it_back(powered):
    disk = powered()
    disk.event(Action.FILL, "do")
    with pytest.raises(OSError, match="No space left"):
        write(disk.work / "more", b"m" * MIB, flush=True)
    disk.event(Action.FILL, "back")
    write(disk.work / "more", b"m" * MIB, flush=True)


def test_a_disk_whose_flushes_are_not_as_the_knob_says_is_refused(powered, monkeypatch, tmp_path):
    monkeypatch.setattr(power, "CACHE", {power.HONOURED: "unsafe", power.IGNORED: "writeback"})
    monkeypatch.setattr("assay.targets.crash_disk.found_flush", lambda host, disk: "ignored")
    with pytest.raises(TrialError, match="flush: set to honoured, and the running server has ignored"):
        powered()
    assert leftovers(tmp_path / "scratch") == ([], [], [])


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    wanted = setting(
        None, tmp_path, **catalogue.resolved(TARGET.knobs, {"size": 9 * MIB + 1, "filesystem": "xfs"}), needs_bytes=MIB * 64
    )
    found = TARGET.check(HOST, wanted)
    assert any("expected whole MiB, at least 300" in one for one in found)
    assert any("for what the workloads write" in one for one in found)
    with pytest.raises(UsageError, match="whole MiB"):
        TARGET.prepare(HOST, wanted)
