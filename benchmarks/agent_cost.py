"""What the agent of a far host costs that host: looks at 14 files of /proc at 1 Hz and without a pause, and the answers' time.

The agent is a child of this process, so no network is in the figures. Its CPU time is that of its process clock, threads that
have ended included; an agent that nobody asks beside it gives what an idle one costs. The wanted bound is 0.5 % of a CPU at 1 Hz.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from assay.hosts.channel import LocalChannel
from assay.hosts.far import FarHost
from assay.machine.engine_file import engine_path

NAMES = (
    "stat",
    "meminfo",
    "vmstat",
    "diskstats",
    "net/dev",
    "net/snmp",
    "net/netstat",
    "loadavg",
    "uptime",
    "softirqs",
    "interrupts",
)
FILES = tuple(f"/proc/{name}" for name in (*NAMES, "pressure/cpu", "pressure/io", "pressure/memory"))
SECONDS = 40
AT_ONCE = 500
PROBES = 500


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    with ExitStack() as stack:
        asked, idle = (
            stack.enter_context(FarHost(name, LocalChannel([str(engine_path()), "agent"]))) for name in ("asked", "idle")
        )
        look(asked)
        yield "14 files at 1 Hz, the agent (0.5 % of a CPU wanted)", at_one_hz(asked, idle)
        took_ns, cpu_ns = repeated(asked)
        yield "14 files without a pause, CPU of the agent", f"{cpu_ns / 1e6:.2f} ms a look"
        yield "the same, from question to answer", f"median {took_ns / 1e6:.2f} ms"
        trips = sorted(answered - at for at, _, answered in (asked.probe() for _ in range(PROBES)))
        yield "a comparison of clocks", f"median {trips[PROBES // 2] / 1e3:.0f} µs, least {trips[0] / 1e3:.0f} µs"
    yield "the engine's file, agent included", f"{engine_path().stat().st_size:,} bytes"


def look(host: FarHost) -> int:
    """One look; how long it took here (ns)."""
    began_ns = time.monotonic_ns()
    now = host.look("fourteen")
    for path in FILES:
        if Path(path).exists():
            now.host.read(path)
    now.end()
    return time.monotonic_ns() - began_ns


def at_one_hz(asked: FarHost, idle: FarHost) -> str:
    """Shares of a CPU of the agent that looks and of the one that does nothing, in the same seconds."""
    before, began_ns = (cpu_ns(asked), cpu_ns(idle)), time.monotonic_ns()
    took_ns = []
    for second in range(1, SECONDS + 1):
        time.sleep(max(0.0, began_ns / 1e9 + second - time.monotonic()))
        took_ns.append(look(asked))
    wall_ns = time.monotonic_ns() - began_ns
    spent = [100 * (cpu_ns(host) - then) / wall_ns for host, then in zip((asked, idle), before, strict=True)]
    return f"{spent[0]:.3f} %, an idle one {spent[1]:.3f} %; answered in median {statistics.median(took_ns) / 1e6:.1f} ms"


def repeated(host: FarHost) -> tuple[float, float]:
    """Median duration here of a look, and the agent's CPU time for one (ns)."""
    before = cpu_ns(host)
    took_ns = [look(host) for _ in range(AT_ONCE)]
    return statistics.median(took_ns), (cpu_ns(host) - before) / AT_ONCE


def cpu_ns(host: FarHost) -> int:
    """CPU time of an agent until now: the clock of its process (clock_getcpuclockid(3))."""
    return time.clock_gettime_ns(~int(host.hello["pid"]) << 3 | 2)
