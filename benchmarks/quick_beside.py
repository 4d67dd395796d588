"""Whether the ranges of `assay quick` hold beside planted neighbours: CPU, disk, page cache, loopback.

Each turn measures a directory alone and then beside each neighbour, by the experiment of `quick` with smaller files. What is
true is what a measure came to alone: its range where it has one, else the interval of a SOUND or BOUNDED figure. A figure
beside a neighbour holds where it has a value in common with that: of a SOUND figure its interval, of a BOUNDED one its range.
Anything else claims nothing and is counted apart, with how often the range holds that is printed beside it. Of what is
claimed 95 of 100 must hold.

Finished runs are kept: what was ended goes on where it was, until there are so many turns.

    .venv/bin/python benchmarks/quick_beside.py --turns 5
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from assay.cli.run import experiment_text
from assay.statistics.intervals import proportion

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / ".build" / "quick-beside.jsonl"
ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
LEAST_HELD = 0.95
CLAIMED = ("SOUND", "BOUNDED")
SMALLER = (
    ("repeats = 5", "repeats = 3"),
    ('"256 MiB"', '"64 MiB"'),
    ("ops = 3000", "ops = 800"),
    ("ops = 12000", "ops = 4000"),
    ("count = 10000", "count = 4000"),
)
"""What differs from the experiment of `quick`."""
BURN = "while True: pass"
WRITE = """
import os, mmap
file = os.open("noise", os.O_RDWR | os.O_CREAT | os.O_DIRECT)
block = mmap.mmap(-1, 1 << 20)
while True:
    for place in range(64):
        os.pwrite(file, block, place << 20)
"""
READ = """
import os
open("cached", "wb").write(os.urandom(64 << 20))
file, block = os.open("cached", os.O_RDONLY), bytearray(1 << 20)
while True:
    for place in range(64):
        os.preadv(file, [block], place << 20)
"""
RECEIVE = """
import socket
server = socket.create_server(("127.0.0.1", 0))
open("port", "w").write(str(server.getsockname()[1]))
client, _ = server.accept()
while client.recv(1 << 20):
    pass
"""
SEND = """
import pathlib, socket, time
port = pathlib.Path("port")
while not (port.exists() and port.read_text()):
    time.sleep(0.01)
client = socket.create_connection(("127.0.0.1", int(port.read_text())))
while True:
    client.sendall(bytes(1 << 20))
