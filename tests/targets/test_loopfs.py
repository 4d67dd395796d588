import contextlib
import mmap
import os
import subprocess
import time
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import BusyError, RefusedError, TrialError, UsageError
from assay.machine.filesystems import FILESYSTEMS
from assay.machine.image import ELSEWHERE
from assay.machine.stack import backing_file
from assay.undo.ledger import Ledger
from stage.rows import each
from stage.targets_host import HOST, MIB, leftovers, needs_root, rules, setting

TARGET = catalogue.find("targets", "loopfs")
SIZES = {"ext4": 64 * MIB, "xfs": 320 * MIB, "btrfs": 128 * MIB}
SMALL = {"filesystem": "ext4", "size": 16 * MIB}
pytestmark = [
    pytest.mark.root,
    needs_root,
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="this kernel offers no loop devices"),
]


@pytest.fixture
def undo(tmp_path):
    (tmp_path / "scratch").mkdir()
    ledger = Ledger(tmp_path / "ledger")
    yield ledger
    assert not [cleaned for cleaned in ledger.unwind() if cleaned.state == "left"]
    ledger.close()
    assert leftovers(tmp_path / "scratch") == ([], [], [])


@pytest.fixture
def scratch(tmp_path):
    return tmp_path / "scratch"


def read_direct(path):
    """Bytes and seconds of reading a file with O_DIRECT."""
    buffer = mmap.mmap(-1, MIB)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECT)
    total, started = 0, time.monotonic()
    while count := os.readv(descriptor, [buffer]):
        total += count
    os.close(descriptor)
    return total, time.monotonic() - started


@each("filesystem", *FILESYSTEMS)
def test_life_of_a_target(undo, scratch, filesystem):
    given = setting(undo, scratch, filesystem=filesystem, size=SIZES[filesystem])
    assert TARGET.check(HOST, given) == ()
    TARGET.install(HOST, given)
    (image,) = scratch.glob(".assay-*/*.img")
    extents = HOST.syscalls.fiemap(str(image))
    assert (extents.unwritten_bytes, extents.hole_bytes) == (0, 0)
    for _ in range(2):
        place = TARGET.prepare(HOST, given)
        assert [path.name for path in Path(place.address).iterdir()] == [".assay-marker"], "a fresh file system for each trial"
        assert place.devices[0] == place.private["loop"]
        assert Path(f"/sys/block/{place.devices[0]}/loop/dio").read_text().strip() == "1"
        assert place.backing_files == (os.path.realpath(image),)
        told = dict(TARGET.facts(HOST, place))
        assert told["image.unwritten_bytes"] == "0", "mkfs left nothing preallocated and discarded nothing"
        assert told["loop.direct_io"] == "1"
        assert any(key.startswith("mkfs.") for key in told)
        data = Path(place.address, "data")
        data.write_bytes(b"x" * MIB)
        TARGET.drop_caches(HOST, place)
        assert HOST.syscalls.cachestat(str(data)).cached == 0
        assert data.read_bytes() == b"x" * MIB
        assert dict(TARGET.facts(HOST, place)) == told, "what a trial finds after its work is what stood there before it"
        TARGET.teardown(HOST, given, place)
        assert image.exists()
    TARGET.remove(HOST, given)


def test_features_are_the_same_each_time_and_mount_options_in_effect(undo, scratch):
    options = {"mkfs_options": ("-b", "4096", "-O", "^has_journal"), "mount_options": ("noatime", "nodelalloc")}
    given, seen = setting(undo, scratch, **SMALL, **options), []
    for _ in range(2):
        place = TARGET.prepare(HOST, given)
        seen.append(dict(TARGET.facts(HOST, place)))
        TARGET.teardown(HOST, given, place)
    assert seen[0] == seen[1]
    assert "has_journal" not in seen[0]["mkfs.features"]
    assert seen[0]["mkfs.block_bytes"] == "4096"
    assert {"noatime", "nodelalloc"} <= set(seen[0]["mount.options"].split(","))


