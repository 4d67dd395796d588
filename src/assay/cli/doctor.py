"""Check what this machine supports, which evidence will be missing, and what killed labs left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay import catalogue
from assay.catalogue import Host
from assay.hosts.local import Local
from assay.machine import afs_clients, cgroups, external_commands, line, nfs_clients, tape
from assay.machine.filesystems import FILESYSTEMS
from assay.machine.mounted import AUTO
from assay.machine.stack import mounts
from assay.plain import to_plain
from assay.terminal.output import deliver
from assay.undo.entries import Cleaned, LedgerEntry, Orphan
from assay.undo.ledger import Ledger

FREE_TOOLS = ("losetup", "mount", "umount", "setpriv", "filefrag", "fio")
"""Tools of targets and workloads besides those of the file systems."""

SERVER_TOOLS = {
    "sshd": "target sftp_openssh",
    "sshfs": "target sftp_openssh",
    "ganesha.nfsd": "target nfs_ganesha",
    "rpcbind": "targets nfs_ganesha and nfs_kernel",
    "rpc.mountd": "target nfs_kernel",
    "smbd": "target smb_samba",
    "apache2": "target webdav",
    "rclone": "targets smb_samba and webdav",
    "qemu-storage-daemon": "targets iscsi and nbd",
    "nbdfuse": "targets crash_disk, iscsi and nbd",
    "tgtd": "target iscsi",
    "mt": "target tape",
    "mfsmaster": "target moosefs",
    "glusterd": "target gluster",
    "zpool": "target zfs",
    "slapd": "target ldap_openldap",
    "ns-slapd": "target ldap_389ds",
    "ldapsearch": "target ldap_existing",
    "bpftrace": "verb dsio; observers directory_io and tracepoints",
}
"""Programs of servers and their clients -> the targets that start them."""
NETWORK_TOOLS = {
    "ip": "targets line and middlebox, targets with a server; routes of network evidence",
    "tc": "rates of shapers (L03)",
    "nsenter": "targets line and middlebox, targets with a server",
    "unshare": "targets line and middlebox, targets with a server",
    "ethtool": "offloads of interfaces (C03)",
}
"""Tools that make networks, or that evidence of them comes from -> what needs them."""
FUSE = "/dev/fuse"
FIRST_NAMESPACES = {"pid": 4026531836, "user": 4026531837}
"""Kind -> inode of the machine's own namespace (PROC_PID_INIT_INO and its like, include/linux/proc_ns.h)."""
OVERLAY = "overlay"

CLEAN_FAR = "assay hosts FILE clean"


