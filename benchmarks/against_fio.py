"""The load engine against the installed fio at the same settings, in interleaved pairs.

A pair is one run of each, in turns first; a run is two processes of different numbers of operations, whose difference is
free of start-up. Cost is the processor time of the whole process, user and system (wait4), since cycles need hardware counters;
where those are there, `perf stat` says cycles. fio runs with `norandommap` and its own clock, as cheap as it can with latencies.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from engine_process import EngineProcess

PAIRS = 15
FILE_BYTES = 256 << 20
FEW, MANY = 50_000, 1_050_000
RECORD = 4096
FIO = ("fio", "--name=w", "--rw=randread", "--bs=4k", "--norandommap=1", "--io_size=1000g", "--output-format=json")
BATCHED = ("--ioengine=io_uring", "--iodepth=32", "--iodepth_batch_submit=16", "--iodepth_batch_complete_min=16")
Cost = Callable[[int], float]


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure); says so and no more where there is no fio."""
    if shutil.which("fio") is None:
        yield "fio", "not installed here"
        return
    yield "fio", subprocess.run(["fio", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
        data = Path(folder) / "data"
        filled(data)
        yield from costs(data)
        yield from instructions(data)
        yield from same_disk(Path(folder))


def filled(data: Path) -> None:
    """A file of known size, in the page cache."""
    with data.open("wb") as file:
        for _ in range(FILE_BYTES >> 20):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())


def costs(data: Path) -> Iterator[tuple[str, str]]:
    """Processor time an operation of both, and the ratio of each pair."""
    for what, settings, words in (
        ("cached 4 KiB random pread, depth 1", {}, ("--ioengine=psync",)),
        ("cached 4 KiB random read, io_uring depth 32, batches of 16", {"path": "io_uring", "depth": 32, "batch": 16}, BATCHED),
    ):
        pairs = interleaved(lambda ops, s=settings: ours(data, s, ops), lambda ops, w=words: fios(data, w, ops))
        mine, theirs = (statistics.median(pair[place] for pair in pairs) for place in (0, 1))
        ratios = sorted(own / other for own, other in pairs)
        fifth = len(ratios) // 5
        yield (
            what,
            (
                f"{mine * 1e6:.2f} against {theirs * 1e6:.2f} CPU-s per million operations; ratio {statistics.median(ratios):.2f}"
                f" ({ratios[fifth]:.2f} to {ratios[-1 - fifth]:.2f} in the middle three fifths of {len(ratios)} pairs;"
                " informational, at most 0.85 in cycles wanted)"
            ),
        )


def interleaved(own: Cost, other: Cost) -> list[tuple[float, float]]:
    """Processor seconds an operation, start-up subtracted, in pairs whose order alternates."""
    pairs = []
    for number in range(PAIRS):
        first, second = (own, other) if number % 2 else (other, own)
        got = [per_operation(first), per_operation(second)]
        pairs.append((got[0], got[1]) if number % 2 else (got[1], got[0]))
    return pairs


def per_operation(cost: Cost) -> float:
    """The difference of many and few operations, for one."""
    few = cost(FEW)
    return (cost(MANY) - few) / (MANY - FEW)


def ours(data: Path, settings: Mapping[str, object], ops: int) -> float:
    """Processor seconds of a whole engine process."""
    with EngineProcess() as process:
        process.run("bulk", bulk(data, settings, ops))
    return process.cpu_s


def bulk(data: Path, settings: Mapping[str, object], ops: int) -> dict[str, object]:
    """Random reads of the whole file with repeats, as fio does without its map."""
    region = {"path": str(data), "offset": 0, "size": 0}
    return {"operation": "random_read", "regions": [region], "record_size": RECORD, "ops": ops, **settings}


def fios(data: Path, words: tuple[str, ...], ops: int) -> float:
    """Processor seconds of fio and its jobs."""
    argv = [*FIO, *words, "--invalidate=0", f"--filename={data}", f"--size={FILE_BYTES}", f"--number_ios={ops}"]
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"fio ended with status {process.returncode}: {' '.join(argv)}")
    return used.ru_utime + used.ru_stime


