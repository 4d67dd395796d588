"""Cold buffered reads cost what they cost a reader that drops and reads at once, and direct reads win as much as for C.

A guest that reports free pages gives memory that was freed before a wait back to its hypervisor: each page then costs several
times the CPU time. Elsewhere both readers agree anyhow.
"""

import json
import mmap
import os
import resource
import statistics
import subprocess

import pytest

from stage import against_c
from stage.assay_process import Bench
from stage.targets_host import HOST

MIB = 1 << 20
SIZE = 64 * MIB
TIMES = 4
FIGURES = ("cpu_ns_per_op", "bytes_per_s")
WITHIN = 2.0
"""Others take this disk and its CPUs at any moment; new memory costs eight to fifteen times the CPU time."""
TEXT = """
title = "Buffered or direct"
question = "Are cold reads faster with direct I/O?"
repeats = 4

[targets.here]
kind = "directory"
path = "{path}"

[workloads.w]
kind = "bulk_io"
operations = ["read"]
size = "256 MiB"
record_size = "1 MiB"
cache = "cold"

[factors]
"w.direct" = [false, true]

[measures]
"w.read.bytes_per_s" = {{ claim = {{ tier = "device", regime = "cold" }} }}
"w.read.cpu_ns_per_op" = {{}}
"""


def raw(path):
    """Drop the file and read it at once, in records of 1 MiB: the CPU time of a record in ns."""
    before = os.open(path, os.O_RDONLY)
    os.posix_fadvise(before, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(before)
    file, buffer = os.open(path, os.O_RDONLY), mmap.mmap(-1, MIB)
    buffer.write(bytes(MIB))
    used, at = resource.getrusage(resource.RUSAGE_SELF), 0
    while (count := os.preadv(file, [buffer], at)) > 0:
        at += count
    now = resource.getrusage(resource.RUSAGE_SELF)
    os.close(file)
    buffer.close()
    cpu_s = now.ru_stime + now.ru_utime - used.ru_stime - used.ru_utime
    return cpu_s * 1e9 / (at / MIB)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The lab's answer, and C's figures from before and after it."""
    folder = tmp_path_factory.mktemp("cold")
    ruler, own = against_c.built(folder), {(name, figure): [] for name in ("read", "direct") for figure in FIGURES}

    def by_c(numbers):
        for number in numbers:
            done = against_c.figures(ruler, folder / f"own-{number}", "stream", "direct")
            (folder / f"own-{number}" / "stream").unlink()
            for (name, figure), values in own.items():
                values.append(done[f"stream.{name}.{figure}"])

    try:
        by_c((1, 2, 3))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no direct I/O in {folder}: {error.stderr}")
    file = folder / "buffered.toml"
    file.write_text(TEXT.format(path=folder))
    done = Bench(folder).run("run", file, "--json")
    assert done.returncode == 0, done.stderr
    by_c((4, 5, 6))
    found = json.loads(done.stdout)
    cells = {(one["measure"], one["levels"]["w.direct"]): list(one["values"].values()) for one in found["cells"]}
    return cells, own


@pytest.mark.slow
def test_direct_reads_win_as_much_as_for_c(results):
    """Before, direct reads won 4.4 times where C says 1.0."""
    cells, own = results
    against_c.hold_all(
        (
            tuple(cells[f"w.read.{figure}", direct] for direct in (False, True)),
            tuple(own[name, figure] for name in ("read", "direct")),
        )
        for figure in FIGURES
    )


@pytest.mark.slow
def test_cold_buffered_reads_cost_no_more_than_those_of_a_raw_reader(results, tmp_path):
    path = tmp_path / "raw.data"
    path.write_bytes(os.urandom(SIZE))
    HOST.syscalls.drop_file(str(path))  # no sync(2), which writes back what other tests keep unwritten
    buffered = statistics.median(raw(path) for _ in range(TIMES))
    cpu_ns = statistics.median(results[0]["w.read.cpu_ns_per_op", False])
    assert cpu_ns <= 2 * WITHIN * buffered, "pages cost more than those of a raw reader"
