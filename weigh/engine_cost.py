"""User instructions of the load engine per operation, clock and histogram on, start-up subtracted.

With hardware counters: the engine's own figure of a long phase. Without: `valgrind --tool=callgrind`, the difference of two
operation counts divided by the difference in operations; without that too the line says so.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

ENGINE = Path(__file__).parent.parent / "src" / "assay" / "bin" / "assay-engine"
FEW, MANY = 100_000, 300_000
FILE_BYTES = 16 << 20


def weigh() -> Iterator[tuple[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        data.write_bytes(b"\1" * FILE_BYTES)
        yield "null engine", figure("null", {"operation": "null"}, {})
        region = [{"path": str(data), "offset": 0, "size": FILE_BYTES}]
        for operation in ("read", "random_read"):
            settings = {"operation": operation, "regions": region, "record_size": 4096, "duration_ns": 3_600_000_000_000}
            yield f"cached 4 KiB {operation.replace('_', ' ')}", figure("bulk", settings, {})


def figure(engine: str, settings: Mapping[str, object], _: Mapping[str, object]) -> str:
    result = run([str(ENGINE)], engine, {**settings, "ops": MANY * 10})
    counted = result["cost"]["user_instructions"]
    if counted is not None:
        return f"{counted / (MANY * 10):.0f} user instructions/op (hardware counters)"
    if shutil.which("valgrind") is None:
        return "not known: no hardware counters and no valgrind here"
    few, many = (instructions(engine, {**settings, "ops": ops}) for ops in (FEW, MANY))
    return f"{(many - few) / (MANY - FEW):.0f} user instructions/op (callgrind)"


def instructions(engine: str, settings: Mapping[str, object]) -> int:
    with tempfile.NamedTemporaryFile() as out:
        run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", str(ENGINE)], engine, settings)
        found = re.search(r"^(?:summary|totals): (\d+)", Path(out.name).read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1])


def run(argv: list[str], engine: str, settings: Mapping[str, object]) -> dict:
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    config = {
        "type": "config", "engine": engine, "phase": "p", "client": 0, "clients": 1, "seed": 1, "cpus": None,
        "interval_ns": 1_000_000_000, "limit_ns": 600_000_000_000, "settings": settings,
    }  # fmt: skip
    try:
        for message, answer in ((config, "armed"), ({"type": "go", "at_ns": time.monotonic_ns()}, "result")):
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                told = json.loads(line)
                if told["type"] == answer:
                    break
                assert told["type"] != "error", told
        return told
    finally:
        process.stdin.close()
        process.wait()
