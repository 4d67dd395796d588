"""How long experiments take against what `assay plan` says before: without history, and after the first of them.

Each experiment is planned and run in a notebook of its own, so that nothing is known of this machine; then it is planned again
with another seed, which makes it another experiment of the same kind. Within a factor of 2 is wanted.

    python benchmarks/plan_time.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
HEAD = """
title = "A plan against its run"
question = "How long does it take?"
repeats = 3
seed = {seed}
"""
DIRECTORY = """
[targets.here]
kind = "directory"
path = "{folder}"
"""
LOOP = """
[targets.disk]
kind = "loopfs"
filesystem = "{filesystem}"
size = "512 MiB"
{limit}
"""
STREAM = """
[workloads.stream]
kind = "bulk_io"
operations = ["write", "read"]
size = "128 MiB"
record_size = "1 MiB"
flush = "end"
cache = "cold"
[measures]
"stream.read.bytes_per_s" = {}
"""
COMMITS = """
[workloads.commit]
kind = "bulk_io"
operations = ["random_write"]
size = "32 MiB"
record_size = "4 KiB"
flush = "each"
overwrite = true
ops = 2000
[measures]
"commit.random_write.ops_per_s" = {}
"""
READS = """
[workloads.reads]
kind = "bulk_io"
operations = ["random_read"]
size = "128 MiB"
record_size = "4 KiB"
direct = true
ops = 8000
[measures]
"reads.random_read.ops_per_s" = {}
"""
FILES = """
[workloads.files]
kind = "metadata"
object = "file"
count = 10000
operations = ["create", "list", "stat", "unlink"]
[measures]
"files.create.ops_per_s" = {}
"""
DURABLE = FILES.replace('"create", ', '"create", "fsync", ').replace("10000", "2000")
TIMED = READS.replace("ops = 8000", 'duration = "3 s"')
SLOW = 'limit = { read_bytes_per_s = "40 MB/s", write_bytes_per_s = "40 MB/s" }'
CASES = {
    "streams, a directory": DIRECTORY + STREAM,
    "commits, a directory": DIRECTORY + COMMITS,
    "random reads, a directory": DIRECTORY + READS,
    "random reads for 3 s, a directory": DIRECTORY + TIMED,
    "files, a directory": DIRECTORY + FILES,
    "files with fsync, xfs on a loop disk": LOOP.format(filesystem="xfs", limit="") + DURABLE,
    "files, ext4 on a loop disk": LOOP.format(filesystem="ext4", limit="") + FILES,
    "streams, a loop disk of 40 MB/s": LOOP.format(filesystem="ext4", limit=SLOW) + STREAM,
}


def measure() -> Iterator[tuple[str, str]]:
    for what, text in CASES.items():
        with tempfile.TemporaryDirectory(prefix="plan-time-", dir=Path.cwd()) as scratch:
            yield what, figure(Path(scratch), text)


def figure(folder: Path, text: str) -> str:
    (folder / "data").mkdir()
    first, second = (written(folder, text, seed) for seed in (1, 2))
    before = planned(folder, first)
    began = time.monotonic()
    subprocess.run([*ASSAY, "run", first, "--lab", "lab", "--progress", "none"], cwd=folder, check=True, capture_output=True)
    took = time.monotonic() - began
    after = planned(folder, second)
    by_trials = f"by another one's trials {after:.0f} s ({after / took:.2f})"
    return f"took {took:.0f} s; planned {before:.0f} s ({before / took:.2f}), {by_trials}"


def written(folder: Path, text: str, seed: int) -> Path:
    file = folder / f"experiment{seed}.toml"
    file.write_text(HEAD.format(seed=seed) + text.replace("{folder}", str(folder / "data")))
    return file


def planned(folder: Path, file: Path) -> float:
    """Seconds by `assay plan`."""
    done = subprocess.run(
        [*ASSAY, "plan", file, "--lab", "lab", "--json"], cwd=folder, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)["outlook"]["duration_ns"] / 1e9


def main() -> int:
    for what, words in measure():
        print(f"| {what} | {words} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
