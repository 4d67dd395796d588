"""Every figure of `assay quick` against C and fio, in interleaved triples on several file systems.

A triple is the lab, `ruler.c` and fio, one after the other in turning order, each in a directory of its own. The lab runs the
workloads of `quick` once each as an experiment, with its audit, its layout and its way to empty the caches. `ruler.c` is the
shortest C that an expert would write: new data in each record, and memory that is there before the clock runs. fio runs the same
jobs after the same drop of the caches, with one buffer for all records. The ratio is the geometric mean of the ratios of the
triples with its 95 % interval: 0.95 to 1.05 is wanted, or a reason (docs/audit.md, held against C and fio).

`raw disk, loop` is a loop device without a file system, which the target `existing` reads past the cache. `assay load` is the
verb by itself, one call for each figure. A row names the load average (5 min) where others worked on the machine too.

    python benchmarks/against_others.py --times 6
"""

from __future__ import annotations

import argparse
import contextlib
import json
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path

from assay.statistics.intervals import geometric_mean

TIMES = 8
ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
IMAGE_BYTES = 3 << 30
MIB = 1 << 20
PLACES = {
    "here": None,
    "ext4, no journal, loop": ("mkfs.ext4", "-q", "-F", "-O", "^has_journal"),
    "ext4, journal, loop": ("mkfs.ext4", "-q", "-F"),
    "xfs, loop": ("mkfs.xfs", "-q", "-f"),
    "btrfs, loop": ("mkfs.btrfs", "-q", "-f"),
}
FIO = ("fio", "--name=w", "--output-format=json", "--fallocate=none", "--ioengine=psync", "--norandommap=1", "--thread")
FIO += ("--iomem_align=4k",)  # else a copy from memory takes up to twice as long
FIO_JOBS = {
    "stream.write.bytes_per_s": ("--filename=stream", "--rw=write", "--bs=1M", "--size=256M", "--end_fsync=1"),
    "stream.read.bytes_per_s": ("--filename=stream", "--rw=read", "--bs=1M", "--size=256M", "--invalidate=0"),
    "again.read.bytes_per_s": ("--filename=stream", "--rw=read", "--bs=1M", "--size=256M", "--invalidate=0"),
    "random.random_read.ops_per_s": (
        "--filename=stream", "--rw=randread", "--bs=4k", "--size=256M", "--number_ios=12000", "--direct=1",
    ),
    "commit.random_write.ops_per_s": (
        "--filename=commit", "--rw=randwrite", "--bs=4k", "--size=64M", "--number_ios=3000", "--fsync=1",
    ),
}  # fmt: skip
RAW_JOBS = {
    "raw.read.bytes_per_s": ("--rw=read", "--bs=1M", "--size=256M", "--direct=1"),
    "raw.random_read.ops_per_s": ("--rw=randread", "--bs=4k", "--size=256M", "--number_ios=12000", "--direct=1"),
}
LOADS = {
    "stream.write.bytes_per_s": ("operation=write", "flush=end", "record_size=1MiB"),
    "stream.read.bytes_per_s": ("operation=read", "cache=cold", "record_size=1MiB"),
    "random.random_read.ops_per_s": ("operation=random_read", "cache=cold", "direct=true", "ops=12000", "record_size=4KiB"),
}
RAW, LOAD = "raw disk, loop", "assay load"
RAW_TEXT = """
title = "A raw disk"
question = "What does it read past the cache?"
repeats = 1
[targets.disk]
kind = "existing"
path = "{device}"
[workloads.raw]
kind = "bulk_io"
operations = ["read"]
file = "{device}"
size = "256 MiB"
record_size = "1 MiB"
direct = true
[workloads.random]
kind = "bulk_io"
operations = ["random_read"]
file = "{device}"
size = "256 MiB"
record_size = "4 KiB"
direct = true
ops = 12000
[measures]
"raw.read.bytes_per_s" = {{}}
"random.random_read.ops_per_s" = {{}}
"""
FIO_NAMES = {"create": "filecreate", "stat": "filestat", "unlink": "filedelete"}
Figures = dict[str, float]
Turns = list[tuple[str, Callable[[Path], Figures]]]
"""Who takes turns, by name, each with what it does in a directory of its own."""


def measure() -> Iterator[tuple[str, str]]:
    yield from rows(TIMES, (*PLACES, RAW, LOAD))