@dataclass(frozen=True, kw_only=True)
class Ability:
    """A capability of this machine; if absent, the reason and the remedy."""

    name: str
    allowed: bool
    serves: str
    """What needs it."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class MissingObserver:
    """An observer that does not work here, and the evidence that will be missing."""

    observer: str
    evidence: tuple[str, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class TapeDrive:
    """A tape drive, as the target `tape` asks for it."""

    path: str
    model: str
    serial: str | None


@dataclass(frozen=True, kw_only=True)
class Health:
    """All findings of the doctor."""

    host: str
    abilities: tuple[Ability, ...]
    gaps: tuple[MissingObserver, ...]
    orphans: tuple[Orphan, ...]
    cleaned: tuple[Cleaned, ...]
    tapes: tuple[TapeDrive, ...] = ()
    elsewhere: tuple[Orphan, ...] = ()
    """What killed runs perhaps left on other hosts, which only their experiment file can name."""


def doctor(json_to: str | None, fix: bool) -> int:
    """Print the findings; with `fix`, clean up after killed labs. Return 0, or 1 if a cleanup failed."""
    host = Local()
    ledger = Ledger()
    orphans = ledger.orphans(host)
    cleaned = ledger.clean(host) if fix else ()
    missing = gaps(host, catalogue.names("observers"))
    health = Health(
        host=host.name,
        abilities=abilities(host),
        gaps=missing,
        orphans=orphans,
        cleaned=cleaned,
        tapes=tuple(
            TapeDrive(path=f"/dev/n{drive}", model=tape.model(host, drive), serial=tape.serial(host, drive))
            for drive in tape.drives(host)
        ),
        elsewhere=ledger.elsewhere(host),
    )
    deliver(json_to, "doctor", lambda: to_plain(health), lambda: text(health))
    return 1 if any(one.state == "left" for one in cleaned) else 0


def abilities(host: Host) -> tuple[Ability, ...]:
    """Return the capabilities of the machine, the most important first."""
    return (
        *(_ability(name, serves, check(host)) for name, serves, check in CHECKS),
        *(_ability(tool, serves, next(iter(external_commands.missing(host, (tool,))), None)) for tool, serves in _tools()),
    )


def _tools() -> tuple[tuple[str, str], ...]:
    made = tuple((tool, f"target loopfs with {kind.name}") for kind in FILESYSTEMS.values() for tool in kind.tools)
    free = ((tool, "workload command with fio" if tool == "fio" else "target loopfs") for tool in FREE_TOOLS)
    return (*made, *free, *NETWORK_TOOLS.items(), *SERVER_TOOLS.items())


def _ability(name: str, serves: str, reason: str | None) -> Ability:
    return Ability(name=name, serves=serves, allowed=reason is None, reason=reason or "")


def gaps(host: Host, names: Sequence[str]) -> tuple[MissingObserver, ...]:
    """Return those of these observers that do not work on this host."""
    system = catalogue.system_of(host)
    observers = [catalogue.find("observers", name) for name in names]
    found = [(one, one.available(host)) for one in observers if not one.systems or system in one.systems]
    if system != catalogue.LINUX:
        found += [
            (one, f"{system} does not report it")
            for one in observers
            if catalogue.LINUX in one.systems and system not in one.systems
        ]
    return tuple(
        MissingObserver(observer=observer.name, evidence=observer.gives, reason=reason) for observer, reason in found if reason
    )


def _root(host: Host) -> str | None:
    return None if host.is_root() else "not root. Use sudo for mounts and limits."


def _whole_machine(host: Host) -> str | None:
    """Return what a container hides: which namespaces are not the machine's, and that its files are on layers."""
    own = [name for name, first in FIRST_NAMESPACES.items() if not host.real_path(f"/proc/self/ns/{name}").endswith(f"[{first}]")]
    own += [] if cgroups.in_initial_namespace(host) else ["cgroup"]
    try:
        layered = any((one.point, one.filesystem) == ("/", OVERLAY) for one in mounts(host))
    except OSError as error:
        return f"/proc/self/mountinfo: {error.strerror}. Mount /proc."
    if not own and not layered:
        return None
    signs = [f"namespaces of its own: {', '.join(own)}"] * bool(own) + ["files on overlay layers"] * layered
    hidden = ["other programs disturb without a name"] + ["quotas above it are not seen"] * ("cgroup" in own)
    hidden += ["layers show no device"] * layered
    return f"a container ({'; '.join(signs)}): {', '.join(hidden)}. Run on the machine itself, or measure a volume (-v DIR)."


def _cachestat(host: Host) -> str | None:
    if host.syscalls is None:
        return "no system calls on this host. Install Assay there."
    with tempfile.NamedTemporaryFile(prefix="assay-") as file:
        try:
            host.syscalls.cachestat(file.name)
        except OSError as error:
            return f"cachestat(2) fails ({error.strerror}). Proof of cold caches needs Linux 6.5 or newer."
    return None


def _pressure(host: Host) -> str | None:
    try:
        host.read("/proc/pressure/io")
    except OSError as error:
        return f"/proc/pressure/io: {error.strerror}. Boot with psi=1."
    return None


def _counters(host: Host) -> str | None:
    """Return why perf_event_open(2) does not work for the user's own processes, or the CPU has no counters."""
    if not any(name.startswith(("cpu", "armv8")) for name in host.list("/sys/bus/event_source/devices")):
        return (
            "no hardware counters below /sys/bus/event_source/devices (a virtual machine without a PMU)."
            " Instructions and cycles per operation of the engine stay unknown."
        )
    try:
        level = int(host.read("/proc/sys/kernel/perf_event_paranoid"))
    except (OSError, ValueError):
        return "no /proc/sys/kernel/perf_event_paranoid. The cost of the engine stays unknown without a kernel with perf events."
    if level <= 2 or host.is_root():
        return None
    return f"kernel.perf_event_paranoid = {level} (limit 2). Run sysctl kernel.perf_event_paranoid=2."


def _fuse(host: Host) -> str | None:
    return None if host.exists(FUSE) else f"{FUSE}: not found. Load the kernel module fuse."


def _tun(host: Host) -> str | None:
    if not host.exists(line.DEVICE):
        return f"{line.DEVICE}: not found. Load the kernel module tun."
    return None if host.is_root() else "not root. Use sudo for paths and network namespaces."