@contextlib.contextmanager
def in_group(place, trial):
    """On control groups v2 this process is in the group of the limit, which names the trial (E03); v1 has none."""
    if (group := place.private["cgroup"]) is None:
        yield
        return
    assert f"/assay/trial-{trial}-" in group
    Path(group, "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        Path("/sys/fs/cgroup/cgroup.procs").write_text(str(os.getpid()))


def test_a_disk_of_known_speed(undo, scratch):
    """Reads of 3 s at 20 MB/s; a rule may let a tenth of a second go by at first."""
    limit = 20_000_000
    given = setting(
        undo, scratch, filesystem="ext4", size=96 * MIB, limit__read_bytes_per_s=limit, limit__write_bytes_per_s=49_999_001
    )
    assert TARGET.check(HOST, given) == ()
    place = TARGET.prepare(HOST, given)
    assert {(one.device, one.direction.value, one.bytes_per_s) for one in place.limits} == {
        (place.devices[0], "read", limit),
        (place.devices[0], "write", 49_999_001),
    }
    assert len(rules(49_999_001)) == 1
    data = Path(place.address, "data")
    HOST.run(["dd", "if=/dev/zero", f"of={data}", "bs=1M", "count=60", "oflag=direct", "status=none"])
    TARGET.drop_caches(HOST, place)
    with in_group(place, given.trial.id):
        total, seconds = read_direct(data)
    assert total == 60 * MIB
    assert total / seconds <= limit * (1.03 + 0.2 / seconds)
    TARGET.teardown(HOST, given, place)
    assert rules(49_999_001) == []


def test_a_sparse_buffered_control_lies_and_who_is_in_the_way_of_drop_caches_is_said(undo, scratch):
    given = setting(undo, scratch, filesystem="ext4", size=64 * MIB, image="sparse", direct_io=False)
    place = TARGET.prepare(HOST, given)
    told = dict(TARGET.facts(HOST, place))
    assert int(told["image.unwritten_bytes"]) > 32 * MIB
    assert told["loop.direct_io"] == "0"
    with Path(place.address, "open").open("w"), pytest.raises(BusyError, match="cannot unmount"):
        TARGET.drop_caches(HOST, place)
    TARGET.teardown(HOST, given, place)


@contextlib.contextmanager
def copying(work="/"):
    """A stranger in a new mount namespace, which copies every mount; it works in a directory."""
    elsewhere = ["unshare", "--mount", "--propagation", "private", "sh", "-c", f"cd {work}; exec cat"]
    with subprocess.Popen(elsewhere, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        stranger.stdin.write(b"here\n")
        stranger.stdin.flush()
        assert stranger.stdout.readline() == b"here\n"
        yield stranger
        stranger.stdin.close()


@each("filesystem", *FILESYSTEMS)
def test_a_copy_in_another_mount_namespace_keeps_nothing_warm_or_attached(undo, scratch, filesystem):
    given = setting(undo, scratch, filesystem=filesystem, size=SIZES[filesystem], image="sparse", direct_io=False)
    place = TARGET.prepare(HOST, given)
    with copying():
        TARGET.drop_caches(HOST, place)
        with copying():
            TARGET.teardown(HOST, given, place)
        place = TARGET.prepare(HOST, given)
    TARGET.teardown(HOST, given, place)


def test_who_works_in_a_copy_is_named_until_the_end_and_nothing_is_left(undo, scratch, monkeypatch):
    given = setting(undo, scratch, filesystem="ext4", size=SIZES["ext4"], image="sparse", direct_io=False)
    place = TARGET.prepare(HOST, given)
    for module in ("assay.targets.loopfs", "assay.machine.image", "assay.undo.kinds"):
        monkeypatch.setattr(f"{module}.PATIENCE_S", 0.2)
    with copying(place.address) as stranger:
        holder = rf"process {stranger.pid} \(cat\)"
        with pytest.raises(BusyError, match=holder):
            TARGET.drop_caches(HOST, place)
        assert Path(place.address).is_dir()
        with pytest.raises(BusyError, match=holder):
            TARGET.teardown(HOST, given, place)
        with pytest.raises(BusyError, match=f"still attached.*{holder}"):
            TARGET.prepare(HOST, given)
    monkeypatch.undo()
    place = TARGET.prepare(HOST, given)
    TARGET.teardown(HOST, given, place)


def test_every_mistake_is_said_at_once_before_anything_is_written(undo, scratch, tmp_path, monkeypatch):
    given = setting(undo, scratch, filesystem="xfs", size=16 * MIB + 1, scratch=str(tmp_path / "no"), needs_bytes=MIB * 100)
    assert len(TARGET.check(HOST, given)) == 3
    with pytest.raises(UsageError, match="whole MiB"):
        TARGET.prepare(HOST, given)
    given = setting(undo, scratch, filesystem="ext4", size=1 << 50)
    (mistake,) = TARGET.check(HOST, given)
    assert "plus 10 %" in mistake
    with pytest.raises(UsageError):
        TARGET.install(HOST, given)
    assert list(scratch.iterdir()) == []
    assert TARGET.limits({"limit.read_bytes_per_s": 5, "size": 3}) == ("read bytes per s 5",)
    monkeypatch.setattr("assay.machine.external_commands.location", lambda host, tool: None)
    found = TARGET.check(HOST, setting(undo, scratch, filesystem="btrfs", size=SIZES["btrfs"]))
    assert any("mkfs.btrfs" in text and "btrfs-progs" in text for text in found)


@each("knobs", {"mkfs_options": ("--nonsense",)}, {"mount_options": ("nonsense",)})
def test_a_step_that_fails_leaves_nothing_attached(undo, scratch, knobs):
    given = setting(undo, scratch, **SMALL, limit__read_bytes_per_s=49_999_003, **knobs)
    with pytest.raises(TrialError, match="nonsense"):
        TARGET.prepare(HOST, given)
    mounts, loops, _ = leftovers(scratch)
    assert (mounts, loops, rules(49_999_003)) == ([], [], [])


def test_direct_io_that_the_kernel_does_not_give_is_refused(undo, scratch, monkeypatch):
    given = setting(undo, scratch, **SMALL)
    monkeypatch.setattr("assay.machine.image.direct_io", lambda host, loop: False)
    with pytest.raises(RefusedError, match="dio = 0"):
        TARGET.prepare(HOST, given)
    assert leftovers(scratch)[1] == []


def test_a_device_that_is_taken_in_between_is_left_alone(undo, scratch, monkeypatch):
    other = scratch.parent / "other.img"
    other.write_bytes(b"\0" * MIB)
    taken = HOST.run(["losetup", "-f", "--show", str(other)]).stdout.strip()
    real, calls = HOST.run, []

    def late(argv, **options):
        """The first look is too old: somebody attached that device since."""
        if list(argv) == ["losetup", "-f"] and not calls:
            calls.append(1)
            return real(["echo", taken])
        return real(argv, **options)

    monkeypatch.setattr(HOST, "run", late)
    try:
        given = setting(undo, scratch, **SMALL)
        place = TARGET.prepare(HOST, given)
        assert f"/dev/{place.devices[0]}" != taken
        TARGET.teardown(HOST, given, place)
        assert backing_file(HOST, taken.removeprefix("/dev/")) == str(other)
    finally:
        monkeypatch.undo()
        HOST.run(["losetup", "-d", taken])


def test_an_image_that_could_not_be_detached_is_not_attached_a_second_time(undo, scratch):
    """As after a teardown that somebody kept from its end: two devices on one image would write over each other."""
    given = setting(undo, scratch, **SMALL)
    TARGET.install(HOST, given)
    (image,) = scratch.glob(".assay-*/*.img")
    kept = HOST.run(["losetup", "-f", "--show", str(image)]).stdout.strip()
    try:
        with pytest.raises(BusyError, match=f"still attached to {kept}"):
            TARGET.prepare(HOST, given)
        assert leftovers(scratch)[1] == [f"{kept.removeprefix('/dev/')} {image}"]
    finally:
        HOST.run(["losetup", "-d", kept])


def test_an_image_in_memory_is_refused_before_anything_is_made(undo, scratch):
    HOST.run(["mount", "-t", "tmpfs", "none", str(scratch)])
    try:
        (mistake,) = TARGET.check(HOST, setting(undo, scratch, **SMALL))
        assert mistake == f"{scratch}: tmpfs has no block device, so an image there proves nothing. {ELSEWHERE}, on a disk."
    finally:
        HOST.run(["umount", str(scratch)])
