"""A/A: the same directory as baseline and candidate, metadata and cached reads in interleaved blocks.

How often the answer is "different and matters" (the level allows 5 in 100), and the spread of a trial on this machine: the noise
floor.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ASSAY = str(Path(sys.executable).parent / "assay")
ROUNDS = 8
EXPERIMENT = """
title = "A/A {round}"
question = "Are two names of one directory told apart?"
compare = "target"
repeats = 5
matters = "5 %"
seed = {round}
[targets.a]
kind = "directory"
path = "{folder}"
[targets.b]
kind = "directory"
path = "{folder}"
[workloads.files]
kind = "metadata"
count = 5000
operations = ["create", "stat", "unlink"]
[workloads.data]
kind = "bulk_io"
operations = ["read"]
size = "64 MiB"
cache = "warm"
[factors]
target = ["a", "b"]
"""


def weigh() -> Iterator[tuple[str, str]]:
    conclusions: list[str] = []
    spreads: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="weigh-") as folder:
        for number in range(ROUNDS):
            results = measured(Path(folder), number)
            conclusions += [comparison["conclusion"] for comparison in results["comparisons"]]
            for cell in results["cells"]:
                if cell["low"] and cell["high"]:
                    spreads.setdefault(cell["measure"], []).append(cell["high"] / cell["low"] - 1)
    yield "comparisons of the same with itself", str(len(conclusions))
    for conclusion in sorted(set(conclusions)):
        yield f"... said {conclusion}", str(conclusions.count(conclusion))
    for measure, found in spreads.items():
        yield f"{measure}: largest over smallest of 5 trials, median", f"+{sorted(found)[len(found) // 2]:.0%}"


def measured(folder: Path, number: int) -> dict:
    file = folder / f"{number}.toml"
    file.write_text(EXPERIMENT.format(round=number, folder=folder))
    done = subprocess.run(
        [ASSAY, "run", str(file), "--lab", str(folder / "lab"), "--json"], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)
