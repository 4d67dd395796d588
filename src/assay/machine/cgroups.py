"""Control groups of this host: the hierarchies, groups that Assay creates, and the throttle of a block device to a known speed.

On v1 a throttle rule (blkio.throttle) belongs to one group and child groups do not inherit it: the rule is set in the root group,
and our processes must be there too (kernel writeback of buffered writes always is). On v2 the rule (io.max) is set in a group of
the trial, which the clients enter; writeback follows them if the controllers io and memory are both enabled.
Sources: Documentation/admin-guide/cgroup-v1/ (blkio-controller.rst) and cgroup-v2.rst of Linux.
"""

from __future__ import annotations

import errno
import posixpath
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.catalogue import Host, Knob, KnobKind, Undo, Unit
from assay.errors import RefusedError, TrialError
from assay.machine.stack import mounts
from assay.records import Direction, Limit, Value

Controller = Literal["io", "memory", "cpuacct"]
V1_NAMES: Mapping[Controller, str] = {"io": "blkio", "memory": "memory", "cpuacct": "cpuacct"}
ROOT = "/sys/fs/cgroup"
USAGE = {1: "cpuacct.usage", 2: "cpu.stat"}
"""The file that has the CPU time of a group and of all below it, with what its ended processes used."""
INITIAL_NAMESPACE = "[4026531835]"
"""Inode of the machine's first cgroup namespace (PROC_CGROUP_INIT_INO, include/linux/proc_ns.h)."""
FOLDER = "assay"
"""On v2 all our groups lie below this one, at the root: other groups may contain processes, which blocks controllers."""
PATIENCE_S, STEP_S = 5.0, 0.02
"""How long a group may be busy with processes that end or start others, and the time between two tries."""
RATES = ("read_bytes_per_s", "write_bytes_per_s", "read_ops_per_s", "write_ops_per_s")
THROTTLE_KNOBS = tuple(
    Knob(
        name=f"limit.{name}",
        kind=KnobKind.QUANTITY,
        unit=Unit.BYTES_PER_S if "bytes" in name else Unit.PER_S,
        low=1,
        help=f"limit of the device: {name.replace('_per_s', ' per second').replace('_', ' ')}",
    )
    for name in RATES
)
"""Knobs of a target that can be throttled."""
V1_THROTTLE_FILES = {
    "read_bytes_per_s": "blkio.throttle.read_bps_device",
    "write_bytes_per_s": "blkio.throttle.write_bps_device",
    "read_ops_per_s": "blkio.throttle.read_iops_device",
    "write_ops_per_s": "blkio.throttle.write_iops_device",
}
V2_THROTTLE_WORDS = {
    "read_bytes_per_s": "rbps",
    "write_bytes_per_s": "wbps",
    "read_ops_per_s": "riops",
    "write_ops_per_s": "wiops",
}


@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """The hierarchy of one controller, and our own group in it."""

    controller: Controller
    version: Literal[1, 2]
    root: str
    """Directory of the root group."""
    own: str
    """Our group as in /proc/self/cgroup: `/` is the root."""
    within: str
    """Root of the mount as the kernel names it: not `/` if only a part of the tree is mounted."""

    @property
    def own_path(self) -> str:
        """Directory of our own group."""
        inside = self.own.removeprefix(self.within) if self.within != "/" else self.own
        return posixpath.normpath(self.root + "/" + inside.lstrip("/"))


