"""The engine's memory over the number of operations, and how long many workers and many clients take to be armed."""

from __future__ import annotations

import time
from collections.abc import Iterator

from engine_process import EngineProcess, resident_bytes

OPERATIONS = (10**6, 10**8, 10**9)
WORKERS = 256
CLIENTS = 64


def measure() -> Iterator[tuple[str, str]]:
    for ops in OPERATIONS:
        with EngineProcess() as process:
            process.run("null", {"operation": "null", "ops": ops})
            yield f"largest resident set, null engine, {ops:,} operations", f"{resident_bytes(process.pid) / 1e6:.2f} MB"
    with EngineProcess() as process:
        since = time.monotonic()
        process.arm("null", {"operation": "null", "ops": 1, "workers": WORKERS})
        yield f"{WORKERS} workers of one client armed (0.2 s wanted)", f"{time.monotonic() - since:.3f} s"
        process.go(time.monotonic_ns())
    since = time.monotonic()
    crew = [EngineProcess().__enter__() for _ in range(CLIENTS)]
    for process in crew:
        process.arm("null", {"operation": "null", "ops": 1})
    yield f"{CLIENTS} clients started and armed, one after the other (1 s wanted)", f"{time.monotonic() - since:.3f} s"
    for process in crew:
        process.__exit__()