def _nfs_client(host: Host) -> str | None:
    return next(iter(nfs_clients.mistakes(host, {"client": AUTO})), None)


def _afs_client(host: Host) -> str | None:
    return next(iter(afs_clients.lacks(host, {})), None)


def _memory(host: Host) -> str | None:
    if cgroups.hierarchy(host, "memory") is None:
        return "no memory cgroup for the knob `memory`. Boot with cgroup_enable=memory."
    return None if host.is_root() else "not root. Use sudo to create the cgroup of the knob `memory`."


CHECKS: tuple[tuple[str, str, Callable[[Host], str | None]], ...] = (
    ("root", "loop devices, mounts, limits", _root),
    ("whole machine", "names of programs that disturb, quotas, devices", _whole_machine),
    ("cachestat", "proof of cold caches (T01, T12, D01)", _cachestat),
    ("throttle", "knobs `limit.*` of loopfs", cgroups.throttle_obstacle),
    ("memory limit", "knob `memory`", _memory),
    ("fuse", "mounts of targets with a server", _fuse),
    ("tun", "emulated paths, [paths.NAME]", _tun),
    ("NFS client", "targets nfs_ganesha, nfs_kernel and nfs_existing", _nfs_client),
    ("AFS client", "targets afs_openafs and afs_existing", _afs_client),
    ("pressure", "stall time of CPU, memory and disk", _pressure),
    ("perf counters", "CPU cost per operation of the engine", _counters),
)


def text(health: Health) -> str:
    """Return the findings for people: capabilities, missing evidence, cleanup."""
    width = max(len(one.name) for one in health.abilities)
    lines = [
        f"{'yes' if one.allowed else 'no ':4}{one.name:{width}}  {one.reason.removeprefix(f'{one.name}: ') or one.serves}"
        for one in health.abilities
    ]
    lines += [
        "",
        _missing_line(health.abilities),
        "",
        *_tape_lines(health.tapes),
        *_gap_lines(health.gaps),
        "",
        *_orphan_lines(health),
        *_lines_elsewhere(health.elsewhere),
    ]
    return "\n".join(lines)


def _missing_line(found: Sequence[Ability]) -> str:
    """Return what is missing in one line: it is easily overlooked among all that is there."""
    names = [one.name for one in found if not one.allowed]
    if not names:
        return f"All {len(found)} are here."
    return f"Missing: {len(names)} of {len(found)} ({', '.join(names)}). Install only what your experiment uses."


def _tape_lines(drives: Sequence[TapeDrive]) -> list[str]:
    """Return the drives with what the target `tape` needs; nothing without a drive."""
    return [*(f"tape {one.path}  {one.model}, serial {one.serial or 'unknown'}" for one in drives), *([""] if drives else [])]


def _gap_lines(missing: tuple[MissingObserver, ...]) -> list[str]:
    if not missing:
        return ["Evidence: all observers work on this machine."]
    return [
        "Missing evidence:",
        *(f"  {gap.observer}: {', '.join(gap.evidence)}\n      {gap.reason}" for gap in missing),
    ]


def _orphan_lines(health: Health) -> list[str]:
    if not health.orphans:
        return ["Leftovers of killed runs: none."]
    if not health.cleaned:
        left = [f"  {entry}" for orphan in health.orphans for entry in orphan.entries]
        return ["Leftovers of killed runs (clean up with `assay doctor --fix`):", *left]
    return [
        "Cleanup after killed runs:",
        *(f"  {one.state:7}{one.entry}{': ' + one.reason if one.reason else ''}" for one in health.cleaned),
    ]


def _lines_elsewhere(orphans: tuple[Orphan, ...]) -> list[str]:
    """Return what is perhaps left on other hosts, by host and address: they undo it themselves, unless they were lost."""
    if not orphans:
        return []
    found: dict[str, list[LedgerEntry]] = {}
    for entry in (entry for orphan in orphans for entry in orphan.entries):
        found.setdefault(f"{entry.host} ({entry.address})" if entry.address else entry.host, []).append(entry)
    forget = "--forget HOST strikes out what a host has that never returns"
    lines = [f"Killed runs may have left something on other hosts. Clean up: `{CLEAN_FAR}`, FILE names these hosts; {forget}:"]
    for host, entries in found.items():
        lines += [f"  {host}", *(f"    {entry}" for entry in entries)]
    return lines
