"""The load engine as a process of its own, told what to do over its protocol (docs/engine-protocol.md)."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

ENGINE = Path(__file__).parent.parent / "src" / "assay" / "bin" / "assay-engine"
HOURS_NS = 10**13


@dataclass
class EngineProcess:
    """One engine, from start to exit; afterwards `cpu_s` is the user and system time of the whole process."""

    under: Sequence[str] = ()
    """What it runs under (valgrind)."""
    cpu_s: float = 0.0
    stderr: str = ""
    _process: subprocess.Popen[str] | None = field(default=None)

    def __enter__(self) -> Self:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen([*self.under, str(ENGINE)], **pipes)
        self.until("hello")
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process
        assert self._process.stdin
        assert self._process.stderr
        self._process.stdin.close()
        self.stderr = self._process.stderr.read()
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = used.ru_utime + used.ru_stime

    @property
    def pid(self) -> int:
        assert self._process
        return self._process.pid

    def run(self, engine: str, settings: Mapping[str, object]) -> dict[str, Any]:
        """Arm a phase and run it at once; the result."""
        self.arm(engine, settings)
        return self.go(time.monotonic_ns())

    def arm(self, engine: str, settings: Mapping[str, object]) -> dict[str, Any]:
        """Arm a phase: the engine's answer."""
        limits = {"interval_ns": 10**9, "limit_ns": HOURS_NS}
        self.say({"type": "config", "engine": engine, "phase": "p", "seed": 1, **limits, "settings": settings})
        return self.until("armed")

    def go(self, at_ns: int) -> dict[str, Any]:
        self.say({"type": "go", "at_ns": at_ns})
        return self.until("result")

    def say(self, message: Mapping[str, object]) -> None:
        assert self._process
        assert self._process.stdin
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def until(self, wanted: str) -> dict[str, Any]:
        """The next message of a type; an error ends the benchmark with what it says."""
        assert self._process
        assert self._process.stdout
        for line in self._process.stdout:
            told: dict[str, Any] = json.loads(line)
            if told["type"] == wanted:
                return told
            if told["type"] == "error":
                raise RuntimeError(f"{told['what']} {told.get('path') or ''}: {told['message']}")
        raise RuntimeError(f"the engine ended before it said {wanted}")


def resident_bytes(pid: int) -> int:
    """The largest resident set so far (VmHWM of /proc/PID/status)."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
