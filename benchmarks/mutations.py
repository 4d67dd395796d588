"""Mutated captures of all kinds: the reader of captures must neither crash, nor contradict itself, nor take a second a megabyte.

    python benchmarks/mutations.py [--inputs N] [--minutes M] [--again]

Each input follows from its number alone (crates/dissect/tests/captures/changed.rs), so a run that was ended goes on where it was.
Another source of the reader begins at the first input. Times are CPU time of the thread that reads an input, whatever else runs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

from long import git

ROOT = Path(__file__).resolve().parent.parent
STATE = ROOT / ".build" / "mutations.json"
READER = ("crates/dissect", "crates/ldap", "Cargo.lock")
TEST = "changed::changed_captures_neither_crash_nor_stall"
INPUTS = 10_000_000
PIECE = 200_000
"""Inputs between two notes of the state."""
MOST_BYTES = 1 << 30
"""Address space of the test: an input that asks for more memory ends the piece with a message, and not the machine."""
SLOWEST = re.compile(r"the slowest ([0-9.]+) s a MB \(input (\d+), (\d+) bytes\)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=INPUTS, metavar="N", help=f"how many; {INPUTS:,} without this option")
    parser.add_argument("--minutes", type=float, metavar="M", help="begin no further piece after so many minutes")
    parser.add_argument("--again", action="store_true", help="begin at the first input")
    asked = parser.parse_args()
    if asked.again:
        STATE.unlink(missing_ok=True)
    print(figure(asked.inputs, asked.minutes))
    return 0


def figure(inputs: int = INPUTS, minutes: float | None = None) -> str:
    """Go on with the inputs, up to so many; what came of all of them. Raises CalledProcessError where one fails."""
    done = kept()
    ends = time.monotonic() + 60 * minutes if minutes else float("inf")
    test = built() if done["next"] < inputs else ""
    while done["next"] < inputs and time.monotonic() < ends:
        last = min(inputs, done["next"] + PIECE)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        slowest = max(piece(test, done["next"], last), done["slowest"])
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = done["cpu_s"] + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        done = {**done, "next": last, "slowest": slowest, "cpu_s": cpu_s, "memory": max(done["memory"], peak_bytes(after))}
        STATE.parent.mkdir(parents=True, exist_ok=True)
        STATE.write_text(json.dumps(done))
        print(f"{last:,} of {inputs:,}: {summary(done)}", file=sys.stderr, flush=True)
    return summary(done)


def peak_bytes(usage: resource.struct_rusage) -> int:
    """The largest resident size."""
    return usage.ru_maxrss * 1024


def summary(done: dict) -> str:
    """What came of the inputs so far."""
    rate, number, size = done["slowest"]
    return (
        f"{done['next']:,} inputs: no crash, the slowest {rate:.3f} CPU-s a MB (input {number:,} of {size:,} bytes); "
        f"{done['cpu_s']:.0f} CPU-s, at most {done['memory'] / 2**20:.0f} MiB"
    )


def kept() -> dict:
    """How far the inputs came with this source of the reader."""
    source = git("rev-parse", *(f"HEAD:{path}" for path in READER)) + git("diff", "HEAD", "--", *READER)
    found = json.loads(STATE.read_text()) if STATE.exists() else {}
    return (
        found
        if found.get("source") == source
        else {"source": source, "next": 0, "slowest": [0.0, 0, 0], "cpu_s": 0.0, "memory": 0}
    )


def built() -> str:
    """The test's executable."""
    words = ["cargo", "test", "--release", "--locked", "--quiet", "-p", "assay-dissect", "--test", "captures", "--no-run"]
    done = subprocess.run([*words, "--message-format=json"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    return next(one["executable"] for one in messages if one.get("executable"))


def piece(test: str, first: int, last: int) -> list[float]:
    """Run the inputs of these numbers: CPU seconds a megabyte, number and bytes of the slowest."""
    environment = {**os.environ, "ASSAY_MUTATIONS": f"{first}..{last}"}
    limit = f"--as={MOST_BYTES}"
    words = ["prlimit", limit, test, TEST, "--exact", "--nocapture"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    found = SLOWEST.search(done.stdout)
    if done.returncode or found is None:
        raise SystemExit(f"inputs {first:,} to {last:,}: {end_of(done.returncode)}. {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return [float(found[1]), int(found[2]), int(found[3])]


def end_of(status: int) -> str:
    """How a command ended: killed, it says nothing itself."""
    return f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


if __name__ == "__main__":
    raise SystemExit(main())
