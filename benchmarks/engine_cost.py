"""What the load engine spends on itself: user instructions an operation, clock and histogram on, start-up subtracted.

With hardware counters: the engine's own figures of a long phase, cycles too. Without: `valgrind --tool=callgrind`, the
difference of two operation counts divided by the difference in operations; instead of cycles then the processor's time in user
mode (by the kernel's ticks, so good to a few per cent) in reference cycles: at the nominal frequency of /proc/cpuinfo.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from engine_process import EngineProcess

FEW, MANY = 100_000, 300_000
FEW_OBJECTS, MANY_OBJECTS = 10_000, 30_000
FILE_BYTES = 16 << 20
COUNTED = 3_000_000
VALGRIND = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
FOR_EVER_NS = 3_600_000_000_000
TMPFS = Path("/dev/shm")
LONG = 20_000_000
"""So many operations take seconds, and so hundreds of ticks."""


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure) for each path of the engine."""
    yield "null engine (budget 120)", figure("null", {"operation": "null"}, FEW, MANY)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.write_bytes(b"\1" * FILE_BYTES)
        for what, settings in reads(data):
            yield what, figure("bulk", {**settings, "record_size": 4096, "duration_ns": FOR_EVER_NS}, FEW, MANY)
    with tempfile.TemporaryDirectory(dir=TMPFS) as folder:
        for operation in ("create", "stat", "unlink"):
            yield f"{operation} of an empty file on tmpfs (budget 1,000)", metadata(folder, operation)


def reads(data: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """Cached reads of 4 KiB with what they are called."""
    whole = {"path": str(data), "offset": 0, "size": FILE_BYTES}
    random: dict[str, object] = {"operation": "random_read", "regions": [whole]}
    yield "cached 4 KiB read, one after the other", {**random, "operation": "read"}
    yield "cached 4 KiB random pread (budget 160)", random
    yield (
        "cached 4 KiB random read, io_uring depth 32 in batches of 16 (budget 160)",
        {
            **random,
            "path": "io_uring",
            "depth": 32,
            "batch": 16,
        },
    )
    yield "cached 4 KiB random pread, two threads, an operation of either", {**random, "regions": [whole, whole]}


def figure(engine: str, settings: Mapping[str, object], few: int, many: int) -> str:
    """User instructions an operation, from the counters or from callgrind."""
    with EngineProcess() as process:
        counted = process.run(engine, {**settings, "ops": COUNTED})
    cost, done = counted["cost"], operations(counted)
    if cost["user_instructions"] is not None:
        return (
            f"{cost['user_instructions'] / done:.0f} user instructions, {cost['user_cycles'] / done:.0f} user cycles (counters)"
        )
    if shutil.which("valgrind") is None:
        return "not known: no hardware counters and no valgrind here"
    first, then = (instructions(engine, {**settings, "ops": ops}) for ops in (few, many))
    return f"{(then[0] - first[0]) / (then[1] - first[1]):.0f} user instructions (callgrind); {user_time(engine, settings)}"


def user_time(engine: str, settings: Mapping[str, object]) -> str:
    """Time in user mode of a long phase, an operation, and what that is in cycles of the nominal frequency."""
    with EngineProcess() as process:
        result = process.run(engine, {**settings, "ops": LONG})
    each = result["cost"]["cpu_user_ns"] / operations(result)
    found = re.search(r"^cpu MHz\s*: ([0-9.]+)", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{each:.1f} ns in user mode" + (f" = {each * float(found[1]) / 1000:.0f} reference cycles" if found else "")


def instructions(engine: str, settings: Mapping[str, object]) -> tuple[int, int]:
    """(instructions of the whole process, operations that it did)."""
    with EngineProcess(under=VALGRIND) as process:
        done = operations(process.run(engine, settings))
    return collected(process.stderr), done


def collected(text: str) -> int:
    """What callgrind says it counted."""
    found = re.search(r"Collected : (\d+)", text)
    assert found, text
    return int(found[1])


def operations(result: Mapping[str, object]) -> int:
    """Operations of a result, of all kinds."""
    found = result["operations"]
    assert isinstance(found, dict)
    return sum(one["count"] for one in found.values())


def metadata(folder: str, operation: str) -> str:
    """What an operation adds to creating alone; each in a directory of its own."""
    if shutil.which("valgrind") is None:
        return "not known: no valgrind here"
    alone = slope(folder, ("create",))
    added = alone if operation == "create" else slope(folder, ("create", operation)) - alone
    return f"{added:.0f} user instructions (callgrind)"


def slope(folder: str, wanted: tuple[str, ...]) -> float:
    """Instructions an object of these phases, one after the other."""
    few, many = (phases(f"{folder}/{'-'.join(wanted)}-{count}", wanted, count) for count in (FEW_OBJECTS, MANY_OBJECTS))
    return (many - few) / (MANY_OBJECTS - FEW_OBJECTS)


def phases(directory: str, wanted: tuple[str, ...], count: int) -> int:
    """Instructions of a process that does these phases on so many objects; what it leaves is removed."""
    with EngineProcess(under=VALGRIND) as process:
        for operation in wanted:
            process.run("metadata", {"directory": directory, "object": "file", "count": count, "operations": [operation]})
    shutil.rmtree(directory)
    return collected(process.stderr)
