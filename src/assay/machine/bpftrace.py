"""bpftrace as a companion of a phase: what it needs, how it is started, how it is asked for its counts while it runs.

It prints its maps when it sees a signal 0 sent to itself; the answer names the process that sent it, so that an answer to an
earlier question is never taken for this one. Its tracefs is mounted in a mount namespace of its own, which ends with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.catalogue import Host, Process
from assay.errors import EvidenceError

FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""PROC_PID_INIT_INO of linux/proc_ns.h: in any other namespace processes have other numbers than the kernel's own."""
KEYS = 65536
"""Files whose pages may come into memory in one phase; what is beyond is counted as lost."""
ANSWER_S = 20.0
SILENCE_S = 0.3
START = f"""
[ -e /sys/kernel/tracing/events ] || mount -t tracefs nodev /sys/kernel/tracing
[ -e /sys/kernel/debug/tracing/events ] || mount -t debugfs nodev /sys/kernel/debug
ulimit -l unlimited 2>/dev/null
export BPFTRACE_MAP_KEYS_MAX={KEYS} BPFTRACE_MAX_MAP_KEYS={KEYS}
exec bpftrace -f json -e "$0" $$
"""
ASK = 'getconf PAGESIZE; echo $$; kill -0 "$0"'
"""What the probe below waits for: a signal 0 to bpftrace itself, from a process whose number it tells."""


def obstacle(host: Host) -> str | None:
    """None where bpftrace is there, we are root, and processes have the kernel's own numbers."""
    if not host.is_root():
        return "tracepoints are for root (CAP_BPF, CAP_PERFMON): run as root"
    if not any(host.exists(f"{path}/bpftrace") for path in ("/usr/bin", "/usr/sbin", "/usr/local/bin")):
        return "found no bpftrace: install the package bpftrace"
    if not host.real_path("/proc/self/ns/pid").endswith(FIRST_PID_NAMESPACE):
        return "processes have other numbers here than in the kernel (a PID namespace): run it outside of the container"
    return None


def argv(program: str) -> tuple[str, ...]:
    """The command that runs a program of probes; `$1` in it is its own process. It ends with the thread that started it."""
    return ("setpriv", "--pdeathsig", "KILL", "--", "unshare", "--mount", "--propagation", "slave", "sh", "-c", START, program)


def asked(maps: Iterable[str]) -> str:
    """The probe that prints these maps when it is asked."""
    printed = "".join(f" print(@{name});" for name in maps)
    return f'tracepoint:syscalls:sys_enter_kill /args->sig == 0 && args->pid == $1/ {{{printed} printf("%d", pid); }}'


def among(name: str, numbers: Iterable[int]) -> str:
    """A condition that holds for these numbers; for none where there is none."""
    return " || ".join(f"{name} == {number}" for number in dict.fromkeys(numbers)) or f"{name} == -1"


def kernel_number(text: str) -> int:
    """MAJ:MIN as a dev_t of the kernel (linux/kdev_t.h: 20 bits of minor)."""
    major, _, minor = text.partition(":")
    return int(major) << 20 | int(minor)


def answer(host: Host, process: Process) -> Mapping[str, object]:
    """What is counted now, and the events lost since the former answer. Raises EvidenceError where none comes."""
    until_ns, askers = host.monotonic_ns() + int(ANSWER_S * 1e9), set[str]()
    found: dict[str, object] = {}
    lost = 0
    while host.monotonic_ns() < until_ns:
        page_bytes, asker = host.run(["sh", "-c", ASK, str(process.pid)], check=False).stdout.split()
        askers.add(asker)
        for said in heard(process):
            lost += said["data"]["events"] if said["type"] == "lost_events" else 0
            found |= said["data"] if said["type"] == "map" else {}
            if said["type"] == "printf" and said["data"] in askers:
                return {"page_bytes": int(page_bytes), "maps": maps_of(found), "lost": lost}
    raise EvidenceError(f"found no answer of bpftrace within {ANSWER_S:.0f} s; expected its counts")


def heard(process: Process) -> Iterator[dict[str, Any]]:
    """What bpftrace says, until it is silent for a moment. Raises EvidenceError where it has ended."""
    while True:
        try:
            line = process.receive(SILENCE_S)
        except TimeoutError:
            return
        if line is None:
            raise EvidenceError("bpftrace ended: try `bpftrace -e 'BEGIN { exit() }'` as root; some kernels lack its tracepoints")
        if line.startswith('{"type"'):
            yield json.loads(line, object_pairs_hook=summed)


def summed(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose equal keys are added: words of the kernel differ in what is behind their end, which nobody prints."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = found[key] + value if isinstance(found.get(key), int) and isinstance(value, int) else value
    return found


def maps_of(found: Mapping[str, object]) -> dict[str, dict[str, int]]:
    """{map without @: {keys: count}}; a map without keys has the empty one."""
    rows = ((name.removeprefix("@"), value) for name, value in found.items())
    return {name: dict(value) if isinstance(value, Mapping) else {"": int(str(value))} for name, value in rows}
