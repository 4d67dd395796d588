"""The directory servers of a machine: which processes are one, which of their operations can be traced, and on which devices.

slapd has a function for each operation. ns-slapd keeps those of search, compare and bind in an executable without symbols: a
search is then seen in the library that it calls, compares and binds in the plugin of the database. Plugins search through the
same library, inside of operations and beside them: only a call that comes out of the executable itself is a request of a client.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from assay.catalogue import Host
from assay.errors import EvidenceError
from assay.frozen import dataclass
from assay.machine import stack

KINDS = ("search", "compare", "bind", "modify", "add", "delete", "modrdn", "extended", "unbind", "abandon")
"""The operations of LDAP, as both servers name them in cn=monitor; the first has the number 1 in a program."""
SLAPD, NS_SLAPD = "slapd", "ns-slapd"
SERVERS = (SLAPD, NS_SLAPD)
LIBRARY, DATABASE = "libslapd.so", "libback-ldbm.so"
SEND_ENTRY, SEND_RESULT, SEND_RESULT_EXT = "slap_send_search_entry", "slap_send_ldap_result", "send_ldap_result_ext"
LMDB_FILES = ("data.mdb", "lock.mdb")
STANDARD_STREAMS = ("0", "1", "2")
CODE = re.compile(r"([0-9a-f]+)-([0-9a-f]+) r.x. \S+ \S+ \d+\s+(/.*)")
"""A line of /proc/PID/maps that holds code of a file."""


class CalledFrom(StrEnum):
    """Which calls of a function are operations of clients."""

    ALWAYS = "always"
    FROM_EXECUTABLE = "from executable"
    """Those that come out of the server's executable."""


@dataclass(frozen=True, kw_only=True)
class OperationProbe:
    """Where an operation of one kind begins and ends."""

    kind: str
    begin: str
    """The probe of bpftrace."""
    end: str
    reached: CalledFrom = CalledFrom.ALWAYS
    is_marker: bool = False
    """Whether it is a marker of the server's authors: it has no arguments."""
    nests: bool = False
    """Whether it may be called again inside of itself."""
    limit: str = ""
    """Which operations of this kind are not seen here."""


@dataclass(frozen=True, kw_only=True)
class TracedServer:
    """A directory server that runs."""

    pid: int
    software: str
    executable: str
    probes: tuple[OperationProbe, ...]
    missing: Mapping[str, str]
    """Kind -> why its operations, or some of them, are not seen."""
    code: tuple[int, int]
    """From where to where the code of the executable is mapped."""
    answer_probes: tuple[str, ...]
    """The functions that send entries and results."""
    devices: tuple[str, ...]
    """Kernel names of the block devices that its files are on, the topmost of each stack."""
    filesystems: tuple[str, ...] = ()
    """Types of the file systems that its files are on."""
    writes_in_turn: bool = True
    """Whether files may be written by `write`; sockets are, and a look at each of them costs."""


def running(host: Host) -> tuple[tuple[int, str], ...]:
    """Return the processes that are directory servers, each with its software, by PID."""
    numbers = sorted(int(name) for name in host.list("/proc") if name.isdigit())
    found = ((pid, software_of(host, pid)) for pid in numbers)
    return tuple((pid, software) for pid, software in found if software)


def software_of(host: Host, pid: int) -> str | None:
    """Return which directory server a process is; None for any other process, the servers' own tools included.

    slapadd and its like are names of slapd's executable, and ns-slapd imports with a verb before its options.
    """
    try:
        name = host.read(f"/proc/{pid}/comm").strip()
        words = host.read(f"/proc/{pid}/cmdline").split("\0")
    except OSError:
        return None
    called = posixpath.basename(words[0])
    software = next((one for one in SERVERS if one in (called, name)), None)
    if software == SLAPD:
        is_tool = called != SLAPD or any(word.startswith("-T") for word in words[1:])
    else:
        is_tool = bool(words[1:]) and words[1] != "" and not words[1].startswith("-")
    return None if is_tool else software


