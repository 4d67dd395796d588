"""Which files tell how a block device, a network interface and our own control group are set: {key: path}.

A key with `[]` in it is the same fact of one of several equal parts (queues, interrupts): all values that occur are one fact.
"""

from __future__ import annotations

import posixpath

from assay.catalogue import Host

EACH = "[]"
GROUP_LIMITS = (
    *("cpu.max", "cpu.weight", "cpu.shares", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuset.cpus", "cpuset.mems"),
    *("memory.max", "memory.high", "memory.swap.max", "memory.limit_in_bytes", "memory.soft_limit_in_bytes"),
    *("io.max", "io.weight", "io.latency", "blkio.weight"),
)
OF_A_DEVICE = ("size", "cache_type", "loop/dio", "device/model", "device/rev", "device/firmware_rev", "device/queue_depth")
OF_AN_INTERFACE = ("mtu", "speed", "duplex", "tx_queue_len", "gro_flush_timeout", "napi_defer_hard_irqs", "threaded")
OF_EXT4 = ("mb_", "inode_", "max_writeback", "extent_max")
STATISTICS = frozenset({"mb_stats"})


def of_device(host: Host, key: str, device: str) -> dict[str, str]:
    """The settings of one device; a partition has those of its disk."""
    disks = host.list("/sys/block")
    disk = device if device in disks else max((name for name in disks if device.startswith(name)), key=len, default=device)
    at, ext4 = f"/sys/block/{disk}", f"/sys/fs/ext4/{device}"
    found = {f"{key}.queue.{name}": f"{at}/queue/{name}" for name in host.list(f"{at}/queue")}
    found |= {f"{key}.iosched.{name}": f"{at}/queue/iosched/{name}" for name in host.list(f"{at}/queue/iosched")}
    found |= {f"{key}.bdi.{name}": f"{at}/bdi/{name}" for name in ("read_ahead_kb", "min_ratio", "max_ratio", "strict_limit")}
    found |= {f"{key}.{name.replace('/', '.')}": f"{at}/{name}" for name in OF_A_DEVICE}
    found |= {f"{key}.cache_type": f"{at}/device/scsi_disk/{name}/cache_type" for name in host.list(f"{at}/device/scsi_disk")}
    found |= {f"{key}.mq_cpus{EACH}{queue}": f"{at}/mq/{queue}/cpu_list" for queue in host.list(f"{at}/mq")}
    tunable = (name for name in host.list(ext4) if name.startswith(OF_EXT4) and name not in STATISTICS)
    found |= {f"{key}.ext4.{name}": f"{ext4}/{name}" for name in tunable}
    found[f"{key}.ext4_options"] = f"/proc/fs/ext4/{device}/options"
    return found | of_interrupts(host, key, f"{at}/device")


def interfaces(host: Host) -> tuple[str, ...]:
    """The network interfaces that a device is behind: cards, and bonds, bridges and VLANs over them.

    Others (of containers and virtual machines) come and go while something else is measured.
    """
    net = "/sys/class/net"
    names = host.list(net)
    cards = frozenset(name for name in names if host.exists(f"{net}/{name}/device"))
    over = (name for name in names if any(f"lower_{card}" in host.list(f"{net}/{name}") for card in cards))
    return tuple(sorted(cards | frozenset(over)))


def of_interface(host: Host, name: str) -> dict[str, str]:
    """The settings of one network interface."""
    at, key = f"/sys/class/net/{name}", f"network.{name}"
    found = {f"{key}.{figure}": f"{at}/{figure}" for figure in OF_AN_INTERFACE}
    for queue in host.list(f"{at}/queues"):
        which = "rps_cpus" if queue.startswith("rx-") else "xps_cpus"
        found[f"{key}.{which}{EACH}{queue}"] = f"{at}/queues/{queue}/{which}"
    return found | of_interrupts(host, key, f"{at}/device")


def of_interrupts(host: Host, key: str, device: str) -> dict[str, str]:
    """On which processors the interrupts of a device (or of the bus device that it hangs on) may be served."""
    if not host.exists(device):
        return {}
    real = host.real_path(device)
    numbers = next(filter(None, (host.list(f"{at}/msi_irqs") for at in (real, posixpath.dirname(real), f"{real}/device"))), ())
    return {f"{key}.irq_cpus{EACH}{number}": f"/proc/irq/{number}/smp_affinity_list" for number in numbers}


def of_groups(host: Host) -> dict[str, str]:
    """The limits of the control group that Assay itself is in, and so its load."""
    found: dict[str, str] = {}
    for line in (host.read("/proc/self/cgroup") if host.exists("/proc/self/cgroup") else "").splitlines():
        _, controllers, group = line.split(":", 2)
        first = controllers.split(",")[0]
        at = "/".join(part.strip("/") for part in ("sys/fs/cgroup", first, group) if part.strip("/"))
        there = frozenset(host.list(f"/{at}"))
        found |= {f"cgroup.{name}": f"/{at}/{name}" for name in GROUP_LIMITS if name in there}
    return found
