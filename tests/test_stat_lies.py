"""`assay stat` on commands that lie and on their sound twins, really run on a loop disk: the right rule each time, or none."""

import shutil
import subprocess

import pytest

from stage.stat_stage import MIB, PYTHON, SIZE, cold, dd, device_of, failed, loop_disk, root, stat, verdict, warm

pytestmark = root
MMAP = """
import mmap, sys
with open(sys.argv[1], 'rb') as file:
    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    print(sum(pages[at] for at in range(0, len(pages), 4096)))
"""
SENDFILE = """
import os, sys
source, goal = os.open(sys.argv[1], os.O_RDONLY), os.open('/dev/null', os.O_WRONLY)
size, at = os.fstat(source).st_size, 0
while at < size:
    at += os.sendfile(goal, source, at, 1 << 20)
"""
SENDER = """
import os, socket
near, far = socket.socketpair()
if os.fork():
    far.close()
    source = os.open('data', os.O_RDONLY)
    while piece := os.read(source, 1 << 18):
        while piece:
            piece = piece[os.write(near.fileno(), piece):]
    near.close()
    os.wait()
else:
    near.close()
    goal = os.open('copy', os.O_RDWR | os.O_CREAT)
    while piece := os.read(far.fileno(), 1 << 18):
        os.write(goal, piece)
    os.unlink('copy')
    os._exit(0)
"""
THREADS = """
import os, threading
def work():
    source, goal = os.open('data', os.O_RDONLY), os.open('/dev/null', os.O_WRONLY)
    while piece := os.read(source, 1 << 20):
        os.write(goal, piece)
each = [threading.Thread(target=work) for _ in range(3)]
[one.start() for one in each]
[one.join() for one in each]
"""
TIMED = """
import sys, time
began = time.perf_counter()
with open(sys.argv[1], 'rb', buffering=0) as file:
    count = sum(len(block) for block in iter(lambda: file.read(1 << 20), b''))
print(f'{count * float(sys.argv[2])} bytes in {time.perf_counter() - began} s')
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"))


@pytest.fixture(scope="module")
def cached_disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"), direct="off")


READERS = {
    "dd": dd("data", "/dev/null"),
    "cat": ["cat", "data"],
    "a child of a child": ["sh", "-c", "sh -c 'cat data | wc -c'; true"],
    "sendfile": [PYTHON, "-c", SENDFILE, "data"],
}


@pytest.mark.parametrize("words", READERS.values(), ids=READERS)
def test_cold_reads_are_the_devices_and_warm_ones_are_of_memory(disk, words):
    cold(disk / "data")
    told = stat(disk, *words)
    assert failed(told) == {}
    assert verdict(told, "read") in ("SOUND", "BOUNDED", "TAINTED")
    assert told["ladder"]["storage"]["read_bytes"] >= SIZE
    warm(disk / "data")
    told = stat(disk, *words)
    assert told["verdict"] == "INVALID"
    assert set(failed(told)) == {"T01"}
    assert "page-cache bandwidth" in told["label"]
    assert told["ladder"]["page_cache"]["read_hit_share"] > 0.9


def test_a_direct_read_is_the_devices_also_where_the_pages_are_in_memory(disk):
    warm(disk / "data")
    told = stat(disk, *dd("data", "/dev/null", "iflag=direct"))
    assert failed(told) == {}


def test_a_direct_read_through_a_cached_loop_device_is_of_memory(cached_disk):
    for _ in range(2):  # the first fills the cache below
        told = stat(cached_disk, *dd("data", "/dev/null", "iflag=direct"))
    assert told["verdict"] == "INVALID"
    assert "T03" in failed(told)
    assert "T01" not in failed(told)


@pytest.mark.parametrize("how", ["holes", "fallocated"])
def test_files_that_were_never_written_are_read_as_zeros(disk, how):
    path = disk / how
    if how == "holes":
        with path.open("wb") as file:
            file.truncate(SIZE)
    else:
        subprocess.run(["fallocate", "-l", str(SIZE), path], check=True)
    told = stat(disk, *dd(how, "/dev/null"))
    path.unlink()
    assert told["verdict"] == "INVALID"
    assert "T06" in failed(told)


@pytest.mark.parametrize("prepare", [cold, warm])
def test_reads_by_mmap_are_never_sound_where_the_program_says_nothing(disk, prepare):
    prepare(disk / "data")
    told = stat(disk, PYTHON, "-c", MMAP, "data")
    assert verdict(told) in ("UNVERIFIED", "TAINTED")


def test_what_comes_through_a_pipe_is_no_warm_file(disk):
    with subprocess.Popen(["cat", "data"], cwd=disk, stdout=subprocess.PIPE) as cat:
        told = stat(disk, "md5sum", stdin=cat.stdout)
    assert failed(told) == {}
    assert verdict(told) in ("UNVERIFIED", "TAINTED")


PIPELINES = {
    "a pipe": "cat data | cat > /dev/null",
    "a compressor": "cat data | gzip -1 > /dev/null",
    "a file as input": "(cat < data) | cat > /dev/null",
}


@pytest.mark.parametrize("script", PIPELINES.values(), ids=PIPELINES)
def test_a_warm_file_is_seen_through_a_pipe_and_what_comes_through_the_pipe_is_none(disk, script):
    warm(disk / "data")
    told = stat(disk, "sh", "-c", script)
    assert told["measures"]["read"]["verdict"] == "INVALID"
    assert "T01" in failed(told)
    assert told["ladder"]["application"]["read_bytes"] == pytest.approx(SIZE, rel=0.05)
    assert told["ladder"]["calls"]["read_bytes"] > 1.9 * SIZE


def test_of_a_file_of_which_a_part_is_read_through_a_pipe_that_part_counts(disk):
    warm(disk / "data")
    told = stat(disk, "sh", "-c", "head -c 16777216 data | cat > /dev/null")
    assert told["ladder"]["application"]["read_bytes"] == pytest.approx(16 * MIB, rel=0.1)


def test_what_processes_send_each_other_by_a_pair_of_sockets_is_no_file(disk):
    """As rsync does on one machine: a sender, and a receiver that it forked."""
    warm(disk / "data")
    told = stat(disk, "/usr/bin/python3", "-I", "-S", "-c", SENDER, before=("--claim", "tier=device"))
    assert told["ladder"]["application"]["read_bytes"] == pytest.approx(SIZE, rel=0.1)
    assert told["ladder"]["calls"]["read_bytes"] > 1.9 * SIZE


def test_what_threads_of_one_program_read_and_write_to_nowhere_came_through_no_pipe(disk):
    warm(disk / "data")
    told = stat(disk, "sh", "-c", '/usr/bin/python3 -I -S -c "$0"; true', THREADS, before=("--claim", "tier=device"))
    assert told["ladder"]["application"]["read_bytes"] == pytest.approx(3 * SIZE, rel=0.1)


def test_a_copy_reads_and_writes(disk):
    cold(disk / "data")
    told = stat(disk, "cp", "data", "copy")
    (disk / "copy").unlink()
    assert failed(told) == {}
    assert set(told["measures"]) == {"read", "write"}
    assert told["ladder"]["page_cache"]["dirty_at_exit_bytes"] > 0
    assert told["corrected"]["write_bytes_per_s"] < told["measures"]["write"]["value"] * 1.001
    assert told["reported"] is None


WRITERS = {"fsync": ["conv=fsync"], "O_DSYNC": ["oflag=dsync"], "O_DIRECT": ["oflag=direct", "conv=fsync"]}


@pytest.mark.parametrize("more", WRITERS.values(), ids=WRITERS)
def test_a_writer_that_flushes_is_sound(disk, more):
    told = stat(disk, *dd("/dev/urandom", "out", "count=32", *more))
    (disk / "out").unlink()
    assert set(failed(told)) <= {"D01"}, "a slow flush of a busy disk may bound it"
    assert "flushed nothing" not in failed(told).get("D01", "")
    assert told["measures"]["write"]["verdict"] != "INVALID"
    assert told["ladder"]["page_cache"]["dirty_at_exit_bytes"] < MIB
    assert told["measures"]["write"]["claim"]["durability"] == "stable-media"


def test_what_is_removed_before_it_is_written_is_on_no_media(disk):
    told = stat(disk, "sh", "-c", "dd if=/dev/zero of=gone bs=1M count=64; rm gone")
    assert told["verdict"] == "INVALID"
    assert {"D01", "D06"} & set(failed(told))


@pytest.mark.parametrize("direction", ["read", "write"])
def test_a_boast_of_a_command_that_sleeps_is_proved_wrong(disk, direction):
    words = ("sh", "-c", "sleep 0.3; echo 4.0 GB/s")
    boast = ("--reported", "([0-9.]+) GB/s", "--unit", "GB/s", "--direction", direction)
    told = stat(disk, *words, before=boast, offline=True)
    assert told["verdict"] == "INVALID"
    assert "E05" in failed(told)
    assert told["measures"][direction]["bound"]["high"] < MIB


def test_a_boast_of_memory_is_not_sound(disk):
    words = ("sh", "-c", "sleep 0.3; echo 4.0 GB/s")
    how = ("--reported", "([0-9.]+) GB/s", "--unit", "GB/s", "--claim", "tier=client-cache")
    told = stat(disk, *words, before=how)
    assert verdict(told) in ("UNVERIFIED", "TAINTED")
    assert "that only it measured" in next(finding for finding in told["findings"] if finding["rule"] == "E05")["statement"]


@pytest.mark.parametrize(
    ("factor", "rules", "mistake"),
    [(1, set(), ""), (8, {"E05"}, "bits taken for bytes"), (1.048576, {"E05"}, "MiB taken for MB")],
)
def test_a_wrong_unit_is_found_and_named(disk, factor, rules, mistake):
    cold(disk / "data")
    pattern = ("--reported", "([0-9.]+) bytes", "--unit", "B", "--direction", "read")
    told = stat(disk, PYTHON, "-c", TIMED, "data", factor, before=pattern)
    assert set(failed(told)) & {"E05", "T01"} == rules | ({"T01"} if rules else set())
    statements = " ".join(one["statement"] for one in told["findings"] if one["rule"] == "E05")
    assert mistake in statements


def test_several_tools_count_while_all_of_them_ran(disk):
    cold(disk / "data")
    half = f"count={SIZE // MIB // 2}"
    script = f"dd if=data of=/dev/null bs=1M {half} & dd if=data of=/dev/null bs=1M {half} skip={SIZE // MIB // 2} & wait"
    told = stat(disk, "sh", "-c", script)
    assert set(failed(told)) <= {"W04", "S01"}  # how long both were at work is the machine's doing
    assert told["ladder"]["application"]["read_bytes"] == SIZE
    assert told["measures"]["read"]["value"] > 0.8 * SIZE / told["wall_s"]


@pytest.mark.skipif(shutil.which("hdparm") is None, reason="hdparm is not installed")
def test_hdparm_is_judged_as_what_it_says_it_measures(disk):
    told = stat(disk, "hdparm", "-T", device_of(disk))
    assert told["measures"]["cached_read"]["claim"]["tier"] == "client-cache"
    assert failed(told) == {}
