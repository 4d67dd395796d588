"""Which files a watched command touched, what of them is dirty at its end, and the drain."""

import contextlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from stage.assay_process import as_nobody, wait_until
from stage.mount_spaces import mount_space
from stage.watch_stage import DRIVER, MIB, filled, gauge, moved, of, root, watched


@root
def test_written_arguments_are_dirty_at_the_end_and_drained(room):
    with own_disk(room) as (place, _):

        def written():
            (place / "f").unlink(missing_ok=True)
            seen, *_ = watched(place, "dd", "if=/dev/zero", f"of={place}/f", "bs=1M", "count=32", "status=none")
            return seen if of(seen, place / "f")["dirty_bytes"] else None

        seen = wait_until(written)  # the kernel may write back all that is dirty before the look
        one = of(seen, place / "f")
        assert (one["written"], one["size_bytes"], one["cached_before_bytes"]) == (True, 32 * MIB, 0)
        assert one["dirty_bytes"] == seen["drained_bytes"] > 0
        assert gauge(seen, place / "f", "dirty_bytes") == [one["dirty_bytes"], 0]
        assert seen["drain_ns"] > 0
        assert seen["files_missing"] is None
        flushed, *_ = watched(place, "dd", "if=/dev/zero", f"of={place}/g", "bs=1M", "count=32", "conv=fsync", "status=none")
        assert of(flushed, place / "g")["dirty_bytes"] == 0
        assert gauge(flushed, place / "g", "dirty_bytes") == [0, 0]


@root
def test_files_that_no_argument_names_are_known(room):
    (room / "deep" / "er").mkdir(parents=True)
    filled(room / "source", 4 * MIB)
    script = "cat source source > deep/er/target; echo x > deep/gone; rm deep/gone"
    seen, *_ = watched(room, "sh", "-c", script)
    assert of(seen, room / "deep/er/target")["written"] is True
    assert of(seen, room / "deep/er/target")["size_bytes"] == 8 * MIB
    assert of(seen, room / "source")["written"] is False
    assert of(seen, room / "deep/gone") is None
    assert seen["files_missing"] is None
    assert seen["drained_bytes"] is not None


@root
def test_files_of_others_are_not_the_commands(room):
    stop = room / "stop"
    other = subprocess.Popen(["sh", "-c", f"while [ ! -e {stop} ]; do echo x > {room}/others; sleep 0.01; done"])
    try:
        wait_until((room / "others").exists)
        seen, *_ = watched(room, "sh", "-c", "sleep 0.3; echo y > mine")
    finally:
        stop.touch()
        other.wait(300)
    assert of(seen, room / "mine") is not None
    assert of(seen, room / "others") is None


@root
def test_what_is_removed_while_it_is_followed_is_not_kept_alive(room):
    script = "dd if=/dev/zero of=f bs=1M count=16 status=none; rm f"
    seen, *_ = watched(room, "sh", "-c", script)
    assert seen["account"]["cancelled_write_bytes"] >= 15 * MIB or moved(seen, "L9", "write") > 8 * MIB


def test_an_ordinary_user_has_less_evidence_and_no_crash():
    with as_nobody(DRIVER) as bench:
        bench.home.chmod(0o777)
        given = {"through": bench.through, "env": bench.environment()}
        one, status, _ = watched(bench.home, "dd", "if=/dev/zero", "of=f", "bs=1M", "count=8", "status=none", **given)
        hidden = "dd if=/dev/zero bs=1M count=8 status=none | sh -c 'mkdir -p d; cat > d/h; mv d/h d/i; cp d/i d/k; rm d/i'"
        two, *_ = watched(bench.home, "sh", "-c", hidden, **given)
        held = "import time; f = open('held', 'wb'); f.write(bytes(8 << 20)); f.flush(); time.sleep(0.5)"
        three, *_ = watched(bench.home, sys.executable, "-S", "-c", held, **given)
    assert status == 0
    assert one["account"]["wchar"] >= 8 * MIB
    assert (of(one, bench.home / "f")["written"], one["files_missing"]) == (True, None)
    assert one["drain_ns"] > 0
    if (late := of(two, bench.home / "d" / "k")) is None:  # on a busy machine it is open for long enough to be seen
        assert "are known" in two["files_missing"]
    else:
        assert late["written"] is True
    assert of(three, bench.home / "held")["written"] is True