def rows(times: int, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(place and figure, medians and ratios) of every place that can be had here."""
    with tempfile.TemporaryDirectory(prefix="against-others-", dir=Path.cwd()) as scratch:
        ruler = Path(scratch) / "ruler"
        source = Path(__file__).with_name("ruler.c")
        subprocess.run(["gcc", "-O3", "-march=native", "-Wall", "-Wextra", "-o", ruler, source], check=True)
        for name in names:
            found = raw_disk(ruler, Path(scratch), times) if name == RAW else file_system(ruler, Path(scratch), times, name)
            for what, figure in found:
                yield what, figure + under_load()


def under_load() -> str:
    """Name the load average of the machine where others worked on it too; empty otherwise."""
    load = os.getloadavg()[1]
    return f" (load average {load:.0f})" if load > 1 + (os.cpu_count() or 1) / 4 else ""


def file_system(ruler: Path, scratch: Path, times: int, name: str) -> Iterator[tuple[str, str]]:
    """The figures of `quick` on one file system, or those of `assay load` here."""
    make = PLACES.get(name)
    if make is not None and shutil.which(make[0]) is None:
        yield name, f"{make[0]} is not installed here"
        return
    with place(scratch, make) as folder:
        kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True).stdout
        turns = loads(ruler) if name == LOAD else quick(ruler)
        for figure, text in compared(turns, folder, times):
            yield f"{name} ({kind.strip()}): {figure}", text


def quick(ruler: Path) -> Turns:
    """The three that take turns for the figures of `quick`."""
    return [("lab", lab), ("C", lambda own: c(ruler, own)), ("fio", lambda own: fio(own, FIO_JOBS))]


def loads(ruler: Path) -> Turns:
    """The three that take turns for the figures of `assay load`."""
    jobs = {name: words for name, words in FIO_JOBS.items() if name in LOADS}
    return [("lab", load), ("C", lambda own: c(ruler, own, "stream", "random")), ("fio", lambda own: fio(own, jobs))]


def raw_disk(ruler: Path, scratch: Path, times: int) -> Iterator[tuple[str, str]]:
    """The figures of a disk without a file system."""
    with loop_device(scratch) as device:
        turns: Turns = [
            ("lab", lambda own: raw_lab(own, device)),
            ("C", lambda _: c(ruler, Path(device))),
            ("fio", lambda own: raw_fio(own, device)),
        ]
        with place(scratch, None) as folder:
            for figure, text in compared(turns, folder, times):
                yield f"{RAW}: {figure}", text


@contextlib.contextmanager
def place(scratch: Path, make: tuple[str, ...] | None) -> Iterator[Path]:
    """A new directory here, or on a file system in an image on a loop device."""
    mount = scratch / "place"
    mount.mkdir()
    if make is None:
        yield mount
        shutil.rmtree(mount)
        return
    with loop_device(scratch) as loop:
        subprocess.run([*make, loop], check=True)
        subprocess.run(["mount", loop, mount], check=True)
        try:
            yield mount
        finally:
            subprocess.run(["umount", mount], check=True)
            mount.rmdir()


@contextlib.contextmanager
def loop_device(scratch: Path) -> Iterator[str]:
    """A loop device on an image that is written in full: no block is given out under a clock."""
    image = scratch / "image"
    with image.open("wb") as file:
        for _ in range(IMAGE_BYTES // MIB):
            file.write(os.urandom(MIB))
        os.fsync(file)
    words = ["losetup", "-f", "--show", "--direct-io=on", str(image)]
    loop = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    try:
        yield loop
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
        image.unlink()


def compared(turns: Turns, folder: Path, times: int) -> Iterator[tuple[str, str]]:
    """Each figure: the lab's, C's and fio's median, and the two ratios."""
    seen: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in range(times):
        for name, run in turns[turn % 3 :] + turns[: turn % 3]:
            own = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent(folder)))
            for figure, value in run(own).items():
                seen[figure][name].append(value)
            for large in ("stream", "commit"):  # the names stay: the next creates are not to meet their inodes
                (own / large).unlink(missing_ok=True)
            print(folder.name, turn, name, file=sys.stderr, flush=True)
    for figure, by in seen.items():
        if not by["lab"]:
            continue  # a part that C does beside those that are compared
        of_c = ratio(by["lab"], by["C"])
        of_fio = f"; against fio {ratio(by['lab'], by['fio'])}" if by["fio"] else ""
        yield figure, f"{median(by['lab']):,.0f} against C's {median(by['C']):,.0f}; ratio {of_c}{of_fio}"


def parent(folder: Path) -> Path:
    """Where the runs' directories lie: spread over the disk (chattr +T), so that none meets the inodes that another removed."""
    spread = folder / "spread"
    if not spread.exists():
        spread.mkdir()
        subprocess.run(["chattr", "+T", spread], check=False, capture_output=True)
    return spread