"""
NEIGHBOURS: Mapping[str, Sequence[str]] = {
    "CPU": (BURN,),
    "disk": (WRITE,),
    "page cache": (READ,),
    "loopback": (RECEIVE, SEND),
}
"""What each neighbour does, one process a program."""
ALONE = "alone"
NOTHING, HOLDS, FAILS = "nothing known alone", "holds", "does not hold"
CAME_TO = (HOLDS, FAILS, "no claim, range holds", "no claim, range does not hold", "no range", NOTHING)


@contextlib.contextmanager
def beside(name: str, folder: Path) -> Iterator[None]:
    """The processes of a neighbour, until they are ended."""
    quiet = {"cwd": folder, "start_new_session": True, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([sys.executable, "-c", code], **quiet) for code in NEIGHBOURS.get(name, ())]
    try:
        yield
    finally:
        for child in started:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def cells(name: str) -> dict[str, dict]:
    """Measure -> verdict and the two ends of what is claimed, of one experiment beside a neighbour."""
    with tempfile.TemporaryDirectory(prefix="quick-beside-", dir=ROOT / ".build") as scratch:
        folder = Path(scratch)
        data, noise = folder / "data", folder / "noise"
        data.mkdir()
        noise.mkdir()
        text = experiment_text([data])
        for usual, smaller in SMALLER:
            text = text.replace(usual, smaller)
        (folder / "quick.toml").write_text(text)
        words = ["run", "quick.toml", "--json", "--progress", "none", "--lab", "lab"]
        with beside(name, noise):
            done = subprocess.run([*ASSAY, *words], cwd=folder, capture_output=True, text=True, check=False)
        assert done.stdout, done.stderr
        return {one["measure"]: ends(one) for one in json.loads(done.stdout)["cells"]}


def ends(cell: dict) -> dict:
    """Verdict, value, and the ends of the range of what is true, else of the interval."""
    estimate = cell["estimate"] or {}
    ranged = estimate.get("range")
    span = ranged or estimate
    known = {"verdict": cell["verdict"], "value": estimate.get("value"), "ranged": ranged is not None}
    return known | {"low": span.get("low"), "high": span.get("high")}


def kept() -> list[dict]:
    """The runs that are finished, in order."""
    return [json.loads(line) for line in KEPT.read_text().splitlines()] if KEPT.exists() else []


def turns(number: int, minutes: float) -> list[dict]:
    """Run what is left of so many turns, alone first; start nothing after the minutes."""
    ending = time.monotonic() + 60 * minutes
    order = [(turn, name) for turn in range(number) for name in (ALONE, *NEIGHBOURS)]
    KEPT.parent.mkdir(exist_ok=True)
    finished = {(one["turn"], one["beside"]) for one in kept()}
    for turn, name in order:
        if (turn, name) in finished or time.monotonic() > ending:
            continue
        line = json.dumps({"turn": turn, "beside": name, "cells": cells(name)})
        with KEPT.open("a") as out:
            out.write(f"{line}\n")
    return [one for one in kept() if one["turn"] < number]


def meets(one: dict, other: dict) -> bool:
    """Whether two claims have a value in common; an end that is missing is open."""
    lows = [end["low"] for end in (one, other) if end["low"] is not None]
    highs = [end["high"] for end in (one, other) if end["high"] is not None]
    return not lows or not highs or max(lows) <= min(highs)


def said(figure: dict, alone: dict) -> str:
    """What a figure beside a neighbour came to."""
    if alone["verdict"] not in CLAIMED and not alone["ranged"]:
        return NOTHING
    agrees = meets(figure, alone)
    if figure["verdict"] in CLAIMED:
        return HOLDS if agrees else FAILS
    if not figure["ranged"]:
        return "no range"
    return "no claim, range holds" if agrees else "no claim, range does not hold"


def compared(runs: Sequence[dict]) -> Iterator[tuple[str, str, str, dict, dict]]:
    """Neighbour, measure, what it came to, the figure beside it and alone."""
    alone = {one["turn"]: one["cells"] for one in runs if one["beside"] == ALONE}
    for one in runs:
        for measure, figure in one["cells"].items() if one["beside"] != ALONE and one["turn"] in alone else ():
            yield one["beside"], measure, said(figure, alone[one["turn"]][measure]), figure, alone[one["turn"]][measure]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5, metavar="N", help="so often alone and beside each neighbour")
    parser.add_argument("--minutes", type=float, default=float("inf"), metavar="N", help="start nothing more after N minutes")
    asked = parser.parse_args()
    found = list(compared(turns(asked.turns, asked.minutes)))
    count = Counter(what for _, _, what, _, _ in found)
    held, claimed = count[HOLDS], count[HOLDS] + count[FAILS]
    limits = proportion(held, claimed) if claimed else None
    interval = f" (95 % CI {100 * limits.low:.1f} % to {100 * limits.high:.1f} %)" if limits else ""
    print(f"{held} of {claimed} claims hold{interval}; {len(found)} figures beside neighbours")
    print(f"| beside | {' | '.join(CAME_TO)} |", f"|---|{'---|' * len(CAME_TO)}", sep="\n")
    for name in NEIGHBOURS:
        each = Counter(what for whom, _, what, _, _ in found if whom == name)
        print(f"| {name} | {' | '.join(str(each[what]) for what in CAME_TO)} |")
    for name, measure, what, figure, alone in found:
        if what in (FAILS, "no claim, range does not hold"):
            print(f"{measure} beside {name}, {what}: {figure}; alone {alone}")
    return 0 if not claimed or held >= LEAST_HELD * claimed else 1


if __name__ == "__main__":
    sys.exit(main())