def parse_membership(text: str) -> dict[str, str]:
    """Parse /proc/PID/cgroup into controller -> group; the unified hierarchy has the empty name."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, separator, group = rest.partition(":")
        if separator:
            found.update(dict.fromkeys(controllers.split(","), group))
    return found


def hierarchy(host: Host, controller: Controller) -> Hierarchy | None:
    """Return the hierarchy of this controller; None without one."""
    try:
        membership = parse_membership(host.read("/proc/self/cgroup"))
        mounted = mounts(host)
    except OSError:
        return None
    for mount in mounted:
        name = V1_NAMES[controller]
        if mount.filesystem == "cgroup" and name in mount.options and name in membership:
            return Hierarchy(controller=controller, version=1, root=mount.point, own=membership[name], within=mount.root)
    for mount in mounted:
        offered = _words(host, f"{mount.point}/cgroup.controllers")
        if mount.filesystem == "cgroup2" and (controller in offered or (controller == "cpuacct" and offered)):
            return Hierarchy(controller=controller, version=2, root=mount.point, own=membership.get("", "/"), within=mount.root)
    return None


def account(membership: str) -> str | None:
    """Return the file with the CPU time of a process's control group, from its /proc/PID/cgroup.

    None for the root group, which has everybody's, and for a group that is not to be seen from here.
    """
    groups = parse_membership(membership)
    version = 1 if "cpuacct" in groups else 2
    group = groups.get("cpuacct" if version == 1 else "", "/")
    if group == "/" or "/.." in group:
        return None
    return f"{ROOT}{'/cpuacct' if version == 1 else ''}{group}/{USAGE[version]}"


def in_initial_namespace(host: Host) -> bool:
    """Return True if the visible root is the machine's root group, not a container's."""
    return host.real_path("/proc/self/ns/cgroup").endswith(INITIAL_NAMESPACE)


def make_group(host: Host, undo: Undo, where: Hierarchy, label: str) -> str:
    """Create a group, after its ledger entry, and return its path. Raises RefusedError without permission."""
    name = f"{label}-{secrets.token_hex(3)}"
    if where.version == 1:
        path = f"{where.own_path}/assay-{name}"
        _mkdir(host, undo, path)
        return path
    folder = f"{where.root}/{FOLDER}"
    _enable(host, where.root)
    if not host.exists(folder):
        _mkdir(host, undo, folder)
    _enable(host, folder)
    _mkdir(host, undo, f"{folder}/{name}")
    return f"{folder}/{name}"


def put(host: Host, path: str, text: str) -> None:
    """Write a group's setting. Raises RefusedError with the file and the reason."""
    try:
        host.write(path, text)
    except OSError as error:
        # v2: a group with processes gives its children no controller, unless it is the machine's root group.
        remedy = "Move its processes into a child group." if error.errno == errno.EBUSY else "Run as root."
        raise RefusedError(f"{path}: cannot write {text!r} ({error.strerror}). {remedy}") from error


def limit_memory(host: Host, path: str, version: int, memory_bytes: int) -> None:
    """Limit the memory of a group, swap included. Raises RefusedError."""
    if version == 2:
        put(host, f"{path}/memory.max", str(memory_bytes))
        # Without this, pages would go to swap and the limit would be none.
        if host.exists(f"{path}/memory.swap.max"):
            put(host, f"{path}/memory.swap.max", "0")
        return
    put(host, f"{path}/memory.limit_in_bytes", str(memory_bytes))
    if host.exists(f"{path}/memory.memsw.limit_in_bytes"):
        put(host, f"{path}/memory.memsw.limit_in_bytes", str(memory_bytes))


def memory_limit(host: Host, path: str) -> int | None:
    """Return the limit that is in force for a group; None without one."""
    words = (*_words(host, f"{path}/memory.max"), *_words(host, f"{path}/memory.limit_in_bytes"))
    return next((int(word) for word in words if word.isdigit()), None)


def holds(host: Host, path: str, pid: str) -> bool:
    """Return True if a process is in a group."""
    return pid in _words(host, f"{path}/cgroup.procs")


def remove_group(host: Host, path: str) -> bool:
    """Remove our group and move its processes out; return False if it is gone or contains another group in use.

    On v2 they go to this process's group: the parent gives controllers to its children, and accepts no process.
    """
    if not host.exists(path) or f"/{FOLDER}" not in path:
        return False
    if any(host.exists(f"{path}/{name}/cgroup.procs") for name in host.list(path)):
        return False
    where = hierarchy(host, "memory") or hierarchy(host, "io")
    refuge = where.own_path if where is not None and where.version == 2 else posixpath.dirname(path)
    deadline = time.monotonic() + PATIENCE_S
    while True:  # of a process that ends nothing is listed, and it is in the group until it is gone
        for pid in _words(host, f"{path}/cgroup.procs"):
            _move(host, refuge, pid)
        is_over = time.monotonic() >= deadline
        if host.run(["rmdir", "--", path], check=is_over).status == 0 or not host.exists(path):
            return True
        time.sleep(STEP_S)


def _move(host: Host, group: str, pid: str) -> None:
    try:
        host.write(f"{group}/cgroup.procs", pid)
    except OSError as error:
        if host.exists(f"/proc/{pid}"):
            raise TrialError(f"process {pid} cannot be moved to {group}: {error.strerror}") from error


