"""Throttle a block device to a known speed: blkio.throttle on control groups v1, io.max on v2.

On v1 a rule belongs to one group and child groups do not inherit it: the rule is set in the root group, and our processes must
be there too (kernel writeback of buffered writes always is). On v2 the rule is set in a group of the trial, which the clients
enter; writeback follows them if the controllers io and memory are both enabled.
Source: Documentation/admin-guide/cgroup-v1/blkio-controller.rst, cgroup-v2.rst (io.max) of Linux.
"""

from __future__ import annotations

from collections.abc import Mapping

from assay.catalogue import Host, Knob, KnobKind, Undo, Unit
from assay.errors import RefusedError
from assay.machine.cgroups import Hierarchy, hierarchy, in_initial_namespace, make_group, put
from assay.records import Direction, Limit, Value

RATES = ("read_bytes_per_s", "write_bytes_per_s", "read_ops_per_s", "write_ops_per_s")
KNOBS = tuple(
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
V1_FILES = {
    "read_bytes_per_s": "blkio.throttle.read_bps_device",
    "write_bytes_per_s": "blkio.throttle.write_bps_device",
    "read_ops_per_s": "blkio.throttle.read_iops_device",
    "write_ops_per_s": "blkio.throttle.write_iops_device",
}
V2_WORDS = {"read_bytes_per_s": "rbps", "write_bytes_per_s": "wbps", "read_ops_per_s": "riops", "write_ops_per_s": "wiops"}


def rates_of(knobs: Mapping[str, Value]) -> dict[str, int]:
    """Return the rates in a target's knobs `limit.*`."""
    found = {name: knobs.get(f"limit.{name}") for name in RATES}
    return {name: value for name, value in found.items() if isinstance(value, int)}


def limits(device: str, rates: Mapping[str, int], declared_by: str) -> tuple[Limit, ...]:
    """Return the limits as records, one for each limited direction."""

    def one(direction: Direction) -> Limit:
        of_bytes, of_ops = (rates.get(f"{direction.value}_{unit}_per_s") for unit in ("bytes", "ops"))
        return Limit(device=device, direction=direction, bytes_per_s=of_bytes, ops_per_s=of_ops, declared_by=declared_by)

    both = (one(Direction.READ), one(Direction.WRITE))
    return tuple(limit for limit in both if limit.bytes_per_s is not None or limit.ops_per_s is not None)


def obstacle(host: Host) -> str | None:
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
    if not host.exists(f"{where.root}/{V1_FILES['read_bytes_per_s']}"):
        return f"{where.root}: no throttle files. Use a kernel with CONFIG_BLK_DEV_THROTTLING."
    return None


def set_rules(host: Host, undo: Undo, number: str, rates: Mapping[str, int], label: str) -> str | None:
    """Throttle the device MAJ:MIN; return the group that clients must enter (v2), or None (v1).

    `rates` has some of RATES, in bytes or operations per second. Raises RefusedError if the rule would not apply to the clients,
    may not be set, or has no effect.
    """
    reason = obstacle(host)
    where = hierarchy(host, "io")
    if reason is not None or where is None:
        raise RefusedError(reason or "no control group for block I/O")
    if where.version == 2:
        group = make_group(host, undo, where, label)
        _rule(host, f"{group}/io.max", f"{number} " + " ".join(f"{V2_WORDS[name]}={rate}" for name, rate in rates.items()))
        return group
    for name, rate in rates.items():
        file = f"{where.root}/{V1_FILES[name]}"
        undo.add("throttle", file=file, device=number, value=str(rate))
        _rule(host, file, f"{number} {rate}")
    return None


def remove_rule(host: Host, file: str, number: str, value: str) -> bool:
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
