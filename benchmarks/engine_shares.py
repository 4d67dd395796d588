"""How right the sampled shares are of loads whose engine counts its own operations exactly: 100 short loads.

An engine sums up the time of its operations, flushes apart. Each load thinks between them, for a time drawn by lot, so that it
is in an operation for a small or a large part of its time. Sampled is the share of the time in which it does not sleep. Of
flushes it is the share in which it waits in one, or more by at most what it computes: nobody tells what it computes there. In the
last 60 µs of each pause the engine spins, so that it is on time: that is added to its account. It runs with a real-time
priority, so that no other program comes between the end of its sleep and the begin of its operation: what it waits there for a
CPU would be in nobody's account.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.evidence import time_ladder
from assay.evidence.time_ladder import TimeLadder
from assay.experiment import single
from assay.hosts.local import Local
from assay.laboratory.session import conduct
from assay.machine.files import path_state
from assay.records import Phase, Role
from assay.terminal.progress import ProgressMode

ROUNDS = 25
WANTED = 0.95
DURATION = "duration=2s"
MIB = 1 << 20
SLEEP = "sleep"
SPIN_S = 60e-6
"""Before each operation (crates/engine/src/pacer.rs), less what the clock of a virtual machine is late to wake it."""
PAUSES_US = {"flush": (4_000, 100_000), "several": (1_000, 20_000), "direct": (500, 10_000), "net_rr": (500, 10_000)}
"""Of each load the least and the longest pause."""


def loads(disk: Path, chance: random.Random) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the loads: their name, their kind, their settings."""
    data = (f"path={disk}", "size=64MiB", DURATION)
    for _ in range(ROUNDS):
        pause = {name: f"think={round(low * (longest / low) ** chance.random())}us" for name, (low, longest) in PAUSES_US.items()}
        yield "flush", "bulk_io", (*data, "operation=write", "record_size=4KiB", "flush=each", pause["flush"])
        yield "several", "bulk_io", (*data, "operation=write", "record_size=4KiB", "flush_every=4", pause["several"])
        yield "direct", "bulk_io", (*data, "operation=random_read", "record_size=1MiB", "direct=true", pause["direct"])
        yield "net_rr", "net_rr", (DURATION, "response=1MiB", pause["net_rr"])


@contextmanager
def disk() -> Iterator[Path]:
    """A file system on a loop device of its own, with a file of data."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as name:
        home = Path(name)
        image, place = home / "image", home / "disk"
        place.mkdir()
        subprocess.run(["fallocate", "-l", str(256 * MIB), image], check=True)
        words = ["losetup", "--find", "--show", "--direct-io=on", str(image)]
        loop = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
        try:
            subprocess.run(["mkfs.ext4", "-q", loop], check=True)
            subprocess.run(["mount", loop, place], check=True)
            try:
                yield place
            finally:
                subprocess.run(["umount", place], check=True)
        finally:
            subprocess.run(["losetup", "--detach", loop], check=True)


def seen(kind: str, settings: tuple[str, ...]) -> tuple[Phase, TimeLadder | None]:
    """One load: its measured phase, and where its time went by the samples."""
    host = Local()
    request = single.load_request(kind, settings)
    experiment = single.experiment(request, path_state(host, request.path) if request.path else None)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    try:
        run, observations = conduct(experiment, single.plan(experiment), host, ProgressMode.NONE)
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    phase = next(phase for phase in run.phases if phase.measured)
    return phase, time_ladder.of_phase(phase, observations.on_all())


def compared(phase: Phase, found: TimeLadder) -> Iterator[tuple[str, float, float, float]]:
    """Yield what was compared, with the exact share, the sampled one and its told error."""
    span = phase.end_ns - phase.start_ns
    operations = [one for client in phase.clients if client.role is Role.LOAD for one in client.operations]
    exact = {one.operation: one.busy_ns / span for one in operations}
    spun = max(one.count for one in operations) * SPIN_S * 1e9 / span
    slept = found.error(SLEEP) or time_ladder.error_of(0.0, found.looks, {})
    yield "operations", sum(exact.values()) + spun, 1 - found.share(SLEEP), slept
    if "flush" in exact:
        waited = found.share("flush")
        nearest = min(max(exact["flush"], waited), waited + found.share("running", "ready"))
        yield "flushes", exact["flush"], nearest, found.error("flush")


def main() -> None:
    """Print each load, and how many are within their error."""
    chance = random.Random(1)
    total: dict[tuple[str, str], list[tuple[float, float]]] = {}
    with disk() as place:
        for name, kind, settings in loads(place, chance):
            phase, found = seen(kind, settings)
            if found is None:
                print(f"{name}: too few looks", flush=True)
                continue
            for what, exact, sampled, error in compared(phase, found):
                total.setdefault((name, what), []).append((sampled - exact, error))
                print(
                    f"{name} {settings[-1]} {what}: {exact:.3f}, sampled {sampled:.3f} ±{error:.3f}, {found.looks} looks",
                    flush=True,
                )
    for key, each in total.items():
        right = sum(abs(off) <= error for off, error in each)
        mean = sum(off for off, _ in each) / len(each)
        print(f"{' '.join(key)}: {right} of {len(each)} within the error, mean difference {mean:+.3f}")
    every = [one for (_, what), each in total.items() if what == "operations" for one in each]
    right = sum(abs(off) <= error for off, error in every)
    print(f"{right} of {len(every)} loads")
    sys.exit(right < WANTED * len(every))


if __name__ == "__main__":
    main()