def _enable(host: Host, group: str) -> None:
    """Enable both controllers for child groups. They stay enabled: another lab's groups may need them."""
    wanted: Sequence[Controller] = ("io", "memory")
    enabled = _words(host, f"{group}/cgroup.subtree_control")
    lacking = [name for name in wanted if name not in enabled and name in _words(host, f"{group}/cgroup.controllers")]
    if lacking:
        put(host, f"{group}/cgroup.subtree_control", " ".join(f"+{name}" for name in lacking))


def _mkdir(host: Host, undo: Undo, path: str) -> None:
    undo.add("cgroup", path=path)
    try:
        host.run(["mkdir", "--", path])
    except TrialError as error:
        undo.undo("cgroup", path=path)
        raise RefusedError(f"{path}: cannot create a control group ({error}). Run as root.") from error


def _words(host: Host, path: str) -> tuple[str, ...]:
    try:
        return tuple(host.read(path).split())
    except OSError:
        return ()


def rates_of(knobs: Mapping[str, Value]) -> dict[str, int]:
    """Return the rates in a target's knobs `limit.*`."""
    found = {name: knobs.get(f"limit.{name}") for name in RATES}
    return {name: value for name, value in found.items() if isinstance(value, int)}


def throttle_limits(device: str, rates: Mapping[str, int], declared_by: str) -> tuple[Limit, ...]:
    """Return the limits as records, one for each limited direction."""

    def one(direction: Direction) -> Limit:
        of_bytes, of_ops = (rates.get(f"{direction.value}_{unit}_per_s") for unit in ("bytes", "ops"))
        return Limit(device=device, direction=direction, bytes_per_s=of_bytes, ops_per_s=of_ops, declared_by=declared_by)

    both = (one(Direction.READ), one(Direction.WRITE))
    return tuple(limit for limit in both if limit.bytes_per_s is not None or limit.ops_per_s is not None)


def throttle_obstacle(host: Host) -> str | None:
    """Return why no device can be throttled here, with the remedy; None if it is possible."""
    where = hierarchy(host, "io")
    if where is None:
        return "no control group for block I/O. Use a kernel with the controller blkio (v1) or io (v2)."
    if not host.is_root():
        return "setting a throttle rule needs root. Run as root, or remove `limit`."
    return _v1_obstacle(host, where) if where.version == 1 else None


def _v1_obstacle(host: Host, where: Hierarchy) -> str | None:
    if where.own != "/" or where.within != "/" or not in_initial_namespace(host):
        return (
            f"this process is in the blkio group {where.own}, not in the root group, where a rule of control groups v1 must be "
            f"set. Move the shell to the root group: echo $$ > {where.root}/cgroup.procs"
        )
    if not host.exists(f"{where.root}/{V1_THROTTLE_FILES['read_bytes_per_s']}"):
        return f"{where.root}: no throttle files. Use a kernel with CONFIG_BLK_DEV_THROTTLING."
    return None


def throttle(host: Host, undo: Undo, number: str, rates: Mapping[str, int], label: str) -> str | None:
    """Throttle the device MAJ:MIN; return the group that clients must enter (v2), or None (v1).

    `rates` has some of RATES, in bytes or operations per second. Raises RefusedError if the rule would not apply to the clients,
    may not be set, or has no effect.
    """
    reason = throttle_obstacle(host)
    where = hierarchy(host, "io")
    if reason is not None or where is None:
        raise RefusedError(reason or "no control group for block I/O")
    if where.version == 2:
        group = make_group(host, undo, where, label)
        _rule(
            host, f"{group}/io.max", f"{number} " + " ".join(f"{V2_THROTTLE_WORDS[name]}={rate}" for name, rate in rates.items())
        )
        return group
    for name, rate in rates.items():
        file = f"{where.root}/{V1_THROTTLE_FILES[name]}"
        undo.add("throttle", file=file, device=number, value=str(rate))
        _rule(host, file, f"{number} {rate}")
    return None


def remove_throttle_rule(host: Host, file: str, number: str, value: str) -> bool:
    """Remove a v1 rule if it is unchanged; return False if it is not."""
    if f"{number} {value}" not in _rules(host, file):
        return False
    host.write(file, f"{number} 0")
    return True


def _rule(host: Host, file: str, rule: str) -> None:
    put(host, file, rule)
    number, *words = rule.split()
    taken = [line.split() for line in _rules(host, file) if line.startswith(f"{number} ")]
    if not any(set(words) <= set(line) for line in taken):
        raise RefusedError(f"{file} did not keep {rule!r}: the kernel does not throttle this device.")


def _rules(host: Host, file: str) -> list[str]:
    try:
        return host.read(file).splitlines()
    except OSError:
        return []