def lab(own: Path) -> Figures:
    """The workloads of `quick` once, by `assay run`."""
    text = resources.files("assay.controls").joinpath("quick.toml").read_text(encoding="utf-8")
    target = f'\n[targets.here]\nkind = "directory"\npath = "{own}"\n'
    return by_experiment(own, text.replace("repeats = 5", "repeats = 1") + target)


def raw_lab(own: Path, device: str) -> Figures:
    """The two figures of a raw disk, by `assay run`."""
    found = by_experiment(own, RAW_TEXT.format(device=device))
    return {f"raw.{name.partition('.')[2]}": value for name, value in found.items()}


def load(own: Path) -> Figures:
    """Three figures of `quick`, each by a call of `assay load`."""
    found = {}
    for figure, words in LOADS.items():
        target = (f"path={own / 'stream'}", "size=256MiB", "--keep") if "write" in figure else (f"path={own / 'stream'}",)
        done = subprocess.run([*ASSAY, "load", "bulk_io", *target, *words, "--json"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        verdicts = {one["measure"].rpartition(".")[2]: one["value"] for one in json.loads(done.stdout)["verdicts"]}
        found[figure] = verdicts[figure.rpartition(".")[2]]
    return found


def by_experiment(own: Path, text: str) -> Figures:
    """The figures of one experiment of one trial."""
    file, notebook = own / "quick.toml", own / "lab"
    file.write_text(text)
    done = subprocess.run(
        [*ASSAY, "run", file, "--lab", notebook, "--json", "--progress", "none"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    verdicts = (run["verdicts"] for run in json.loads(done.stdout)["runs"])
    return {name: verdict["value"] for one in verdicts for name, verdict in one.items() if not name.endswith("_ns")}


def c(ruler: Path, own: Path, *parts: str) -> Figures:
    done = subprocess.run([ruler, own, *parts], capture_output=True, text=True, check=True)
    lines = (line.split() for line in done.stdout.splitlines())
    return {name: float(value) for name, value in lines if not name.endswith("cpu_ns_per_op")}


def raw_fio(own: Path, device: str) -> Figures:
    """The same jobs on a device; nothing where there is no fio."""
    if shutil.which("fio") is None:
        return {}
    done = {name: job_of([*FIO, f"--filename={device}", "--readonly", *words], own)["read"] for name, words in RAW_JOBS.items()}
    return {name: job["iops"] if name.endswith("ops_per_s") else job["bw_bytes"] for name, job in done.items()}


def fio(own: Path, jobs: Mapping[str, tuple[str, ...]]) -> Figures:
    """The same jobs; nothing where there is no fio."""
    if shutil.which("fio") is None:
        return {}
    found = {}
    for figure, words in jobs.items():
        if "commit" in figure:
            job_of([*FIO, *words[:1], "--rw=write", "--bs=4k", "--size=64M", "--end_fsync=1"], own)
        with held() if figure.startswith(("stream", "random")) else contextlib.nullcontext():
            if figure.startswith(("stream.read", "random")):
                os.sync()
                Path("/proc/sys/vm/drop_caches").write_text("3")
        job = job_of([*FIO, *words], own)["write" if "write" in figure else "read"]
        found[figure] = job["iops"] if figure.endswith("ops_per_s") else job["bw_bytes"]
    for operation, engine in FIO_NAMES.items() if jobs is FIO_JOBS else ():
        names = own / f"names-{operation}"
        names.mkdir()
        words = [*FIO[:4], f"--ioengine={engine}", "--nrfiles=10000", "--filesize=4k", "--openfiles=1", "--thread"]
        found[f"files.{operation}.ops_per_s"] = max(job_of(words, names)[way]["iops"] for way in ("read", "write"))
    return found


@contextlib.contextmanager
def held() -> Iterator[None]:
    """Memory that a guest may have given back to its host, in huge pages: fio would pay for it under its clock."""
    with mmap.mmap(-1, 512 * MIB) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for page in range(0, len(memory), mmap.PAGESIZE):
            memory[page] = 1
        yield


def job_of(words: list[str], folder: Path) -> dict:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def ratio(own: list[float], others: list[float]) -> str:
    mean = geometric_mean([mine / theirs for mine, theirs in zip(own, others, strict=True)], 0.95)
    span = "" if mean.low is None else f" ({mean.low:.2f} to {mean.high:.2f})"
    return f"{mean.value:.2f}{span}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=TIMES, metavar="N", help="triples in each place")
    parser.add_argument("--only", nargs="*", default=[*PLACES, RAW, LOAD], choices=[*PLACES, RAW, LOAD])
    asked = parser.parse_args()
    print("| what | figure |", "|---|---|", sep="\n")
    for what, figure in rows(asked.times, tuple(asked.only)):
        print(f"| {what} | {figure} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
