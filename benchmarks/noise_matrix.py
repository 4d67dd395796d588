"""Planted neighbours against the verdicts: who harms a load by a ruler of its own, and what the audit says of it.

Each turn has a run of the laboratory beside each neighbour and one alone, in rotating order. The ruler is the ratio of the
figures beside a neighbour and alone, of all turns: harmful where its 95 % interval is beyond what matters, harmless where it is
within. Of harmless neighbours at most 5 % of the runs may lose their verdict to noise; of harmful ones at least 95 % must be
named by a rule of noise, or by the rule of quotas.

    python benchmarks/noise_matrix.py --times 30
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
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from assay.statistics.intervals import geometric_mean

MATTERS = 0.05
MOST_ACCUSED, LEAST_NAMED = 0.05, 0.95
ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
NAMING = ("N", "L06")
HEAD = """
title = "Loads beside neighbours"
question = "Who is disturbed?"
repeats = 1
"""
LIMITED = """
[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "96 MiB"
limit = { read_bytes_per_s = "30 MB/s" }

[workloads]
slow = { kind = "bulk_io", operations = ["read"], size = "32 MiB", record_size = "256 KiB", direct = true, duration = "900 ms" }

[measures]
"slow.read.bytes_per_s" = {}
"""
HERE = """
[targets.here]
kind = "directory"
path = "."

[workloads.cached]
kind = "bulk_io"
operations = ["random_read"]
size = "32 MiB"
record_size = "4 KiB"
cache = "warm"
duration = "700 ms"
cpus = [0]

[workloads.device]
kind = "bulk_io"
operations = ["random_read"]
size = "64 MiB"
record_size = "64 KiB"
direct = true
duration = "700 ms"

[measures]
"cached.random_read.ops_per_s" = {}
"device.random_read.ops_per_s" = {}
"""
BURN = "while True: pass"
COPY = "a = bytearray(64 << 20)\nwhile True: b = bytes(a)"
WRITE = (
    "import os, mmap\nf = os.open({path!r}, os.O_RDWR | os.O_CREAT | os.O_DIRECT)\nb = mmap.mmap(-1, 1 << 20)\n"
    "while True:\n for i in range(32): os.pwrite(f, b, i << 20)"
)


@dataclass
class Seen:
    """What came of one load beside one neighbour: the figures of each pair, and how often noise was named."""

    ratios: list[float] = field(default_factory=list)
    named: int = 0
    named_alone: int = 0
    rules: dict[str, int] = field(default_factory=lambda: defaultdict(int))


@contextlib.contextmanager
def program(code: str, *, cpu: int | None = None, quota: float | None = None) -> Iterator[None]:
    """A neighbour: a process of its own that does this until it is ended, on one CPU, in a group with a share of one."""
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    group = Path(f"/sys/fs/cgroup/cpu/noise-{child.pid}")
    try:
        if cpu is not None:
            os.sched_setaffinity(child.pid, {cpu})
        if quota is not None:
            group.mkdir()
            (group / "cpu.cfs_quota_us").write_text(str(int(quota * 100_000)))
            (group / "cgroup.procs").write_text(str(child.pid))
        time.sleep(0.3)
        yield
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        if quota is not None:
            group.rmdir()


@contextlib.contextmanager
def other_disk() -> Iterator[str]:
    """A loop device on memory: nobody else's disk."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="noise-") as image:
        image.truncate(64 << 20)
        loop = subprocess.run(["losetup", "-f", "--show", image.name], capture_output=True, text=True, check=True).stdout.strip()
        try:
            yield loop
        finally:
            subprocess.run(["losetup", "-d", loop], check=True)


@contextlib.contextmanager
def neighbour(name: str, folder: Path) -> Iterator[None]:
    """One of NEIGHBOURS at work."""
    if name == "other disk":
        with other_disk() as loop, program(WRITE.format(path=loop), cpu=1):
            yield
        return
    made = {
        "CPU of the load": lambda: program(BURN, cpu=0),
        "other CPU": lambda: program(BURN, cpu=1),
        "quota of 2 %": lambda: program(BURN, cpu=1, quota=0.02),
        "same disk": lambda: program(WRITE.format(path=str(folder / "noise")), cpu=1),
        "memory": lambda: program(COPY, cpu=1),
        "none": contextlib.nullcontext,
        "alone": contextlib.nullcontext,
    }[name]()
    with made:
        yield


NEIGHBOURS = ("none", "CPU of the load", "other CPU", "quota of 2 %", "same disk", "other disk", "memory")


def run(folder: Path, name: str) -> dict[str, tuple[float, list[str]]]:
    """Measure -> figure and the rules of noise that count, of one run beside a neighbour."""
    found = {}
    with neighbour(name, folder):
        for place, text in enumerate((LIMITED, HERE)):
            (folder / "matrix.toml").write_text(HEAD + text)
            done = subprocess.run(
                [*ASSAY, "run", "matrix.toml", "--json", "--progress", "none", "--lab", tempfile.mkdtemp(dir=folder)],
                cwd=folder, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{place}: {done.stderr}"
            verdicts = json.loads(done.stdout)["runs"][0]["verdicts"]
            found |= {measure: (verdict["value"], counting(verdict["findings"])) for measure, verdict in verdicts.items()}
    return found


def counting(findings: list[dict]) -> list[str]:
    """Rules of noise and of quotas that failed as more than a note."""
    failed = [one["rule"] for one in findings if one["state"] == "fail" and one["severity"] != "notes"]
    return [rule for rule in failed if rule.startswith(NAMING)]


def matrix(times: int, names: tuple[str, ...]) -> dict[tuple[str, str], Seen]:
    """Every load beside every neighbour and alone, so many turns; the order rotates."""
    seen: dict[tuple[str, str], Seen] = defaultdict(Seen)
    every = ("alone", *names)
    for turn in range(times):
        found = {}
        for name in (*every[turn % len(every) :], *every[: turn % len(every)]):
            with tempfile.TemporaryDirectory(prefix="noise-matrix-") as scratch:
                found[name] = run(Path(scratch), name)
        alone = found.pop("alone")
        for name, beside in found.items():
            for measure, (value, rules) in beside.items():
                one = seen[measure.partition(".")[0], name]
                one.ratios.append(value / alone[measure][0])
                one.named += bool(rules)
                one.named_alone += bool(alone[measure][1])
                for rule in rules:
                    one.rules[rule] += 1
                print(turn, name, measure, f"{one.ratios[-1]:.3f}", rules, alone[measure][1], file=sys.stderr, flush=True)
    return seen


def harm(ratios: list[float]) -> str:
    """What the ruler says of the pairs."""
    mean = geometric_mean(ratios, 0.95)
    low, high = mean.low or mean.value, mean.high or mean.value
    if high < 1 - MATTERS:
        return "harmful"
    return "harmless" if low > 1 - MATTERS and high < 1 / (1 - MATTERS) else "open"


def measure(times: int = 30) -> Iterator[tuple[str, str]]:
    """Rows for benchmarks/run.py."""
    sums, rows = summed(matrix(times, NEIGHBOURS))
    for kind, (named, every) in sums.items():
        yield f"{kind} by the ruler", f"{named} of {every} runs named"
    for row in rows:
        yield f"{row[0]} beside {row[1]}", "; ".join(row[2:])


def summed(seen: dict[tuple[str, str], Seen]) -> tuple[dict[str, list[int]], list[tuple[str, ...]]]:
    """Runs named and all runs, by what the ruler says; and a row of each load and neighbour."""
    sums, rows = {kind: [0, 0] for kind in ("harmless", "harmful", "open")}, []
    for (load, name), one in sorted(seen.items()):
        mean, kind, n = geometric_mean(one.ratios, 0.95), harm(one.ratios), len(one.ratios)
        span = "" if mean.low is None else f" ({mean.low:.3f} to {mean.high:.3f})"
        rules = ", ".join(f"{rule} {count}" for rule, count in sorted(one.rules.items()))
        named, alone = f"named {one.named} of {n}", f"alone {one.named_alone} of {n}"
        rows.append((load, name, f"{mean.value:.3f}{span}", kind, named, alone, rules or "no rule"))
        sums[kind] = [sums[kind][0] + one.named, sums[kind][1] + n]
    return sums, rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5, metavar="N", help="pairs of each load and neighbour")
    parser.add_argument("--only", nargs="*", default=NEIGHBOURS, choices=NEIGHBOURS)
    asked = parser.parse_args()
    sums, rows = summed(matrix(asked.times, tuple(asked.only)))
    print("; ".join(f"{kind}: {named} of {every} named" for kind, (named, every) in sums.items()))
    print("| load | neighbour | figure beside it / alone | by the ruler | beside it | alone | by |")
    print("|---|---|---|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows), sep="\n")
    accused, named = (sums[kind][0] / max(1, sums[kind][1]) for kind in ("harmless", "harmful"))
    held = accused <= MOST_ACCUSED and (named >= LEAST_NAMED or not sums["harmful"][1])
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
