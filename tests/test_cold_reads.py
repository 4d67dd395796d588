"""Cold buffered reads cost what they cost a reader that drops and reads at once, and direct reads win no more than there.

A guest that reports free pages gives memory that was freed before a wait back to its hypervisor: each page then costs several
times the CPU time. Elsewhere both readers agree anyhow.
"""

import json
import mmap
import os
import resource
import statistics
import time
from dataclasses import dataclass

import pytest

from assay_process import Bench

MIB = 1 << 20
SIZE = 64 * MIB
TIMES = 4
WITHIN = 2.0
"""Others take this disk and its CPUs at any moment; new memory costs eight to fifteen times the CPU time."""
TEXT = """
title = "Buffered or direct"
question = "Are cold reads faster with direct I/O?"
repeats = 3

[targets.here]
kind = "directory"
path = "{path}"

[workloads.w]
kind = "bulk_io"
operations = ["read"]
size = "64 MiB"
record_size = "1 MiB"
cache = "cold"

[factors]
"w.direct" = [false, true]

[measures]
"w.read.bytes_per_s" = {{ claim = {{ tier = "device", regime = "cold" }} }}
"w.read.cpu_ns_per_op" = {{}}
"""


@dataclass(frozen=True)
class Reading:
    bytes_per_s: float
    cpu_ns_per_op: float


def raw(path, flags=0):
    """Drop the file and read it at once, in records of 1 MiB."""
    before = os.open(path, os.O_RDONLY)
    os.posix_fadvise(before, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(before)
    file, buffer = os.open(path, os.O_RDONLY | flags), mmap.mmap(-1, MIB)
    buffer.write(bytes(MIB))
    used, started, at = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter(), 0
    while (count := os.preadv(file, [buffer], at)) > 0:
        at += count
    took, now = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
    os.close(file)
    buffer.close()
    cpu_s = now.ru_stime + now.ru_utime - used.ru_stime - used.ru_utime
    return Reading(bytes_per_s=at / took, cpu_ns_per_op=cpu_s * 1e9 / (at / MIB))


def median(readings, figure):
    return statistics.median(getattr(one, figure) for one in readings)


@pytest.mark.slow
def test_cold_buffered_reads_are_as_quick_as_those_of_a_raw_reader(tmp_path):
    path = tmp_path / "raw.data"
    path.write_bytes(os.urandom(SIZE))
    os.sync()
    try:
        direct = [raw(path, os.O_DIRECT) for _ in range(TIMES)]
    except OSError as error:
        pytest.skip(f"no direct I/O in {tmp_path}: {error}")
    buffered = [raw(path) for _ in range(TIMES)]
    file = tmp_path / "buffered.toml"
    file.write_text(TEXT.format(path=tmp_path))
    done = Bench(tmp_path).run("run", file, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    buffered += [raw(path) for _ in range(TIMES)]
    direct += [raw(path, os.O_DIRECT) for _ in range(TIMES)]
    truth = median(direct, "bytes_per_s") / median(buffered, "bytes_per_s")
    rate = next(one["ratio"] for one in found["comparisons"] if one["measure"] == "w.read.bytes_per_s")
    assert rate["low"] <= WITHIN * truth, "direct reads win more than they do for a raw reader"
    cells = {(one["measure"], one["levels"]["w.direct"]): one["values"].values() for one in found["cells"]}
    cpu_ns = statistics.median(cells["w.read.cpu_ns_per_op", False])
    assert cpu_ns <= 2 * WITHIN * median(buffered, "cpu_ns_per_op"), "pages cost more than those of a raw reader"