@root
def test_a_block_device_is_touched_as_a_file_is(room):
    with (room / "image").open("wb") as file:
        file.truncate(32 * MIB)
    made = subprocess.run(["losetup", "-f", "--show", room / "image"], check=True, capture_output=True, text=True)
    loop = made.stdout.strip()
    try:
        seen, *_ = watched(room, "sh", "-c", f"dd if=/dev/zero of={loop} bs=1M count=8 status=none")
        named, *_ = watched(room, "dd", f"if={loop}", "of=/dev/null", "bs=1M", "status=none")
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
    assert (of(seen, loop)["written"], of(seen, loop)["size_bytes"]) == (True, 32 * MIB)
    assert seen["drain_ns"] is not None
    assert of(named, loop)["written"] is False
    assert [place["kind"] for place in named["places"] if place["address"] == loop] == ["device"]


@contextlib.contextmanager
def own_disk(room, rate=None):
    """A file system on a loop device, that nobody else flushes; it writes no faster than `rate` bytes/s."""
    image, point = room / "image", room / "mnt"
    point.mkdir()
    with image.open("wb") as file:
        file.truncate(128 * MIB)
    loop = subprocess.run(["losetup", "-f", "--show", image], check=True, capture_output=True, text=True).stdout.strip()
    rule = Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device")
    number = Path(f"/sys/block/{Path(loop).name}/dev").read_text().strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", loop], check=True)
        subprocess.run(["mount", loop, point], check=True)
        subprocess.run(["sync", "-f", point], check=True)
        if rate:
            rule.write_text(f"{number} {rate}\n")
        yield point, Path(loop).name
    finally:
        if rate:
            rule.write_text(f"{number} 0\n")
        subprocess.run(["umount", point], check=False)
        subprocess.run(["losetup", "-d", loop], check=True)


def test_places_are_those_of_the_directory_and_of_what_arguments_name(room):
    memory = Path("/dev/shm", room.name)
    try:
        seen, *_ = watched(room, "dd", "if=/dev/zero", f"of={memory}", "bs=1M", "count=4", "status=none")
    finally:
        memory.unlink(missing_ok=True)
    places = {place["address"]: place for place in seen["places"]}
    assert places["/dev/shm"]["filesystem"] == "tmpfs"
    assert places["/dev/shm"]["devices"] == []
    assert any(str(room).startswith(address) and place["devices"] for address, place in places.items())


@root
def test_a_file_system_that_the_command_mounts_is_one_whose_files_are_not_known(room):
    with (room / "image").open("wb") as file:
        file.truncate(64 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-F", room / "image"], check=True)
    (room / "mnt").mkdir()
    script = "mount -o loop image mnt; dd if=/dev/zero of=mnt/f bs=1M count=16 status=none"
    seen, status, _ = watched(room, "sh", "-c", script)
    assert status == 0
    assert "mounted during the command" in seen["files_missing"]


@root
def test_what_others_mount_meanwhile_hides_nothing_of_ours(room):
    image, point = room / "image", room / "mnt"
    with image.open("wb") as file:
        file.truncate(64 * MIB)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True)
    point.mkdir()
    script = "touch begun; while [ ! -e done ]; do sleep 0.02; done; dd if=/dev/zero of=f bs=1M count=8 status=none"
    with mount_space() as space, ThreadPoolExecutor() as pool:
        ours = pool.submit(watched, room, "sh", "-c", script, through=space.through(room))
        try:
            wait_until((room / "begun").exists)
            space.run("mount", "-o", "loop", image, point)
        finally:
            (room / "done").touch()
        seen, *_ = ours.result()
    assert of(seen, room / "f")["written"] is True
    assert seen["files_missing"] is None


@root
@pytest.mark.skipif(
    not Path("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").exists(), reason="no block throttle of control groups v1"
)
def test_the_drain_takes_as_long_as_the_disk_below_needs(room):
    with own_disk(room, 16 * MIB) as (point, loop):
        seen, *_ = watched(room, "dd", "if=/dev/zero", f"of={point}/f", "bs=1M", "count=24", "status=none")
        stack = next(one["devices"] for one in seen["places"] if one["address"] == str(point))
    assert stack[0] == loop
    assert len(stack) >= 2
    assert seen["drained_bytes"] >= 16 * MIB
    assert seen["drain_ns"] >= 0.9 * (seen["drained_bytes"] / (16 * MIB)) * 1e9
    uppers = {one["subject"] for one in seen["observations"]["readings"] if one["rung"] == "L8"}
    assert uppers == {f"device:{loop}"}
    assert moved(seen, "L8", "write", "drain") >= 0.9 * seen["drained_bytes"]
