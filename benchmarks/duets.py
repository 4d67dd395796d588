"""Duets against blocks (docs/howto/duets.md): how long each takes to the same interval beside a neighbour that comes and goes.

Simulated: a neighbour works for 2 to 20 s and rests for 2 to 20 s, both uniform, and takes 40 % of the speed meanwhile. Values
scatter by 2 %, what a level has in one preparation by 1 %. A trial of a block loads for 5 s and takes 3 s beside that; a
preparation of a duet takes 3 s for each level, a slice loads for 1 s and takes 1.1 s beside that. Each experiment goes on, block
after block or preparation after preparation, until the half width of the 95 % interval is at most 5 %.

Real: reads from the page cache with records of 4 and of 5 KiB, beside two busy processes that come and go, by both designs in
turn. The number of pairs is the second argument.

    python benchmarks/duets.py [SIMULATED] [REAL]
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean, median

from assay.statistics.contrast import Contrast, interval, paired_ratio

ASSAY = str(Path(sys.executable).parent / "assay")
SIMULATED, REAL = 400, 5
GOAL, TRUTH = 0.05, 1.1
LEAST, MOST = 3, 400
ON_S, OFF_S, TAKEN = (2.0, 20.0), (2.0, 20.0), 0.4
SCATTER, APART = 0.02, 0.01
TRIAL_S, AROUND_TRIAL_S = 5.0, 3.0
SLICES, SLICE_S, AROUND_SLICE_S, PREPARED_S = 10, 1.0, 1.1, 3.0
FILE = """
title = "Duet"
compare = "read.record_size"
{design}
[targets.here]
kind = "directory"
path = "{home}"
[workloads.read]
kind = "bulk_io"
operations = ["random_read"]
size = "60 MiB"
record_size = "4 KiB"
duration = "{duration}"
[factors]
"read.record_size" = ["4 KiB", "5 KiB"]
[measures]
"read.random_read.bytes_per_s" = {{}}
"""
DESIGNS = {
    "blocks": ("repeats = 5", "10 s"),
    "duet": ('design = "duet"\nrepeats = 5\nslices = 10', "1 s"),
}
"""Name -> lines of the file, and how long each load lasts: both load for 100 s."""


class Neighbour:
    """When it works; asked for times that never go back."""

    def __init__(self, chance: random.Random) -> None:
        self.chance, self.on, self.until = chance, False, chance.uniform(*OFF_S)

    def worked_s(self, from_s: float, to_s: float) -> float:
        """How long of this time it worked."""
        worked = 0.0
        while from_s < to_s:
            while self.until <= from_s:
                self.on = not self.on
                self.until += self.chance.uniform(*(ON_S if self.on else OFF_S))
            end = min(to_s, self.until)
            worked, from_s = worked + (end - from_s) * self.on, end
        return worked

    def speed(self, from_s: float, to_s: float) -> float:
        """The mean speed of a load in this time, 1 without the neighbour."""
        return 1 - TAKEN * self.worked_s(from_s, to_s) / (to_s - from_s)


def block(chance: random.Random, neighbour: Neighbour, now_s: float) -> tuple[list[float], float]:
    """The logarithms of both levels by a trial each, in random order, and the time after them."""
    values = [0.0, 0.0]
    for level in chance.sample((0, 1), 2):
        began = now_s + AROUND_TRIAL_S
        now_s = began + TRIAL_S
        noise = chance.gauss(0, SCATTER) + chance.gauss(0, APART)
        values[level] = level * math.log(TRUTH) + math.log(neighbour.speed(began, now_s)) + noise
    return values, now_s


def preparation(chance: random.Random, neighbour: Neighbour, now_s: float) -> tuple[list[float], float]:
    """The means of the logarithms of both levels by their slices, and the time after them."""
    now_s += 2 * PREPARED_S
    apart, sums = [chance.gauss(0, APART) for _ in range(2)], [0.0, 0.0]
    for _ in range(SLICES):
        for level in chance.sample((0, 1), 2):
            began = now_s + AROUND_SLICE_S
            now_s = began + SLICE_S
            sums[level] += math.log(neighbour.speed(began, now_s)) + chance.gauss(0, SCATTER)
    return [total / SLICES + level * math.log(TRUTH) + apart[level] for level, total in enumerate(sums)], now_s


Unit = Callable[[random.Random, Neighbour, float], tuple[list[float], float]]


def until_precise(chance: random.Random, unit: Unit) -> tuple[float, Contrast]:
    """How long it takes to the goal, and what is known then."""
    neighbour, now_s = Neighbour(chance), 0.0
    base: list[float] = []
    other: list[float] = []
    while True:
        (first, second), now_s = unit(chance, neighbour, now_s)
        base.append(math.exp(first))
        other.append(math.exp(second))
        if len(base) >= LEAST:
            found = paired_ratio(base, other)
            low, high = interval(found, 0.95)
            if (high - low) / 2 <= math.asinh(GOAL) or len(base) == MOST:
                return now_s, found


def fixed(chance: random.Random, unit: Unit, count: int = 5) -> bool:
    """Whether the interval of so many holds the truth."""
    neighbour, now_s = Neighbour(chance), 0.0
    every = []
    for _ in range(count):
        values, now_s = unit(chance, neighbour, now_s)
        every.append([math.exp(value) for value in values])
    low, high = interval(paired_ratio(*(list(column) for column in zip(*every, strict=True))), 0.95)
    return low <= math.log(TRUTH) <= high


def measure(simulated: int = SIMULATED, real: int = REAL) -> Iterator[tuple[str, str]]:
    chance = random.Random(20261130)
    times = {}
    for name, unit in (("blocks", block), ("duet", preparation)):
        times[name] = median(until_precise(chance, unit)[0] for _ in range(simulated))
        held = sum(fixed(chance, unit) for _ in range(simulated))
        yield f"{name}, {simulated} simulated: median time to ±{GOAL:.0%}", f"{times[name]:.0f} s"
        yield f"{name}, {simulated} simulated: intervals of 5 that hold the truth", f"{held / simulated:.1%}"
    yield "duet against blocks, simulated time", f"{times['duet'] / times['blocks']:.2f}"
    if real:
        yield from of_real(real)


def of_real(pairs: int) -> Iterator[tuple[str, str]]:
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in DESIGNS}
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as home, neighbours():
        for number in range(pairs):
            for name in DESIGNS if number % 2 else reversed(DESIGNS):
                found[name].append(real_run(Path(home), name))
    for name, runs in found.items():
        width, took = fmean(width for width, _ in runs), fmean(took for _, took in runs)
        every = ", ".join(f"{width:.1%}" for width, _ in runs)
        yield f"{name}, {pairs} real: mean half width of the 95 % interval", f"{width:.1%} ({every}) in {took:.0f} s"
    widths, took = ([fmean(run[at] for run in found[name]) for name in ("duet", "blocks")] for at in (0, 1))
    yield "duet against blocks, real: time to the same interval", f"{(widths[0] / widths[1]) ** 2 * took[0] / took[1]:.2f}"


def real_run(home: Path, name: str) -> tuple[float, float]:
    """Half width of the interval (share) and how long the experiment took (s)."""
    lines, duration = DESIGNS[name]
    file = home / f"{name}.toml"
    file.write_text(FILE.format(design=lines, duration=duration, home=home))
    began = time.monotonic()
    words = [ASSAY, "run", str(file), "--json=-", "--lab", str(home / f"{name}-{began}"), "--progress", "none"]
    done = subprocess.run(words, capture_output=True, check=True, text=True)
    ratio = json.loads(done.stdout)["comparisons"][0]["ratio"]
    return math.log(ratio["high"] / ratio["low"]) / 2, time.monotonic() - began


@contextlib.contextmanager
def neighbours() -> Iterator[None]:
    """Two busy processes that come and go together."""
    over, chance = threading.Event(), random.Random(7)

    def live() -> None:
        while not over.wait(chance.uniform(*OFF_S)):
            busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2)]
            over.wait(chance.uniform(*ON_S))
            for process in busy:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()

    beside = threading.Thread(target=live)
    beside.start()
    try:
        yield
    finally:
        over.set()
        beside.join()


if __name__ == "__main__":
    for figure, value in measure(*map(int, sys.argv[1:])):
        print(f"{figure}: {value}", flush=True)
