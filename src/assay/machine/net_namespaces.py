"""Network namespaces of a trial: each is kept by a process of ours that waits for the end of its input, and ends with it.

A namespace without a name and a file goes with its last process, and its interfaces with it. So a lab that was killed leaves
neither: the end of its processes closes the input of these. Sources: network_namespaces(7), unshare(1), nsenter(1).
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping

from assay.catalogue import Host, Process, Undo
from assay.errors import AssayError, TrialError
from assay.machine.process_stat import stat_fields
from assay.machine.server import network_of

KEEPER = ("unshare", "--net", "cat")
"""Ends with the end of its input."""
NETWORK = "network."
"""In Place.private before `load` and `server`: the namespace that a client of this role runs in."""
TCP_SETTINGS = ("tcp_congestion_control", "tcp_rmem", "tcp_wmem")
"""Below net.ipv4: those that decide most; a namespace has its own."""
PATIENCE_S = 5.0
STEP_S = 0.002
NONE = "no network namespace on {}: `unshare --net` failed. Run as root."
_KEPT: dict[tuple[str, int], tuple[Process, str]] = {}
"""Host and process id -> the process that keeps a namespace: its input closes with it. And when it started, for the ledger."""


def keep(host: Host, undo: Undo) -> int:
    """Make a network namespace and return the process that keeps it. Raises TrialError where there is none."""
    process = host.spawn(KEEPER)
    try:
        started = _started(host, process.pid)
    except OSError as error:
        process.kill()
        raise TrialError(NONE.format(host.name)) from error
    _KEPT[host.name, process.pid] = process, started
    undo.add("process", pid=str(process.pid), start_ticks=started, what="network namespace")
    own, deadline = network_of(host, "self"), time.monotonic() + PATIENCE_S
    while network_of(host, process.pid) in ("", own):
        if time.monotonic() > deadline or not host.exists(f"/proc/{process.pid}"):
            release(host, undo, process.pid)
            raise TrialError(NONE.format(host.name))
        time.sleep(STEP_S)
    return process.pid


def release(host: Host, undo: Undo, pid: int) -> None:
    """End the process that keeps a namespace, and strike it out; nothing where it is not ours."""
    process, started = _KEPT.pop((host.name, pid), (None, ""))
    if process is not None:
        process.kill()
        undo.undo("process", pid=str(pid), start_ticks=started)


def file_of(pid: int) -> str:
    """Return the file of the namespace that a process is in."""
    return f"/proc/{pid}/ns/net"


def inside(namespace: str) -> tuple[str, ...]:
    """Return the words before a command that runs in a network namespace; the process keeps its number."""
    return ("nsenter", f"--net={namespace}", "--")


def tcp_settings(host: Host, namespace: str) -> Iterator[tuple[str, str]]:
    """Yield the settings of TCP in a namespace; none where they cannot be read."""
    files = [f"/proc/sys/net/ipv4/{name}" for name in TCP_SETTINGS]
    try:
        done = host.run([*inside(namespace), "cat", *files], check=False)
    except (AssayError, OSError):
        return
    for name, value in zip(TCP_SETTINGS, done.stdout.splitlines(), strict=False):
        yield name, " ".join(value.split())


def configure(host: Host, pid: int, lines: str) -> None:
    """Run commands of ip(8) in the namespace of a process, one a line. Raises TrialError with the first that fails."""
    host.run([*inside(file_of(pid)), "ip", "-batch", "-"], input_text=lines)


def set_files(host: Host, namespace: str, values: Mapping[str, str]) -> None:
    """Write files of /proc/sys and of /sys as a namespace has them. Raises TrialError.

    /sys shows the interfaces of the namespace in which it was mounted: this one is mounted for the writing alone.
    """
    written = (f"printf '%s\n' {shlex.quote(value)} > {shlex.quote(path)}" for path, value in values.items())
    lines = ["set -e", "mount -t sysfs sysfs /sys", *written]
    host.run([*inside(namespace), "unshare", "--mount", "sh", "-c", "\n".join(lines)])


def _started(host: Host, pid: int) -> str:
    """When a process started in ticks since boot (proc_pid_stat(5)), which tells it from a later one of the same number."""
    return stat_fields(host, pid)[19]
