"""Reads through a mount in user space, really run: what the process behind it read is the layer below.

The kernel counts no storage reads of who reads through FUSE, so a cold read looks like one of memory, and a cached one like it.
"""

import json
import shutil
import subprocess

import pytest

from stage.assay_process import Bench, wait_until
from stage.rows import each
from stage.stat_stage import SIZE, cold, dd, failed, filled, loop_disk, root, stat, verdict

pytestmark = [root, pytest.mark.skipif(shutil.which("rclone") is None, reason="rclone is not installed")]


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("fuse"))


@pytest.fixture
def mount(disk):
    """A directory of the disk through rclone, which keeps nothing by itself."""
    point, source = disk / "mount", disk / "source"
    for one in (point, source):
        one.mkdir(exist_ok=True)
    filled(source / "data")
    process = subprocess.Popen(["rclone", "mount", source, point], stderr=subprocess.DEVNULL)
    try:
        wait_until(point.is_mount)
        yield point, source
    finally:
        wait_until(lambda: subprocess.run(["umount", point], check=False, capture_output=True).returncode == 0)
        process.wait(60)


def drop(mount):
    cold(mount[1] / "data")


def read(mount, *more):
    return stat(mount[0], *dd(mount[0] / "data", "/dev/null", *more), before=("--claim", "tier=device"))


@each("more", (), ("iflag=direct",))
def test_a_cold_read_comes_from_the_device_and_a_second_one_from_a_cache(mount, more):
    drop(mount)
    honest, again = read(mount, *more), read(mount, *more)
    assert "T01" not in failed(honest)
    assert verdict(honest) in ("SOUND", "TAINTED", "BOUNDED", "UNVERIFIED")
    assert honest["ladder"]["user_space"]["read_bytes"] >= SIZE
    assert (verdict(again), "T01" in failed(again)) == ("INVALID", True)
    assert "behind" in failed(again)["T01"]


def test_a_shell_that_does_not_name_the_file_is_not_accused(mount):
    drop(mount)
    words = ("--claim", "tier=device", "--json=told", "--", "sh", "-c", "cat moun*/data > /dev/null")
    Bench(mount[0].parent).run("stat", *words)
    told = json.loads((mount[0].parent / "told").read_text())
    (finding,) = (one for one in told["findings"] if one["rule"] == "T01")
    assert finding["state"] in ("unverified", "pass")


def test_what_is_written_through_it_may_be_in_the_memory_below(mount):
    """rclone flushes nothing when its client asks for it."""
    told = stat(
        mount[0], *dd("/dev/zero", mount[0] / "w", "count=32", "conv=fsync"), before=("--claim", "durability=stable-media")
    )
    assert verdict(told) not in ("SOUND", "BOUNDED")
    assert "overwritten in memory" not in " ".join(failed(told).values())
