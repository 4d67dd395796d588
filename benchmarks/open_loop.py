"""Open loops: the rate that is asked for, and what a stopped process shows in latencies that count from the intended start.

A process that is stopped for s seconds of a run of t seconds at r operations a second delays the operations that fall due
meanwhile by what is left of the stop: a mean of s^2 / (2 t), and a largest latency of s.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator

from engine_process import EngineProcess

RATES = (1_000, 30_000, 150_000)
SECONDS = 4
STOP_S = 1.0


def measure() -> Iterator[tuple[str, str]]:
    for rate in RATES:
        with EngineProcess() as process:
            load = {"rate": float(rate), "arrivals": "poisson", "late_ns": 100_000}
            done = process.run("null", {"operation": "null", "duration_ns": SECONDS * 10**9, "load": load})
        count = done["operations"]["null"]["count"] + done["load"]["unstarted"]
        share = count / (rate * SECONDS)
        yield (
            f"Poisson at {rate:,} /s for {SECONDS} s",
            f"{count / SECONDS:,.0f} /s due, {share - 1:+.2%}; {done['load']['late']:,} late",
        )
    yield from stopped()


def stopped() -> Iterator[tuple[str, str]]:
    """SIGSTOP for a second in a run of four at 1,000 operations a second."""
    with EngineProcess() as process:
        load = {"rate": 1000.0, "arrivals": "constant", "late_ns": 1_000_000}
        process.arm("null", {"operation": "null", "duration_ns": SECONDS * 10**9, "load": load})
        at = time.monotonic_ns() + 100_000_000
        lengths: list[float] = []
        stopper = threading.Thread(target=stop, args=(process.pid, at / 1e9 + 1.5, lengths))
        stopper.start()
        done = process.go(at)["operations"]["null"]
        stopper.join()
    expected = lengths[0] ** 2 / (2 * SECONDS)
    mean = done["busy_ns"] / done["count"] / 1e9
    yield (
        f"stopped for {lengths[0]:.3f} s in {SECONDS} s at 1,000 /s",
        (
            f"{done['count']:,} operations; mean {mean * 1e3:.1f} ms (expected {expected * 1e3:.1f}),"
            f" largest {done['max_ns'] / 1e6:.0f} ms"
        ),
    )


def stop(pid: int, when_s: float, lengths: list[float]) -> None:
    """Stop a process of ours and let it go on; notes for how long."""
    time.sleep(max(0.0, when_s - time.monotonic()))
    os.kill(pid, signal.SIGSTOP)
    since = time.monotonic()
    time.sleep(STOP_S)
    os.kill(pid, signal.SIGCONT)
    lengths.append(time.monotonic() - since)