def server(host: Host, pid: int) -> TracedServer:
    """Return a directory server with what can be traced of it. Raises EvidenceError where it is none, or nothing can be."""
    software = software_of(host, pid)
    if software is None:
        raise EvidenceError(f"found process {pid} ({name_of(host, pid)}); expected a directory server: slapd or ns-slapd")
    try:
        maps = host.read(f"/proc/{pid}/maps")
    except OSError as error:
        raise EvidenceError(f"/proc/{pid}/maps: {error.strerror}. Run as root.") from error
    code = code_of(maps)
    files = {name: inside(host, pid, path) for path in code for name in named(path)}
    executable = posixpath.basename(host.real_path(f"/proc/{pid}/exe"))
    own = next((path for path in code if posixpath.basename(path) == executable), None)
    if own is None or not host.exists(inside(host, pid, own)):
        raise EvidenceError(f"the executable of process {pid} was replaced after its start. Restart the server.")
    paths = {**files, "": inside(host, pid, own)}
    listed = probes_of(host, software, paths)
    devices, filesystems = storage_of(host, pid)
    probes = tuple(chosen(software, paths, listed))
    if not probes:
        raise EvidenceError(f"{own}: no marker and no symbol of an operation. Install the server's debug symbols.")
    return TracedServer(
        pid=pid,
        software=software,
        executable=own,
        probes=probes,
        missing={**not_seen(probes), **{one.kind: one.limit for one in probes if one.limit}},
        code=code[own],
        answer_probes=answer_probes(software, paths, listed),
        devices=devices,
        filesystems=filesystems,
        writes_in_turn=writes_in_turn(host, pid, software),
    )


def name_of(host: Host, pid: int) -> str:
    """Return the name of a process."""
    try:
        return host.read(f"/proc/{pid}/comm").strip()
    except OSError:
        return "not running"


def code_of(maps: str) -> dict[str, tuple[int, int]]:
    """Return file -> from where to where its code is mapped."""
    found: dict[str, tuple[int, int]] = {}
    for line in maps.splitlines():
        if match := CODE.fullmatch(line):
            low, high = int(match[1], 16), int(match[2], 16)
            before = found.get(match[3], (low, high))
            found[match[3]] = (min(low, before[0]), max(high, before[1]))
    return found


def named(path: str) -> Iterator[str]:
    """Yield which of the server's own libraries a file is."""
    name = posixpath.basename(path)
    yield from (one for one in (LIBRARY, DATABASE) if name == one or name.startswith(f"{one}."))


def inside(host: Host, pid: int, path: str) -> str:
    """Return where a file of a process is found from here; a server in a container has a root of its own."""
    ours, theirs = (host.real_path(f"/proc/{who}/ns/mnt") for who in ("self", pid))
    return path if ours == theirs else f"/proc/{pid}/root{path}"


def probes_of(host: Host, software: str, paths: Mapping[str, str]) -> frozenset[str]:
    """Return the probes that there are, as bpftrace lists them."""
    wanted = [f"uprobe:{paths['']}:do_*", f"usdt:{paths['']}:*", *answering(software, paths)]
    if software == NS_SLAPD and LIBRARY in paths:
        wanted += [f"uprobe:{paths[LIBRARY]}:{name}" for name in ("do_*", "op_shared_search")]
        wanted += [f"usdt:{paths[LIBRARY]}:*"]
        wanted += [f"uprobe:{paths[DATABASE]}:ldbm_back_{kind}" for kind in ("bind", "compare")] if DATABASE in paths else []
    return frozenset(host.run(["bpftrace", "-l", ",".join(wanted)], check=False).stdout.split())


def chosen(software: str, paths: Mapping[str, str], listed: frozenset[str]) -> Iterator[OperationProbe]:
    """Yield the best probe of each kind: a marker of the authors, then the function, then what the function calls."""
    for kind in KINDS:
        found = next((probe for probe in candidates(software, kind, paths) if known(probe.begin, listed)), None)
        if found is not None:
            yield found


def candidates(software: str, kind: str, paths: Mapping[str, str]) -> Iterator[OperationProbe]:
    """Yield the probes of a kind, the best first."""
    for path in (paths.get(name) for name in ("", LIBRARY)):
        if path is not None:
            marker = f"usdt:{path}:{software}:do_{kind}__"
            yield OperationProbe(kind=kind, begin=f"{marker}entry", end=f"{marker}return", is_marker=True)
    for path in (paths.get(name) for name in ("", LIBRARY)):
        if path is not None:
            yield function(kind, path, f"do_{kind}")
    if kind == "search" and LIBRARY in paths:
        yield function(kind, paths[LIBRARY], "op_shared_search", reached=CalledFrom.FROM_EXECUTABLE, nests=True)
    if kind in LIMITS and DATABASE in paths:
        name, limit = f"ldbm_back_{kind}", LIMITS[kind]
        yield function(kind, paths[DATABASE], name, reached=CalledFrom.FROM_EXECUTABLE, limit=limit)


