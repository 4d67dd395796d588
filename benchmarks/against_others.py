"""Every figure of `assay quick` against C and fio, in interleaved triples on several file systems.

A triple is the lab, `ruler.c` and fio, one after the other in turning order, each in a directory of its own. The lab runs the
workloads of `quick` once each as an experiment, with its audit, its layout and its way to empty the caches. `ruler.c` is the
shortest C that an expert would write: new data in each record, and memory that is there before the clock runs. fio runs the same
jobs after the same drop of the caches, with one buffer for all records. The ratio is the geometric mean of the ratios of the
triples with its 95 % interval: 0.95 to 1.05 is wanted, or a reason (docs/audit.md, held against C and fio).

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
from collections.abc import Callable, Iterator
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
FIO_NAMES = {"create": "filecreate", "stat": "filestat", "unlink": "filedelete"}
Figures = dict[str, float]


def measure() -> Iterator[tuple[str, str]]:
    yield from rows(TIMES, tuple(PLACES))


def rows(times: int, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(place and figure, medians and ratios) of every place that can be had here."""
    with tempfile.TemporaryDirectory(prefix="against-others-", dir=Path.cwd()) as scratch:
        ruler = Path(scratch) / "ruler"
        source = Path(__file__).with_name("ruler.c")
        subprocess.run(["gcc", "-O3", "-march=native", "-Wall", "-Wextra", "-o", ruler, source], check=True)
        for name in names:
            make = PLACES[name]
            if make is not None and shutil.which(make[0]) is None:
                yield name, f"{make[0]} is not installed here"
                continue
            with place(Path(scratch), make) as folder:
                kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True, check=True).stdout
                for row in compared(ruler, folder, times):
                    yield f"{name} ({kind.strip()}): {row[0]}", row[1]


@contextlib.contextmanager
def place(scratch: Path, make: tuple[str, ...] | None) -> Iterator[Path]:
    """A new directory here, or on a file system in an image on a loop device."""
    mount = scratch / "place"
    mount.mkdir()
    if make is None:
        yield mount
        shutil.rmtree(mount)
        return
    image = scratch / "image"
    with image.open("wb") as file:  # written in full: no block is given out under a clock
        for _ in range(IMAGE_BYTES // MIB):
            file.write(bytes(MIB))
    words = ["losetup", "-f", "--show", "--direct-io=on", str(image)]
    loop = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    try:
        subprocess.run([*make, loop], check=True)
        subprocess.run(["mount", loop, mount], check=True)
        try:
            yield mount
        finally:
            subprocess.run(["umount", mount], check=True)
    finally:
        subprocess.run(["losetup", "-d", loop], check=True)
        image.unlink()
        mount.rmdir()


def compared(ruler: Path, folder: Path, times: int) -> Iterator[tuple[str, str]]:
    """Each figure: the lab's, C's and fio's median, and the two ratios."""
    seen: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    turns: list[tuple[str, Callable[[Path], Figures]]] = [("lab", lab), ("C", lambda own: c(ruler, own)), ("fio", fio)]
    for turn in range(times):
        for name, run in turns[turn % 3 :] + turns[: turn % 3]:
            own = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent(folder)))
            for figure, value in run(own).items():
                seen[figure][name].append(value)
            for large in ("stream", "commit"):  # the names stay: the next creates are not to meet their inodes
                (own / large).unlink(missing_ok=True)
            print(folder.name, turn, name, file=sys.stderr, flush=True)
    for figure, by in seen.items():
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
    file, notebook = own / "quick.toml", own / "lab"
    file.write_text(text.replace("repeats = 5", "repeats = 1") + target)
    done = subprocess.run(
        [*ASSAY, "run", file, "--lab", notebook, "--json", "--progress", "none"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    verdicts = (run["verdicts"] for run in json.loads(done.stdout)["runs"])
    return {name: verdict["value"] for one in verdicts for name, verdict in one.items() if not name.endswith("_ns")}


def c(ruler: Path, own: Path) -> Figures:
    done = subprocess.run([ruler, own], capture_output=True, text=True, check=True)
    return {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}


def fio(own: Path) -> Figures:
    """The same jobs; nothing where there is no fio."""
    if shutil.which("fio") is None:
        return {}
    found = {}
    for figure, words in FIO_JOBS.items():
        if "commit" in figure:
            job_of([*FIO, *words[:1], "--rw=write", "--bs=4k", "--size=64M", "--end_fsync=1"], own)
        with held() if figure.startswith(("stream", "random")) else contextlib.nullcontext():
            if figure.startswith(("stream.read", "random")):
                os.sync()
                Path("/proc/sys/vm/drop_caches").write_text("3")
        job = job_of([*FIO, *words], own)["write" if "write" in figure else "read"]
        found[figure] = job["iops"] if figure.endswith("ops_per_s") else job["bw_bytes"]
    for operation, engine in FIO_NAMES.items():
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
    parser.add_argument("--only", nargs="*", default=list(PLACES), choices=list(PLACES))
    asked = parser.parse_args()
    print("| what | figure |", "|---|---|", sep="\n")
    for what, figure in rows(asked.times, tuple(asked.only)):
        print(f"| {what} | {figure} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