def instructions(data: Path) -> Iterator[tuple[str, str]]:
    """User instructions of fio by callgrind, as for our own in engine_cost; its jobs as threads of one process."""
    if shutil.which("valgrind") is None:
        return
    for what, words in (("psync", ("--ioengine=psync",)), ("io_uring, batches of 16", BATCHED)):
        counts = []
        for ops in (20_000, 60_000):
            argv = [
                *FIO,
                *words,
                "--thread",
                "--invalidate=0",
                f"--filename={data}",
                f"--size={FILE_BYTES}",
                f"--number_ios={ops}",
            ]
            under = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *argv]
            done = subprocess.run(under, capture_output=True, text=True, check=False)
            found = re.search(r"Collected : (\d+)", done.stderr)
            counts.append(int(found[1]) if found else None)
        known = None not in counts
        told = (
            f"{(counts[1] - counts[0]) / 40_000:.0f} user instructions (callgrind)"
            if known
            else "not known: fio does not run under valgrind"
        )
        yield f"fio, cached 4 KiB random read, {what}", told


def same_disk(folder: Path) -> Iterator[tuple[str, str]]:
    """Both on a direct loop device, with O_DIRECT: the device is the limit, so both must measure the same."""
    if os.geteuid():
        yield "direct loop device", "not measured: needs root"
        return
    image = folder / "image"
    filled(image)
    made = subprocess.run(["losetup", "--find", "--show", "--direct-io=on", image], capture_output=True, text=True, check=False)
    device = made.stdout.strip()
    if made.returncode:
        yield "direct loop device", f"not measured: {made.stderr.strip()}"
        return
    try:
        for what, settings, words in (
            ("psync", {}, ("--ioengine=psync",)),
            ("io_uring depth 32", {"path": "io_uring", "depth": 32, "batch": 1}, ("--ioengine=io_uring", "--iodepth=32")),
        ):
            pairs = [pair(Path(device), settings, words, number) for number in range(PAIRS)]
            yield f"direct loop device, 4 KiB random reads, {what}", told(pairs)
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def pair(device: Path, settings: Mapping[str, object], words: tuple[str, ...], number: int) -> tuple[float, float]:
    """Operations a second of both for two seconds each, the one or the other first."""
    runs = [lambda: our_rate(device, settings), lambda: fio_rate(device, words)]
    got = [run() for run in (runs if number % 2 else reversed(runs))]
    return (got[0], got[1]) if number % 2 else (got[1], got[0])


def our_rate(device: Path, settings: Mapping[str, object]) -> float:
    """Operations a second of the engine."""
    asked = {**bulk(device, settings, 0), "direct": True, "duration_ns": 2 * 10**9}
    del asked["ops"]
    with EngineProcess() as process:
        done = process.run("bulk", asked)
    return done["operations"]["random_read"]["count"] / (done["last_ns"] - done["first_ns"]) * 1e9


def fio_rate(device: Path, words: tuple[str, ...]) -> float:
    """Operations a second that fio says."""
    argv = [*FIO, *words, "--direct=1", f"--filename={device}", "--time_based", "--runtime=2", "--readonly"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]["iops"])


def told(pairs: list[tuple[float, float]]) -> str:
    """Medians, and the ratio with its interval over the pairs (t on logarithms)."""
    from assay.statistics.contrast import interval, paired_ratio

    mine, theirs = (statistics.median(one[place] for one in pairs) for place in (0, 1))
    found = paired_ratio([theirs for _, theirs in pairs], [mine for mine, _ in pairs])
    low, high = interval(found, 0.95)
    import math

    return (
        f"{mine:,.0f} against fio's {theirs:,.0f} operations/s; ratio {math.exp(found.difference):.3f} "
        f"({math.exp(low):.3f} to {math.exp(high):.3f}, 95 %, {len(pairs)} pairs)"
    )