LIMITS = {
    "bind": "only binds that a database checks are seen, not those as the root DN, anonymous or by SASL",
    "compare": "only compares of entries in a database are seen",
}
"""Kind -> what the plugin of the database does not see."""


def function(kind: str, path: str, name: str, **more: object) -> OperationProbe:
    """Return the probe of a function's call and return."""
    return OperationProbe(kind=kind, begin=f"uprobe:{path}:{name}", end=f"uretprobe:{path}:{name}", **more)  # type: ignore[arg-type]


def known(probe: str, listed: frozenset[str]) -> bool:
    """Return True if bpftrace lists a probe; it may leave out the provider of a marker."""
    kind, path, *_, name = probe.split(":")
    return probe in listed or (kind == "usdt" and f"{kind}:{path}:{name}" in listed)


def not_seen(probes: Iterable[OperationProbe]) -> dict[str, str]:
    """Return kind -> the reason, for kinds without a probe."""
    seen = {probe.kind for probe in probes}
    return dict.fromkeys((kind for kind in KINDS if kind not in seen), "the server has neither a marker nor a symbol for it")


def answer_probes(software: str, paths: Mapping[str, str], listed: frozenset[str]) -> tuple[str, ...]:
    """Return the probes that see answers, those that there are."""
    return tuple(probe for probe in answering(software, paths) if probe in listed)


def answering(software: str, paths: Mapping[str, str]) -> tuple[str, ...]:
    """Return the probes that see answers: each entry and each result of slapd, each result of ns-slapd."""
    if software == SLAPD:
        return tuple(f"uprobe:{paths['']}:{name}" for name in (SEND_ENTRY, SEND_RESULT))
    return (f"uprobe:{paths[LIBRARY]}:{SEND_RESULT_EXT}",) if LIBRARY in paths else ()


def storage_of(host: Host, pid: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the topmost devices and the types of the file systems on which a process has files open for writing."""
    mounts = mounts_of(host, pid)
    used = dict.fromkeys(mounts[number] for number in written_mounts(host, pid) if number in mounts)
    devices = [device for mount in used for device in stack.mount_devices(host, mount)]
    return tuple(dict.fromkeys(devices)), tuple(dict.fromkeys(mount.filesystem for mount in used))


def mounts_of(host: Host, pid: int) -> dict[int, stack.Mount]:
    """Return the mounts that a process sees, by their number."""
    lines = [line for line in host.read(f"/proc/{pid}/mountinfo").splitlines() if line.strip()]
    return {int(line.split(" ", 1)[0]): mount for line, mount in zip(lines, stack.parse_mounts("\n".join(lines)), strict=True)}


def written(host: Host, pid: int) -> dict[str, str]:
    """Return descriptor -> path of each regular file that is open for writing."""
    found = {name: host.real_path(f"/proc/{pid}/fd/{name}") for name in host.list(f"/proc/{pid}/fd")}
    files = {name: path for name, path in found.items() if not path.startswith(("/proc/", "/dev/", "/sys/"))}
    return {name: path for name, path in files.items() if int(descriptor(host, pid, name).get("flags", "0"), 8) & 3}


def writes_in_turn(host: Host, pid: int, software: str) -> bool:
    """Return False for a slapd that has no files open for writing but those of LMDB, the standard streams aside."""
    names = {posixpath.basename(path) for number, path in written(host, pid).items() if number not in STANDARD_STREAMS}
    return software != SLAPD or not names <= {*LMDB_FILES}


def descriptor(host: Host, pid: int, name: str) -> dict[str, str]:
    """Return what the kernel says of a descriptor; nothing where it is closed."""
    try:
        lines = host.read(f"/proc/{pid}/fdinfo/{name}").splitlines()
    except OSError:
        return {}
    return dict(line.split(":", 1) for line in lines if ":" in line)


def written_mounts(host: Host, pid: int) -> Iterator[int]:
    """Yield the number of the mount of each regular file that is open for writing."""
    for name in written(host, pid):
        yield int(descriptor(host, pid, name).get("mnt_id", "-1"))
