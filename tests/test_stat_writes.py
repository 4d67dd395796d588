"""`assay stat` on writes that are on no media, or on less of it than they say, and on their sound twins."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from stage.assay_process import Bench
from stage.stat_stage import CLAIM, MIB, SIZE, cold, dd, device_of, failed, failing, loop_disk, neighbour, root, stat, verdict

pytestmark = root
HALF = SIZE // 2
FLUSHED = dd("/dev/urandom", "out", f"count={HALF // MIB}", "conv=fsync")


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"))


@pytest.fixture(scope="module")
def cached_disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"), direct="off")


@pytest.fixture(scope="module")
def squeezing_disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"), filesystem="btrfs", options="compress-force=zstd")


@pytest.fixture(autouse=True)
def _no_file_is_left(request):
    yield
    for name in ("disk", "cached_disk", "squeezing_disk"):
        if name in request.fixturenames:
            (request.getfixturevalue(name) / "out").unlink(missing_ok=True)


# --------------------------------------------------------------------------------------------------- flushes


@pytest.mark.skipif(shutil.which("eatmydata") is None, reason="eatmydata is not installed")
def test_a_flush_that_a_library_swallows_is_charged_all_the_same(disk):
    honest = stat(disk, *FLUSHED)
    assert "D01" not in failing(honest)
    assert honest["ladder"]["page_cache"]["dirty_at_exit_bytes"] < MIB
    (disk / "out").unlink()
    told = stat(disk, "eatmydata", *FLUSHED)
    assert told["ladder"]["page_cache"]["dirty_at_exit_bytes"] > HALF / 2
    assert "D01" in failing(told)
    rate, corrected = told["reported"]["write_bytes_per_s"], told["corrected"]["write_bytes_per_s"]
    assert corrected < rate
    assert (told["verdict"] == "INVALID") == (rate > 1.05 * corrected)


def test_what_is_truncated_before_it_is_written_was_never_on_media(disk):
    told = stat(disk, "sh", "-c", f"dd if=/dev/urandom of=out bs=1M count={HALF // MIB}; : > out")
    assert told["verdict"] == "INVALID"
    assert "D06" in failed(told)


def test_what_is_removed_after_it_was_flushed_had_been_on_media(disk):
    told = stat(disk, "sh", "-c", f"dd if=/dev/urandom of=out bs=1M count={HALF // MIB} conv=fsync; rm out")
    assert failed(told) == {}


def test_many_files_are_drained_by_one_flush_of_their_file_system(disk):
    (disk / "many").mkdir()
    for at in range(200):
        (disk / "many" / f"{at}").write_bytes(b"x" * 20_000)
    told = stat(disk, "cp", "-r", "many", "copies")
    (device,) = (one for one in told["ladder"]["devices"] if one["name"].startswith("loop"))
    assert told["ladder"]["page_cache"]["dirty_at_exit_bytes"] > 3 * MIB
    assert told["ladder"]["page_cache"]["drain_s"] is not None
    assert 0 < device["drain_flushes"] < 20


def test_a_device_that_the_data_cannot_have_crossed_is_on_no_ladder(disk):
    """The working directory is on one device, the file on another."""
    other = disk.parent / "other"
    other.write_bytes(b"x" * HALF)
    told = stat(disk, *dd(other, "/dev/null", "iflag=direct"))
    other.unlink()
    assert told["ladder"]["devices"] or not told["ladder"]["storage"]["read_bytes"]
    assert device_of(disk).removeprefix("/dev/") not in [one["name"] for one in told["ladder"]["devices"]]


def test_a_copy_into_memory_is_written_to_no_device(disk):
    """The source is on a disk, so a device is on the ladder."""
    memory = disk / "memory"
    memory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "none", str(memory)], check=True)
    try:
        shown = Bench(disk).run("stat", "--", "cp", "data", "memory/copy").stderr
        assert "MB to tmpfs\n" in shown
        assert f"trap       {memory} is tmpfs: its files are in memory only" in shown
    finally:
        subprocess.run(["umount", str(memory)], check=True)
        memory.rmdir()


# ------------------------------------------------------------------------------------- what the file is made of


@pytest.mark.parametrize("how", ["holes", "fallocated", "written"])
def test_overwriting_what_was_never_written_allocates_too(disk, how):
    make = {"holes": ["truncate", "-s"], "fallocated": ["fallocate", "-l"], "written": None}[how]
    if make is None:
        (disk / "out").write_bytes(b"x" * HALF)
        cold(disk / "out")
    else:
        subprocess.run([*make, str(HALF), disk / "out"], check=True)
    told = stat(disk, *FLUSHED[:-1], "conv=notrunc,fsync", before=CLAIM)
    assert set(failed(told)) == (set() if how == "written" else {"T06"})
    assert verdict(told) in (("SOUND", "BOUNDED", "TAINTED", "UNVERIFIED") if how == "written" else ("TAINTED",))


def test_zeros_on_a_file_system_that_compresses_are_no_test_of_the_device(squeezing_disk):
    words = (f"count={SIZE // MIB}", "conv=fsync")
    told = stat(squeezing_disk, *dd("/dev/zero", "out", *words), before=CLAIM)
    assert (told["verdict"], "T07" in failed(told)) == ("INVALID", True)
    cold(squeezing_disk / "out")
    told = stat(squeezing_disk, *dd("out", "/dev/null"))
    assert told["verdict"] == "INVALID"
    assert "T07" in failed(told)


def test_dense_data_on_a_file_system_that_compresses_is_sound(squeezing_disk):
    told = stat(squeezing_disk, *FLUSHED, before=CLAIM)
    assert failed(told) == {}
    cold(squeezing_disk / "out")
    told = stat(squeezing_disk, *dd("out", "/dev/null"))
    assert failed(told) == {}


def test_a_clone_moves_no_bytes_and_is_no_write(squeezing_disk):
    cold(squeezing_disk / "data")
    told = stat(squeezing_disk, "cp", "--reflink=always", "data", "out")
    assert told["verdict"] not in ("SOUND", "BOUNDED")


# ------------------------------------------------------------------------------------------ what lies below


def test_flushed_writes_through_a_cached_loop_device_reach_the_disk_below(cached_disk):
    told = stat(cached_disk, *FLUSHED, before=CLAIM)
    assert failed(told) == {}


def test_what_a_neighbour_writes_neither_hides_a_lie_nor_makes_one(disk):
    with neighbour(disk) as process:
        assert Path(f"/proc/{process.pid}/cgroup").read_text() != Path("/proc/self/cgroup").read_text()
        told = stat(disk, *FLUSHED)
        assert failed(told) == {}
        (device,) = (one for one in told["ladder"]["devices"] if one["name"].startswith("loop"))
        assert device["write_bytes"] > 1.5 * HALF, "the neighbour wrote nothing"
        (disk / "out").unlink()  # ext4 begins at once to write what replaces a truncated file
        told = stat(disk, "sh", "-c", f"dd if=/dev/urandom of=out bs=1M count={HALF // MIB}; rm out")
        assert "D06" in failed(told)
        assert told["verdict"] == "INVALID"


def test_dev_null_is_no_trap_and_a_file_beside_it_is_one(tmp_path):
    """A mistyped device name makes a file in memory."""
    mistyped = Path(f"/dev/assay-test-{os.getpid()}")
    trap = "/dev is devtmpfs: its files are in memory only"
    assert trap not in Bench(tmp_path).run("stat", "--", "dd", f"if={tmp_path}/none", "of=/dev/null").stderr
    try:
        assert trap in Bench(tmp_path).run("stat", "--", "dd", "if=/dev/zero", f"of={mistyped}", "bs=1M", "count=8").stderr
    finally:
        mistyped.unlink(missing_ok=True)
