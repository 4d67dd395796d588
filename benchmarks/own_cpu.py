"""CPU seconds (user + system) of the lab's own Python process, children not counted, least of five runs, by wait4 of the process.

`quick` is measured on a temporary directory below the current one; what its engine uses is a child's and not counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ASSAY = str(Path(sys.executable).parent / "assay")
CODE = (
    "import resource, sys, atexit\n"
    "def told():\n"
    "    used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "    print(used.ru_utime + used.ru_stime, file=sys.stderr)\n"
    "atexit.register(told)\n"
    "from assay.cli.main import main\n"
    "main()\n"
)


def measure() -> Iterator[tuple[str, str]]:
    for words in (["--help"], ["catalogue"], ["explain", "T01"]):
        yield f"assay {' '.join(words)}", f"{least(words):.2f} CPU-s"
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as folder:
        yield "assay quick, the lab's own process", f"{used(['quick', folder, '--lab', os.path.join(folder, 'lab')]):.2f} CPU-s"


def least(words: list[str], runs: int = 5) -> float:
    return min(used(words) for _ in range(runs))


def used(words: list[str]) -> float:
    done = subprocess.run([sys.executable, "-c", CODE, *words], capture_output=True, text=True, check=True)
    return float(done.stderr.strip().splitlines()[-1])
