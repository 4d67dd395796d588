"""A server that a target starts for itself: fresh, in a directory of its own, on a free port, undone through the ledger.

The ledger has the server's token before it starts (kind `family`), and all that it starts inherits the token: a lab that is
killed at any moment leaves no process. Everything that a restart needs is in the script `start` of the directory, so that
cold caches do not have to be written down again.
"""

from __future__ import annotations

import contextlib
import posixpath
import secrets
import shlex
import time
from collections.abc import Callable, Mapping

from assay.catalogue import FAMILY, Host, Knob, KnobKind, Undo, Unit
from assay.errors import RefusedError, TrialError
from assay.frozen import dataclass, field
from assay.machine import cgroups
from assay.machine.cpus import allowed_cpus, cpus
from assay.machine.process_stat import stat_fields
from assay.records import Value

LIMITS = (
    Knob(name="server.cpus", kind=KnobKind.CPUS, help="CPUs of the server: a count or a list of numbers"),
    Knob(name="server.memory", kind=KnobKind.QUANTITY, unit=Unit.BYTES, low=1 << 20, help="memory limit of the server's group"),
)
KNOBS = (
    *LIMITS,
    Knob(name="server.port", kind=KnobKind.INTEGER, low=1, high=65535, help="its port; default: a free one"),
)
"""Knobs of every target that starts a server; in a network namespace of its own it has no other port than its usual one."""
START, PID, LOG, SEALED, BEGUN = "start", "pid", "log", "sealed", "begun"
OWN_LOG = "logs/errors"
"""Where a server writes that prints nothing (389-ds)."""
"""Files in the directory of a service."""
START_S, STOP_S, STEP_S = 60.0, 60.0, 0.02
"""How long a server may take to answer and to end, and how often it is asked."""
WORDS = 1500
"""Characters of the server's own words that a failure shows."""
LISTENING = "0A"
"""TCP_LISTEN in /proc/net/tcp (include/net/tcp_states.h)."""
PORTS = range(20_000, 32_000)
"""Below the ports that Linux gives to clients (ip_local_port_range)."""
SCRIPT = """#!/bin/sh
cd {directory} || exit 1
for group in {groups}; do echo $$ > "$group/cgroup.procs" || exit 1; done
{family}={token}; export {family}
{env}
setsid sh -c 'echo $$ > pid; exec "$@"' sh {argv} </dev/null >>log 2>&1 &
"""
SEAL = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--", "/bin/sh")
"""Before the script of a sealed server: its first process ends when unshare ends, and the kernel then ends all others."""
SEALED_SCRIPT = """#!/bin/sh
# The first process of a process namespace: all that the server starts ends with it. Mounts made here are seen here alone.
exec 3>>{begun}
{setup}
{argv} 3>&- &
echo begun >&3
wait "$!"
"""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A server as it is started: it stays in the foreground."""

    name: str
    """What failures call it."""
    argv: tuple[str, ...]
    directory: str
    """Its own; the caller made it."""
    env: Mapping[str, str] = field(default_factory=dict)
    cpus: tuple[int, ...] | None = None
    memory_bytes: int | None = None
    network: str | None = None
    """The file of the network namespace that it runs in; None: the lab's."""
    sealed: bool = False
    """Whether nothing that it starts may outlive it, whatever that does to its environment. It sees mounts of its own."""
    setup: str = ""
    """Lines of sh before a sealed server, for example mounts that it alone sees."""
    is_accounted: bool = False
    """Whether it gets a control group of its own where that is possible, which counts the CPU time of all that it starts."""


@dataclass(frozen=True, kw_only=True)
class Service:
    """A server that was started."""

    name: str
    directory: str
    token: str
    groups: tuple[str, ...] = ()
    account: str | None = None
    """The one of them that counts its CPU time."""

    @property
    def pid_file(self) -> str:
        """Holds its process id."""
        return posixpath.join(self.directory, PID)


def is_installed(host: Host, tool: str) -> bool:
    """Return True if a program may be run, also one for administrators."""
    return host.run(["/bin/sh", "-c", f"PATH=$PATH:/usr/sbin:/sbin command -v {tool}"], check=False).status == 0


