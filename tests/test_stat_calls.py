"""`assay stat` on reads by calls that few tools count: splice, copy_file_range, rings, maps, children that nobody waits for."""

import shutil

import pytest

from stage.stat_stage import MIB, PYTHON, SIZE, cold, failed, failing, loop_disk, neighbour, root, stat, verdict, warm

pytestmark = root
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
SPLICE = """
import os, sys
source, goal = os.open(sys.argv[1], os.O_RDONLY), os.open('/dev/null', os.O_WRONLY)
out, into = os.pipe()
while left := os.splice(source, into, 1 << 16):
    while left:
        left -= os.splice(out, goal, left)
"""
COPY_RANGE = """
import os, sys
source, goal = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
while os.copy_file_range(source, goal, 1 << 24):
    pass
os.fsync(goal)
"""
DETACHED = "(sleep 0.2; exec cat data > /dev/null) & exit 0"
HALF_MAPPED = """
import mmap, sys
with open(sys.argv[1], 'rb') as file:
    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    print(sum(pages[at] for at in range(0, len(pages), 4096)))
    file.read(8 << 20)
"""


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    yield from loop_disk(tmp_path_factory.mktemp("stat"))


def fio(engine, *more):
    """Read all of the file once, what is in memory from there."""
    words = ("--name=x", "--filename=data", "--rw=read", "--bs=256k", f"--size={SIZE}", "--invalidate=0")
    return ["fio", *words, f"--ioengine={engine}", *more]


def silent(words):
    """The same without a word."""
    return ["sh", "-c", f"{' '.join(words)} > /dev/null"]


# ------------------------------------------------------------------------------ a program that says nothing


@pytest.mark.parametrize("script", [SPLICE, HALF_MAPPED], ids=["splice", "mmap and a little by calls"])
def test_reads_that_no_counter_of_calls_sees_are_never_sound(disk, script):
    cold(disk / "data")
    told = stat(disk, PYTHON, "-c", script, "data")
    assert failed(told) == {}
    assert told["ladder"]["storage"]["read_bytes"] >= SIZE
    warm(disk / "data")
    told = stat(disk, PYTHON, "-c", script, "data")
    assert told["verdict"] in ("UNVERIFIED", "TAINTED", "INVALID")


def test_a_copy_inside_the_kernel_is_counted_on_both_sides(disk):
    cold(disk / "data")
    told = stat(disk, PYTHON, "-c", COPY_RANGE, "data", "copy")
    assert failed(told) == {}
    assert told["ladder"]["storage"]["read_bytes"] >= SIZE
    assert told["ladder"]["storage"]["dirtied_bytes"] >= SIZE
    warm(disk / "data")
    told = stat(disk, PYTHON, "-c", COPY_RANGE, "data", "copy", before=("--claim", "tier=device"))
    (disk / "copy").unlink()
    assert set(failed(told)) == {"T01"}
    assert told["measures"]["read"]["verdict"] == "INVALID"
    assert verdict(told, "write") in ("SOUND", "BOUNDED", "TAINTED", "UNVERIFIED")


def test_a_child_that_nobody_waits_for_is_counted(disk):
    cold(disk / "data")
    told = stat(disk, "sh", "-c", DETACHED)
    assert failed(told) == {}
    assert told["ladder"]["storage"]["read_bytes"] >= SIZE
    warm(disk / "data")
    told = stat(disk, "sh", "-c", DETACHED)
    assert (told["verdict"], set(failed(told))) == ("INVALID", {"T01"})


# ------------------------------------------------------------------------------------ a program that speaks


@needs_fio
@pytest.mark.parametrize("engine", ["io_uring", "mmap"])
def test_what_a_ring_or_a_map_reads_is_judged_by_what_the_tool_says_it_read(disk, engine):
    cold(disk / "data")
    told = stat(disk, *fio(engine))
    assert failed(told) == {}
    assert told["reported"]["tool"] == "fio_text"
    warm(disk / "data")
    told = stat(disk, *fio(engine))
    assert (told["verdict"], {*failed(told)} - {"W01"}) == ("INVALID", {"T01"}), "fio counts whole milliseconds"
    warm(disk / "data")
    told = stat(disk, *silent(fio(engine)))
    assert verdict(told) in ("UNVERIFIED", "TAINTED")
    assert told["reported"] is None


@needs_fio
def test_a_direct_ring_passes_the_page_cache_by(disk):
    warm(disk / "data")
    told = stat(disk, *fio("io_uring", "--direct=1", "--iodepth=8"))
    assert failed(told) == {}
    assert told["ladder"]["storage"]["read_bytes"] >= SIZE


# ------------------------------------------------------------------------------------------- a noisy neighbour


def test_what_a_neighbour_writes_neither_hides_a_lie_nor_makes_one(disk):
    with neighbour(disk):
        cold(disk / "data")
        told = stat(disk, "dd", "if=data", "of=/dev/null", "bs=1M")
        assert failed(told) == {}
        assert told["ladder"]["storage"]["read_bytes"] == pytest.approx(SIZE, abs=4 * MIB)
        warm(disk / "data")
        told = stat(disk, "dd", "if=data", "of=/dev/null", "bs=1M")
        assert set(failed(told)) == {"T01"}
        assert told["measures"]["read"]["verdict"] == "INVALID"
    assert "T01" in failing(told)
