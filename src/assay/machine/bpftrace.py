"""bpftrace as a companion of a phase: its requirements, its start, and the request for its counts while it runs.

It prints its maps when it sees a signal 0 sent to itself. The output names the process that sent the signal, so that the output
of an earlier request is never taken for the current one. Its tracefs is mounted in a private mount namespace, which ends with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.catalogue import Host, Process
from assay.errors import EvidenceError

FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of linux/proc_ns.h: in any other namespace the PIDs differ from the kernel's own."""
KEYS = 65536
"""Most files whose pages may enter memory in one phase; pages of further files count as lost."""
KINDS_OF_MAP = ("map", "stats")
TOTAL = "_total"
"""Ends the name of the sums of a map made by stats(), whose own name then has the counts."""
ANSWER_S = 60.0
"""Attaching its probes takes seconds on a machine whose CPUs are busy; nothing waits for it under the clock."""
SILENCE_S = 0.3
START = f"""
[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing
[ -e /sys/kernel/debug/tracing/events ] || mount -t debugfs nodev /sys/kernel/debug
ulimit -l unlimited 2>/dev/null
export BPFTRACE_MAP_KEYS_MAX={KEYS} BPFTRACE_MAX_MAP_KEYS={KEYS}
exec bpftrace -f json -e "$0" $$
"""
ASK = 'getconf PAGESIZE; echo $$; kill -0 "$0"'
"""The event that the probe below waits for: a signal 0 to bpftrace itself, from a process that prints its PID."""


def obstacle(host: Host) -> str | None:
    """Return the first reason why bpftrace cannot run; None if it can."""
    return next(obstacles(host), None)


def obstacles(host: Host) -> Iterator[str]:
    """Yield every reason why bpftrace cannot run."""
    if not host.is_root():
        yield "tracepoints need root (CAP_BPF, CAP_PERFMON). Run as root."
    if not any(host.exists(f"{path}/bpftrace") for path in ("/usr/bin", "/usr/sbin", "/usr/local/bin")):
        yield "bpftrace: not found. Install the package bpftrace."
    if not host.real_path("/proc/self/ns/pid").endswith(FIRST_PID_NAMESPACE):
        yield "this PID namespace hides the kernel's PIDs. Run outside the container."


def argv(program: str) -> tuple[str, ...]:
    """Return the command that runs a program of probes; `$1` in it is its own PID. It ends with the thread that started it."""
    return ("setpriv", "--pdeathsig", "KILL", "--", "unshare", "--mount", "--propagation", "slave", "sh", "-c", START, program)


def print_probe(maps: Iterable[str], first: str = "") -> str:
    """Return the probe that prints these maps on request, after a first statement."""
    printed = first + "".join(f" print(@{name});" for name in maps)
    return f'tracepoint:syscalls:sys_enter_kill /args->sig == 0 && args->pid == $1/ {{{printed} printf("%d", pid); }}'


def among(name: str, numbers: Iterable[int]) -> str:
    """Return a condition that is true for these numbers only; always false without numbers."""
    return " || ".join(f"{name} == {number}" for number in dict.fromkeys(numbers)) or f"{name} == -1"


def kernel_number(text: str) -> int:
    """Convert MAJ:MIN to a dev_t of the kernel (linux/kdev_t.h: 20 bits of minor)."""
    major, _, minor = text.partition(":")
    return int(major) << 20 | int(minor)


def counts(host: Host, process: Process) -> Mapping[str, object]:
    """Return the current counts, and the events lost since the previous request. Raises EvidenceError without an answer."""
    until_ns, senders = host.monotonic_ns() + int(ANSWER_S * 1e9), set[str]()
    found: dict[str, object] = {}
    lost = 0
    while host.monotonic_ns() < until_ns:
        page_bytes, sender = host.run(["sh", "-c", ASK, str(process.pid)], check=False).stdout.split()
        senders.add(sender)
        for message in messages(process):
            lost += message["data"]["events"] if message["type"] == "lost_events" else 0
            found |= message["data"] if message["type"] in KINDS_OF_MAP else {}
            if message["type"] == "printf" and message["data"] in senders:
                return {"page_bytes": int(page_bytes), "maps": maps_of(found), "lost": lost}
    raise EvidenceError(f"bpftrace did not print its counts within {ANSWER_S:.0f} s")


def messages(process: Process) -> Iterator[dict[str, Any]]:
    """Yield the messages of bpftrace until it pauses. Raises EvidenceError if it has ended."""
    while True:
        try:
            line = process.receive(SILENCE_S)
        except TimeoutError:
            return
        if line is None:
            raise EvidenceError(
                "bpftrace ended early. Some kernels lack its tracepoints. Test: `bpftrace -e 'BEGIN { exit() }'` as root."
                f"{complaint(process)}"
            )
        if line.startswith('{"type"'):
            yield json.loads(line, object_pairs_hook=summed)


def complaint(process: Process) -> str:
    """Return what bpftrace wrote to standard error about its end, after a blank; empty where there is nothing."""
    lines = [line for line in str(getattr(process, "complaint", str)()).splitlines() if line.strip(" ~")]
    errors = [line for line in lines if "ERROR" in line and "RLIMIT_MEMLOCK" not in line]
    return f" It wrote: {(errors or lines)[-1].strip()}" if lines else ""


def summed(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object in which the counts of equal keys are added: kernel strings differ only behind their end."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        before = found.get(key)
        if isinstance(before, dict) and isinstance(value, dict):  # stats(): count, average, total
            found[key] = {name: before.get(name, 0) + amount for name, amount in value.items()}
        else:
            found[key] = before + value if isinstance(before, int) and isinstance(value, int) else value
    return found


def maps_of(found: Mapping[str, object]) -> dict[str, dict[str, int]]:
    """Return {map name without @: {keys: count}}; a map without keys has the empty key."""
    maps: dict[str, dict[str, int]] = {}
    for name, value in found.items():
        rows = dict(value) if isinstance(value, Mapping) else {"": int(str(value))}
        counted = {key: one["count"] if isinstance(one, Mapping) else one for key, one in rows.items()}
        totals = {key: one["total"] for key, one in rows.items() if isinstance(one, Mapping)}
        maps[name.removeprefix("@")] = counted
        if totals:
            maps[f"{name.removeprefix('@')}{TOTAL}"] = totals
    return maps


def is_flush(kind: str) -> bool:
    """Return True for a request that flushes the device's cache, or passes it (blk_fill_rwbs of the kernel)."""
    return kind.startswith("F") or is_fua(kind)


def is_fua(kind: str) -> bool:
    """Return True for FUA: F after the operation in a request's letters."""
    return "F" in kind.removeprefix("F")[1:]
