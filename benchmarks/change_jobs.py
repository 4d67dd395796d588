"""A change against its base in one job (docs/howto/ci.md): how often equal ones are called worse, how often 10 % more is found.

Simulated jobs repeat pairs until the interval is within 3 % to either side, 40 at most, as the file of the page does in its
budget. A neighbour disturbs three of ten runs: by up to 60 % of the elapsed time, by up to 10 % of the CPU time (caches and
threads of one core are shared); runs of one pair also share a speed. Real jobs take 150 s each and run a loop of the shell as
`product`, beside two busy processes and a writer to the same disk; their number is the second argument.

    python benchmarks/change_jobs.py [SIMULATED] [REAL]
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from assay.laboratory.gate import is_worse
from assay.statistics.contrast import interval, paired_ratio
from assay.statistics.signed_ranks import typical_ratio

ASSAY = str(Path(sys.executable).parent / "assay")
SIMULATED, REAL = 200, 20
MATTERS, PLANTED, WIDTH = 0.05, 0.10, 0.03
LEAST_PAIRS, MOST_PAIRS = 3, 40
TURNS = 100_000
BUDGET = "150 s"
FILE = """
title = "Change"
repeats = "until 3 %"
budget = "{budget}"
[targets.disk]
kind = "directory"
path = "{home}"
[workloads.product]
kind = "command"
argv = ["{home}/base"]
quiesce = "0 s"
[factors]
"product.argv" = [{{ name = "base", value = ["{home}/base"] }}, {{ name = "change", value = ["{home}/change"] }}]
[measures]
"product.command.cpu_ns_per_op" = {{ primary = true }}
"""
PRODUCT = "#!/bin/sh\ni=0\nwhile [ $i -lt {turns} ]; do i=$((i + 1)); done\n"
WRITER = "while :; do dd if=/dev/zero of={home}/noise bs=1M count=64 conv=fsync 2>/dev/null; done"


def measure(simulated: int = SIMULATED, real: int = REAL) -> Iterator[tuple[str, str]]:
    for name, most in (("elapsed time", 0.6), ("CPU time", 0.1)):
        for more, said in ((0.0, "equal versions called worse"), (PLANTED, "10 % more found")):
            chance = random.Random(20261130)
            found = [simulated_job(chance, most, more) for _ in range(simulated)]
            pairs = sorted(count for _, count in found)[simulated // 2]
            red = sum(worse for worse, _ in found)
            yield f"{name}, {simulated} simulated jobs: {said}", f"{red} ({red / simulated:.1%}), {pairs} pairs in the median"
    for more, said in ((0.0, "equal versions called worse"), (PLANTED, "10 % more found")) if real else ():
        ends = [real_job(more) for _ in range(real)]
        yield f"CPU time, {real} real jobs of {BUDGET} beside neighbours: {said}", f"{ends.count(4)}; {ends.count(0)} passed"


def simulated_job(chance: random.Random, most: float, more: float) -> tuple[bool, int]:
    """Whether a job calls the change worse, and after how many pairs."""
    base: list[float] = []
    change: list[float] = []
    while True:
        speed = chance.gauss(0, 0.1)
        for arm, factor in ((base, 1.0), (change, 1 + more)):
            neighbour = chance.uniform(0, most) if chance.random() < 0.3 else 0.0
            arm.append(factor * math.exp(speed + chance.gauss(0, 0.02)) * (1 + neighbour))
        if len(base) < LEAST_PAIRS:
            continue
        contrast = paired_ratio(base, change)
        low, high = (math.exp(end) for end in interval(contrast, 0.95))
        if (high / low) ** 0.5 - 1 <= WIDTH or len(base) == MOST_PAIRS:
            typical = typical_ratio(base, change, 0.95)
            ratios = ((math.exp(contrast.difference), low, high), *([typical] if typical else ()))
            return any(is_worse(value, ends, MATTERS, lower_better=True) for value, *ends in ratios), len(base)


def real_job(more: float) -> int:
    """The exit status of a job whose change takes so much more time."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        home = Path(name)
        for version, turns in (("base", TURNS), ("change", round(TURNS * (1 + more)))):
            (home / version).write_text(PRODUCT.format(turns=turns))
            (home / version).chmod(0o755)
        (home / "change.toml").write_text(FILE.format(home=home, budget=BUDGET))
        with neighbours(home):
            words = [ASSAY, "run", str(home / "change.toml"), "--gate=worse", "--lab", str(home / "lab"), "--progress", "none"]
            return subprocess.run(words, capture_output=True, check=False).returncode


@contextlib.contextmanager
def neighbours(home: Path) -> Iterator[None]:
    """Two busy processes and a writer, which end with the job."""
    commands = ["while :; do :; done"] * 2 + [WRITER.format(home=home)]
    started = [subprocess.Popen(["sh", "-c", one], process_group=0) for one in commands]
    try:
        yield
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    for figure, value in measure(*map(int, sys.argv[1:])):
        print(f"{figure}: {value}", flush=True)