def install(host: Host, undo: Undo, program: Program, label: str) -> Service:
    """Make the group of a server and the script that starts it, after its ledger entry; nothing runs yet.

    Raises RefusedError where a limit may not be set.
    """
    token = secrets.token_hex(8)
    undo.add("family", token=token, what=f"{'server' if program.is_accounted else 'program'} {program.name}")
    limits, account = _groups(host, undo, program, label), _account(host, undo, program, label)
    groups = tuple(dict.fromkeys((*limits, *((account,) if account else ()))))
    service = Service(name=program.name, directory=program.directory, token=token, groups=groups, account=account)
    pinned = () if program.cpus is None else ("taskset", "-c", ",".join(map(str, program.cpus)))
    inside = () if program.network is None else ("nsenter", f"--net={program.network}", "--")
    text = SCRIPT.format(
        directory=shlex.quote(program.directory),
        groups=shlex.join(service.groups) or "''",
        family=FAMILY,
        token=token,
        env="\n".join(f"{name}={shlex.quote(value)}; export {name}" for name, value in program.env.items()),
        argv=shlex.join((*pinned, *inside, *_sealed(host, program))),
    ).replace("for group in ''; do", "for group in; do")
    path = posixpath.join(program.directory, START)
    host.write(path, text)
    host.run(["chmod", "700", "--", path])
    return service


def _sealed(host: Host, program: Program) -> tuple[str, ...]:
    """Return the words that start a program, after its script was written where it is sealed."""
    if not program.sealed:
        return program.argv
    path = posixpath.join(program.directory, SEALED)
    host.write(path, SEALED_SCRIPT.format(begun=BEGUN, setup=program.setup, argv=shlex.join(program.argv)))
    return (*SEAL, path)


def _groups(host: Host, undo: Undo, program: Program, label: str) -> tuple[str, ...]:
    if program.memory_bytes is None:
        return ()
    where = cgroups.hierarchy(host, "memory")
    if where is None:
        raise RefusedError("no memory control group on this host. Remove the knob `server.memory`.")
    path = cgroups.make_group(host, undo, where, label)
    cgroups.limit_memory(host, path, where.version, program.memory_bytes)
    return (path,)


def _account(host: Host, undo: Undo, program: Program, label: str) -> str | None:
    """Return a new group that counts the CPU time of a program; None where none can be made: then its processes are asked."""
    where = cgroups.hierarchy(host, "cpuacct") if program.is_accounted and host.is_root() else None
    if where is None or (where.version == 2 and program.memory_bytes is not None):
        return None  # on version 2 the group of its memory counts its CPU time, too
    with contextlib.suppress(RefusedError):
        return cgroups.make_group(host, undo, where, label)
    return None


def start(host: Host, directory: str, name: str, ready: Callable[[], bool], patience_s: float = START_S) -> None:
    """Start what is installed in a directory and wait until it is ready. Raises TrialError with the server's own words."""
    begun = _log_size(host, directory)
    host.run(["rm", "-f", "--", *(posixpath.join(directory, name) for name in (PID, BEGUN))])
    host.run(["/bin/sh", posixpath.join(directory, START)])
    deadline = time.monotonic() + patience_s
    while True:
        has_begun = _has_begun(host, directory)  # asked first: between two looks it may begin
        if is_running(host, directory):
            with contextlib.suppress(TrialError):
                if _takes_signals(host, directory) and ready():
                    return
        elif has_begun:
            raise TrialError(f"{name} has ended instead of starting: {words(host, directory, begun)}")
        if time.monotonic() > deadline:
            raise TrialError(f"{name} does not answer {patience_s:g} s after its start: {words(host, directory, begun)}")
        time.sleep(STEP_S)


def stop(host: Host, directory: str, name: str, patience_s: float = STOP_S) -> None:
    """End what runs in a directory as its administrator would, and wait for its end. Raises TrialError where it stays."""
    pid = pid_of(host, directory)
    if pid is None or not is_running(host, directory):
        return
    # A sealed server is a child of the process in the pid file, which itself takes no SIGTERM.
    whom = f"-{pid}" if host.exists(posixpath.join(directory, SEALED)) else pid
    host.run(["kill", "-TERM", "--", whom], check=False)
    host.run(["kill", "-CONT", "--", whom], check=False)  # one that an event stopped takes the signal when it goes on
    deadline = time.monotonic() + patience_s
    while is_running(host, directory):
        if time.monotonic() > deadline:
            raise TrialError(f"{name} (process {pid}) still runs {patience_s:g} s after SIGTERM")
        time.sleep(STEP_S)


def remove(undo: Undo, service: Service) -> None:
    """End all of it that is left, and take its group away; nothing of it stays in the ledger."""
    undo.undo("family", token=service.token)
    for group in reversed(service.groups):
        undo.undo("cgroup", path=group)


def is_running(host: Host, directory: str) -> bool:
    """Return True if the process of its pid file is there and has not ended."""
    pid = pid_of(host, directory)
    try:
        fields = stat_fields(host, pid) if pid else []
    except OSError:
        return False
    return bool(fields) and fields[0] not in "ZX"


def _has_begun(host: Host, directory: str) -> bool:
    """Return True if the pid file is written: then a process that is not there has ended."""
    return pid_of(host, directory) is not None


def _takes_signals(host: Host, directory: str) -> bool:
    """Return True if `stop` reaches the server: the first process of a namespace takes no SIGTERM for a server to come."""
    try:
        return not host.exists(posixpath.join(directory, SEALED)) or bool(host.read(posixpath.join(directory, BEGUN)))
    except OSError:
        return False


