"""What this machine allows, which evidence will be missing and how to get it, and what killed labs left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from assay import catalogue
from assay.catalogue import Host
from assay.hosts.local import Local
from assay.machine import cgroups, throttle, tools
from assay.machine.filesystems import FILESYSTEMS
from assay.plain import to_plain
from assay.terminal.output import deliver
from assay.undo.ledger import Cleaned, Ledger, Orphan

FREE_TOOLS = ("losetup", "mount", "umount", "setpriv", "filefrag", "fio")
"""Tools of targets and workloads besides those of the file systems."""


@dataclass(frozen=True, kw_only=True)
class Ability:
    """One thing that this machine allows, or why not and what would change that."""

    name: str
    allowed: bool
    serves: str
    """What needs it."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Gap:
    """An observer that cannot look here, and the evidence that is missing then."""

    observer: str
    evidence: tuple[str, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class Health:
    """All that the doctor found."""

    host: str
    abilities: tuple[Ability, ...]
    gaps: tuple[Gap, ...]
    orphans: tuple[Orphan, ...]
    cleaned: tuple[Cleaned, ...]


def doctor(json_to: str | None, fix: bool) -> int:
    """Print what was found; with `fix`, undo what orphans left. 0, or 1 where something of ours could not be undone."""
    host = Local()
    ledger = Ledger()
    orphans = ledger.orphans(host)
    cleaned = ledger.clean(host) if fix else ()
    health = Health(host=host.name, abilities=abilities(host), gaps=gaps(host), orphans=orphans, cleaned=cleaned)
    deliver(json_to, "doctor", lambda: to_plain(health), lambda: text(health))
    return 1 if any(one.state == "left" for one in cleaned) else 0


def abilities(host: Host) -> tuple[Ability, ...]:
    """What the machine allows us, in the order in which it matters."""
    return (
        *(_ability(name, serves, check(host)) for name, serves, check in CHECKS),
        *(_ability(tool, serves, next(iter(tools.missing(host, (tool,))), None)) for tool, serves in _tools()),
    )


def _tools() -> tuple[tuple[str, str], ...]:
    made = tuple((tool, f"target loopfs with {kind.name}") for kind in FILESYSTEMS.values() for tool in kind.tools)
    return (*made, *((tool, "workload command, if it calls it" if tool == "fio" else "target loopfs") for tool in FREE_TOOLS))


def _ability(name: str, serves: str, reason: str | None) -> Ability:
    return Ability(name=name, serves=serves, allowed=reason is None, reason=reason or "")


def gaps(host: Host) -> tuple[Gap, ...]:
    """The observers that cannot look at this host."""
    observers = (catalogue.find("observers", name) for name in catalogue.names("observers"))
    found = ((observer, observer.available(host)) for observer in observers)
    return tuple(Gap(observer=observer.name, evidence=observer.gives, reason=reason) for observer, reason in found if reason)


def _root(host: Host) -> str | None:
    return None if host.is_root() else "found that we are not root; expected root for mounts and limits: use sudo"


def _cachestat(host: Host) -> str | None:
    if host.syscalls is None:
        return "found no system calls on this host; expected Assay installed there"
    with tempfile.NamedTemporaryFile(prefix="assay-") as file:
        try:
            host.syscalls.cachestat(file.name)
        except OSError as error:
            return f"found that cachestat(2) fails ({error.strerror}); expected Linux 6.5 or newer, for proofs of cold caches"
    return None


def _pressure(host: Host) -> str | None:
    try:
        host.read("/proc/pressure/io")
    except OSError as error:
        return f"found no /proc/pressure/io ({error.strerror}); expected it: boot with psi=1"
    return None


def _counters(host: Host) -> str | None:
    """perf_event_open(2) by the user's own processes, and a processor (real or virtual) that counts for them."""
    if not any(name.startswith(("cpu", "armv8")) for name in host.list("/sys/bus/event_source/devices")):
        return (
            "found no hardware counters below /sys/bus/event_source/devices; expected a PMU: "
            "the engine's instructions and cycles per operation are unknown here (a virtual machine without one)"
        )
    try:
        level = int(host.read("/proc/sys/kernel/perf_event_paranoid"))
    except (OSError, ValueError):
        return (
            "found no /proc/sys/kernel/perf_event_paranoid; expected a kernel with perf events: the engine's own cost is unknown"
        )
    if level <= 2 or host.is_root():
        return None
    return f"found kernel.perf_event_paranoid = {level}; expected 2 or less: sysctl kernel.perf_event_paranoid=2"


def _memory(host: Host) -> str | None:
    if cgroups.hierarchy(host, "memory") is None:
        return "found no memory control group; expected one for the knob `memory`: boot with cgroup_enable=memory"
    return None if host.is_root() else "found that we are not root; expected root to make a group for the knob `memory`: use sudo"


CHECKS: tuple[tuple[str, str, Callable[[Host], str | None]], ...] = (
    ("root", "loop devices, mounts, limits", _root),
    ("cachestat", "proof that a cache was cold (T01, T12, D01)", _cachestat),
    ("throttle", "knobs `limit.*` of loopfs", throttle.obstacle),
    ("memory limit", "knob `memory`", _memory),
    ("pressure", "stall time of CPU, memory and disk", _pressure),
    ("perf counters", "the engine's own cost per operation", _counters),
)


def text(health: Health) -> str:
    """For people: what is allowed, what is missing, what was cleaned."""
    width = max(len(one.name) for one in health.abilities)
    lines = [f"{'yes' if one.allowed else 'no ':4}{one.name:{width}}  {one.reason or one.serves}" for one in health.abilities]
    lines += ["", *_gap_lines(health.gaps), "", *_orphan_lines(health)]
    return "\n".join(lines)


def _gap_lines(missing: tuple[Gap, ...]) -> list[str]:
    if not missing:
        return ["Evidence: every observer can look at this machine."]
    return [
        "Evidence that will be missing:",
        *(f"  {gap.observer}: {', '.join(gap.evidence)}\n      {gap.reason}" for gap in missing),
    ]


def _orphan_lines(health: Health) -> list[str]:
    if not health.orphans:
        return ["Orphans: none."]
    if not health.cleaned:
        left = [f"  {entry}" for orphan in health.orphans for entry in orphan.entries]
        return ["Orphans (left by a lab that was killed; `assay doctor --fix` undoes them):", *left]
    return ["Orphans:", *(f"  {one.state:7}{one.entry}{': ' + one.reason if one.reason else ''}" for one in health.cleaned)]
