"""Traps that users of other benchmarks fall into, really run: `assay stat` says of each what its number is, nothing of its twin.

fio on a file that was only allocated, bonnie++ and iozone on files smaller than the memory, dd that stops its clock before the
data are written, `hdparm -T` taken for the speed of the disk.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from stage.stat_stage import MIB, PYTHON, SIZE, attached, dd, detach, failed, failing, filled, loop_disk, root, stat, verdict

pytestmark = root
MEGABYTES = SIZE // MIB


def needs(tool):
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"))


@pytest.fixture
def iozone(disk):
    """The real tool where it is there; else what does the same and prints its table."""
    real = shutil.which("iozone")
    if real is None:
        script = disk / "iozone"
        script.write_text(f'#!/bin/sh\nexec {PYTHON} {Path(__file__).parent / "stage" / "iozone_likeness.py"} "$@"\n')
        script.chmod(0o755)
    return [real or "./iozone", "-s", f"{MEGABYTES // 2}m", "-r", "1024k", "-i", "0", "-i", "1"]


# ------------------------------------------------------------------------------------------------------- fio


RANDOM_READS = "fio --name=x --filename=f --rw=randread --bs=64k --direct=1 --ioengine=psync"


@needs("fio")
def test_fio_reads_a_file_that_was_only_allocated_faster_than_any_disk(disk):
    (disk / "f").unlink(missing_ok=True)
    subprocess.run(["fallocate", "-l", str(SIZE), disk / "f"], check=True)
    words = (*RANDOM_READS.split(), f"--size={SIZE}")
    lie = stat(disk, *words)
    (disk / "f").unlink()
    filled(disk / "f")
    honest = stat(disk, *words)
    assert (lie["verdict"], "T06" in failed(lie)) == ("INVALID", True)
    assert "never written" in lie["label"]
    assert failed(honest) == {}
    assert honest["ladder"]["storage"]["read_bytes"] >= 0.999 * SIZE  # less what others read of fio's libraries meanwhile


# -------------------------------------------------------------------------------------------------- bonnie++


def bonnie(*more):
    """On a file of 64 MB; told that the machine has 32, or it would refuse."""
    return ["bonnie++", "-d", ".", "-s", str(MEGABYTES), "-r", "32", "-n", "0", "-f", "-u", "root", "-m", "x", *more]


@needs("bonnie++")
def test_bonnie_on_64_mb_reads_from_memory(disk):
    lie = stat(disk, *bonnie())
    read = {name: one for name, one in lie["measures"].items() if "read" in name and "modify" not in name}
    assert read, lie
    assert {one["verdict"] for one in read.values()} == {"INVALID"}
    assert all("T01" in failed(lie, name) for name in read)


@needs("bonnie++")
def test_bonnie_with_direct_io_reads_from_the_device(disk):
    honest = stat(disk, *bonnie("-D"))
    if honest["reported"] is None:
        pytest.skip("bonnie++ found 64 MB too fast here, and printed +++++")
    assert "T01" not in failed(honest)
    assert "read" not in honest["measures"] or verdict(honest, "read") != "INVALID"


# ---------------------------------------------------------------------------------------------------- iozone


def test_iozone_on_a_small_file_tells_the_speed_of_memory(disk, iozone):
    lie = stat(disk, *iozone)
    assert lie["reported"]["tool"] == "iozone"
    for name in ("read", "reread"):
        assert lie["measures"][name]["verdict"] == "INVALID"
        assert "T01" in failed(lie, name)
    for name in ("write", "rewrite"):
        assert lie["measures"][name]["verdict"] == "INVALID"
        assert "D06" in failed(lie, name)


def test_iozone_with_a_flush_in_its_times_writes_to_the_disk_and_reads_from_memory(disk, iozone):
    told = stat(disk, *iozone, "-e")
    for name in ("write", "rewrite"):
        assert failed(told, name) == {}
    for name in ("read", "reread"):
        assert set(failed(told, name)) == {"T01"}


def test_iozone_with_direct_io_and_no_flush_may_have_written_into_the_disks_own_cache(disk, iozone):
    told = stat(disk, *iozone, "-I")
    flushed = any(device["flushes"] for device in told["ladder"]["devices"])
    states = {finding["state"] for finding in told["findings"] if finding["rule"] == "D02"}
    assert set(failed(told)) == {"D02"} or (flushed and states == {"pass"}), "a sync of somebody else flushes this disk, too"
    assert {verdict(told, name) for name in ("read", "reread")} <= {"SOUND", "TAINTED", "UNVERIFIED"}


def test_iozone_with_direct_io_and_a_flush_tells_the_speed_of_the_device(disk, iozone):
    honest = stat(disk, *iozone, "-I", "-e")
    assert failed(honest) == {}
    assert set(honest["measures"]) == {"write", "rewrite", "read", "reread"}
    assert honest["ladder"]["storage"]["read_bytes"] >= SIZE


# -------------------------------------------------------------------------------------------------------- dd


def test_dd_stops_its_clock_before_the_data_are_written(disk):
    lie = stat(disk, *dd("/dev/zero", "out", f"count={MEGABYTES}"))
    (disk / "out").unlink()
    honest = stat(disk, *dd("/dev/zero", "out", f"count={MEGABYTES}", "conv=fsync"))
    (disk / "out").unlink()
    rate, corrected = lie["reported"]["write_bytes_per_s"], lie["corrected"]["write_bytes_per_s"]
    left = lie["ladder"]["page_cache"]
    assert left["dirty_at_exit_bytes"] > 0
    assert corrected < rate
    told = lie["reported"]["values"]
    assert corrected == pytest.approx(told["write.bytes"] / (told["write.elapsed_ns"] / 1e9 + left["drain_s"]))
    assert "D01" in failing(lie)
    if rate > 1.05 * corrected:
        assert (lie["verdict"], lie["measures"]["write"]["value"]) == ("INVALID", rate), "the printed figure is judged"
    assert "D01" not in failing(honest)
    assert failed(honest) == {}


# ---------------------------------------------------------------------------------------------------- hdparm


@pytest.fixture
def device(tmp_path):
    """A loop device of which every byte was written, with no file system: whoever makes one has parts of it zeroed by holes."""
    filled(tmp_path / "image", 2 * SIZE)
    loop = attached(tmp_path / "image")
    yield loop
    detach(loop)


@needs("hdparm")
def test_hdparm_of_the_cache_is_no_speed_of_the_disk(tmp_path, device):
    lie = stat(tmp_path, "hdparm", "-T", device, before=("--claim", "tier=device"))
    assert lie["verdict"] == "INVALID"
    assert set(failed(lie)) == {"T01"}


@needs("hdparm")
def test_hdparm_of_the_disk_is(tmp_path, device):
    honest = stat(tmp_path, "hdparm", "-t", "--direct", device, before=("--claim", "tier=device"))
    assert failed(honest) == {}
    assert honest["measures"]["read"]["claim"]["tier"] == "device"