def pid_of(host: Host, directory: str) -> str | None:
    """Return the process in the pid file of a service; None without one."""
    try:
        word = host.read(posixpath.join(directory, PID)).strip()
    except OSError:
        return None
    return word if word.isdigit() else None


def words(host: Host, directory: str, begun: int = 0) -> str:
    """Return the end of what a server has written since its log had so many characters, else the end of its own file."""
    for name, start_at in ((LOG, begun), (OWN_LOG, 0)):
        with contextlib.suppress(OSError):
            if text := host.read(posixpath.join(directory, name))[start_at:].strip():
                return text[-WORDS:]
    return "it wrote nothing"


def _log_size(host: Host, directory: str) -> int:
    try:
        return len(host.read(posixpath.join(directory, LOG)))
    except OSError:
        return 0


def limits_of(host: Host, knobs: Mapping[str, Value]) -> tuple[tuple[int, ...] | None, int | None]:
    """Return the CPUs and the memory that the knobs name. Raises UsageError for CPUs that this host does not let us use."""
    memory = knobs.get("server.memory")
    return cpus(host, knobs.get("server.cpus")), memory if isinstance(memory, int) else None


def in_force(host: Host, service: Service, program: Program) -> tuple[tuple[str, str], ...]:
    """Return the limits that the kernel keeps for a running server. Raises TrialError where one is not the one that was set."""
    found = []
    if program.cpus is not None:
        allowed = allowed_cpus(host, pid_of(host, service.directory) or "self")
        require("server.cpus", ",".join(map(str, program.cpus)), ",".join(map(str, allowed)))
        found.append(("server.cpus", ",".join(map(str, allowed))))
    if program.memory_bytes is not None:
        limit = next((cgroups.memory_limit(host, group) for group in service.groups), None)
        page = 4096  # the kernel keeps whole pages
        require("server.memory", str(program.memory_bytes // page), str((limit or 0) // page))
        limiting = [group for group in service.groups if group != service.account]
        within = all(cgroups.holds(host, group, pid_of(host, service.directory) or "") for group in limiting)
        require("server.memory", "its group", "its group" if within else "a server outside its group")
        found.append(("server.memory", str(limit)))
    return tuple(found)


def require(knob: str, wanted: str, found: str) -> None:
    """Raise TrialError where a setting that was read back from a running server is not the one that was set."""
    if wanted != found:
        raise TrialError(f"{knob}: set to {wanted}, and the running server has {found}. Use a value that it keeps.")


def free_port(host: Host, seed: int) -> int:
    """Return a TCP port on which nothing of this host listens; the first one that is looked at depends on the seed."""
    taken = listening(host)
    start_at = seed % len(PORTS)
    candidates = (PORTS[(start_at + step) % len(PORTS)] for step in range(len(PORTS)))
    found = next((port for port in candidates if port not in taken), None)
    if found is None:
        raise RefusedError(f"no free TCP port from {PORTS.start} to {PORTS.stop - 1}. Set server.port.")
    return found


def port_mistakes(host: Host, port: Value) -> tuple[str, ...]:
    """Return what is wrong with a port that the user chose."""
    if isinstance(port, int) and port in listening(host):
        return (f"port {port} is in use on {host.name}. Choose another server.port, or leave it out for a free one.",)
    return ()


def listens(host: Host, directory: str, ports: tuple[int, ...]) -> bool:
    """Return whether something listens on each of these TCP ports in the network namespace of the server in a directory."""
    pid = pid_of(host, directory)
    return pid is not None and listening(host, pid).issuperset(ports)


def listening(host: Host, pid: str = "self") -> frozenset[int]:
    """Return the TCP ports on which something listens in a process's network namespace, the lab's own, at any address."""
    found = set()
    for table in (f"/proc/{pid}/net/tcp", f"/proc/{pid}/net/tcp6"):
        try:
            rows = host.read(table).splitlines()[1:]
        except OSError:
            continue
        fields = (row.split() for row in rows)
        found |= {int(row[1].rpartition(":")[2], 16) for row in fields if len(row) > 3 and row[3] == LISTENING}
    return frozenset(found)


def unconfirmed_bytes(host: Host, pid: str) -> int:
    """Return the bytes that the TCP connections of a process's network namespace have not sent, or whose arrival is unknown."""
    fields = (row.split() for table in ("tcp", "tcp6") for row in _rows(host, pid, table))
    return sum(int(row[4].partition(":")[0], 16) for row in fields if len(row) > 4 and row[3] != LISTENING)


def _rows(host: Host, pid: str, table: str) -> list[str]:
    try:
        return host.read(f"/proc/{pid}/net/{table}").splitlines()[1:]
    except OSError:
        return []
