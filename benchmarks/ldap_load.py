"""The engine `ldap` as a client: CPU time against ldclt, instructions, an open loop over a silent server, 500 connections.

The server is a slapd of its own with 1,000 people, over loopback TCP; a search finds one entry by its uid, without attributes.
The engine verifies each answer (result code, number of entries, DN); ldclt verifies none. Pairs are interleaved; both clients
start anew each time, and the CPU time is that of the whole process. ldclt stops by samples of 10 s, and its own count divides it.
Instructions are those of user space under callgrind, 40,000 searches less 20,000. The silent server answers nothing for one
second of four, and 1,000 searches a second are due: a quarter waits, evenly from 0 to 1 s, so the 90th percentile is 0.6 s.
"""

from __future__ import annotations

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine_process import EngineProcess

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from stage.directory_servers import BASE, SLAPD, Slapd, SmallServer, honest

PAIRS, PEOPLE, OPS = 7, 1_000, 100_000
CONNECTIONS = (8, 64)
SAMPLES = 2
COUNTED = re.compile(r"Global total number of search: (\d+)|total: +(\d+)")
INSTRUCTIONS = re.compile(r"Collected : (\d+)")
SILENCE_S, LASTS_S, RATE = 1.0, 4, 1_000.0


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure)."""
    if SLAPD is None:
        yield "(nothing)", "slapd is not installed"
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        server = Slapd(Path(folder), PEOPLE)
        try:
            yield from against_ldclt(server)
            yield "user instructions of a search, verified (callgrind)", instructions(server)
            yield "500 connections armed, one client", armed(server)
        finally:
            server.close()
    yield from silence()


def settings(address: str, **other: object) -> dict[str, object]:
    search = {
        "name": "search",
        "kind": "search",
        "dn": BASE,
        "filter": "(uid=u{key:08d})",
        "attributes": ["1.1"],
        "keys": {"count": PEOPLE},
        "expect": {"entries": 1, "dn": f"uid=u{{key:08d}},ou=people,{BASE}"},
    }
    return {"address": address, "operations": [search], **other}


def against_ldclt(server: Slapd) -> Iterator[tuple[str, str]]:
    if shutil.which("ldclt") is None:
        yield "against ldclt", "not installed"
        return
    for connections in CONNECTIONS:
        pairs = [(own_us(server, connections), ldclt_us(server, connections)) for _ in range(PAIRS)]
        ratios = sorted(own / other for own, other in pairs)
        own, other = (statistics.median(each) for each in zip(*pairs, strict=True))
        figure = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}); {own:.1f} and {other:.1f} us a search"
        yield f"CPU time against ldclt, {connections} connections, {PAIRS} pairs", figure


def own_us(server: Slapd, connections: int) -> float:
    with EngineProcess() as engine:
        result = engine.run("ldap", settings(server.address, connections=connections, ops=OPS))
    assert result["errors"] == []
    return engine.cpu_s * 1e6 / OPS


def ldclt_us(server: Slapd, connections: int) -> float:
    port = server.address.rpartition(":")[2]
    shape = ["-e", "esearch,random,attrlist=1.1", "-r", "0", "-R", str(PEOPLE - 1), "-f", "uid=uXXXXXXXX"]
    argv = ["ldclt", "-h", "127.0.0.1", "-p", port, "-b", BASE, *shape, "-n", str(connections), "-N", str(SAMPLES)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout
    output = process.stdout.read()
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    found = [int(one or other) for one, other in COUNTED.findall(output)]
    assert found, output[-500:]
    return (used.ru_utime + used.ru_stime) * 1e6 / found[-1]


def instructions(server: Slapd) -> str:
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    few, many = (collected(server, ops) for ops in (20_000, 40_000))
    return f"{(many - few) / 20_000:,.0f}"


def collected(server: Slapd, ops: int) -> int:
    under = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
    with EngineProcess(under=under) as engine:
        result = engine.run("ldap", settings(server.address, connections=8, ops=ops))
    assert result["operations"]["search"]["count"] == ops
    found = INSTRUCTIONS.search(engine.stderr)
    assert found, engine.stderr[-500:]
    return int(found[1])


def armed(server: Slapd) -> str:
    with EngineProcess() as engine:
        began = time.monotonic()
        engine.arm("ldap", settings(server.address, connections=500, ops=500))
        return f"{time.monotonic() - began:.2f} s"


def silence() -> Iterator[tuple[str, str]]:
    server = SmallServer(honest)
    with EngineProcess() as engine:
        engine.arm("ldap", settings(server.address, connections=64, duration_ns=LASTS_S * 10**9, load={"rate": RATE}))
        at = time.monotonic() + 0.05
        server.silent_from, server.silent_until = at + 0.5, at + 0.5 + SILENCE_S
        result = engine.go(int(at * 1e9))
    server.close()
    found = result["operations"]["search"]
    yield (
        f"open loop, {RATE:,.0f} /s, {SILENCE_S:g} s of silence in {LASTS_S} s",
        f"{found['count']:,} done, p90 {percentile(found, 0.9) / 1e9:.3f} s, max {found['max_ns'] / 1e9:.3f} s",
    )


def percentile(found: Mapping[str, Any], share: float) -> float:
    left = share * found["count"]
    for upper_ns, count in zip(found["histogram"]["upper_ns"], found["histogram"]["count"], strict=True):
        left -= count
        if left <= 0:
            return float(upper_ns)
    return float(found["max_ns"])
