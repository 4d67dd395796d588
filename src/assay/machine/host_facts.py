"""Facts about a host as pairs of key and value, and the files that hold settings of devices, interfaces and control groups.

`..._pairs` are pure functions over the texts of files and tools; `..._files` return {key: path}. A key with `[]` is one fact of
several equal parts (queues, interrupts): its value is every value that occurs.
Sources: proc(5), proc_pid_mountinfo(5), ethtool(8).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator

from assay.catalogue import Host
from assay.machine.group_mounts import directories, group_mounts
from assay.machine.stack import Mount, disk_of, parse_mounts

CHOSEN = re.compile(r"\[(\S+)\]")
"""The kernel prints the active choice in brackets."""
CPU_FIELDS = {"model name": "cpu.model", "microcode": "cpu.microcode", "flags": "cpu.flags", "cache size": "cpu.cache"}
MEMORY_FIELDS = {"MemTotal": "memory.total", "SwapTotal": "memory.swap", "MemAvailable": "memory.available"}
PAGE_REPORTING = "/sys/module/page_reporting/parameters/page_reporting_order"
"""Linux 5.14; earlier kernels report without telling."""
HIGHEST_ORDER = 64
ETHTOOL_SECTIONS = {"Pre-set maximums": "most_", "Current hardware settings": ""}
UNKNOWN = ("n/a", "")

Pairs = Iterator[tuple[str, str]]


def active_value(text: str) -> str:
    """Return the value of a small file: the active choice of several, else the whole text with single spaces."""
    found = CHOSEN.search(text)
    return found[1] if found else " ".join(text.split())


def distinct_values(values: Iterable[str]) -> str:
    """Return the distinct values of equal parts of a host (CPUs, queues), sorted, each without spaces."""
    return " ".join(sorted({"".join(value.split()) for value in values}))


def cpu_pairs(text: str) -> Pairs:
    """Yield model, microcode, caches and flags of the CPUs; if the CPUs differ, every distinct value."""
    rows = [line.partition(":")[::2] for line in text.splitlines()]
    for name, key in CPU_FIELDS.items():
        values = sorted({value.strip() for field, value in rows if field.strip() == name})
        if values:
            yield key, " | ".join(values)


def memory_pairs(text: str) -> Pairs:
    """Yield memory in GiB to three digits: the part that the firmware reserves varies slightly between boots."""
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name in MEMORY_FIELDS:
            yield MEMORY_FIELDS[name], f"{int(rest.split()[0]) / 2**20:.3g} GiB"


def reports_free_pages(order: str | None) -> bool:
    """Return True if the guest gives free memory back to its hypervisor, by the order of blocks that it reports.

    It is -1 (4294967295) until a device asks for reports: virtio-balloon, or the balloon of Hyper-V.
    """
    return order is not None and order.strip().isdigit() and int(order) < HIGHEST_ORDER


def limit_pairs(text: str) -> Pairs:
    """Yield resource limits such as `ulimit.max_open_files`, soft and hard."""
    for line in text.splitlines()[1:]:
        yield f"ulimit.{'_'.join(line[:25].lower().split())}", " ".join(line[25:].split())


def release_pairs(text: str) -> Pairs:
    """Yield the operating system's name and version."""
    for line in text.splitlines():
        if line.startswith("PRETTY_NAME="):
            yield "host.system", line.partition("=")[2].strip('"')


def environment_pairs(text: str, names: Collection[str]) -> Pairs:
    """Yield the size of a process's environment, which shifts its stack, and the variables that change program behaviour."""
    yield "process.environment_bytes", str(len(text.encode()))
    for entry in text.split("\0"):
        name, _, value = entry.partition("=")
        if name in names:
            yield f"process.environment.{name}", value


def target_mount(text: str, directory: str) -> Mount | None:
    """Return the mount of the directory; the topmost if several hide each other."""
    found: Mount | None = None
    for mount in parse_mounts(text):
        holds = f"{directory}/".startswith(mount.point.rstrip("/") + "/")
        if holds and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def mount_pairs(text: str, directory: str) -> Pairs:
    """Yield the mount of the directory, and every mount below it."""
    holding = target_mount(text, directory)
    found = {"mount.target": holding} if holding else {}
    if directory != "/":
        for mount in parse_mounts(text):
            if mount.point.startswith(f"{directory}/"):
                found[f"mount.below.{mount.point.removeprefix(directory).strip('/')}"] = mount
    for key, mount in found.items():
        yield f"{key}.point", mount.point
        yield f"{key}.fstype", mount.filesystem
        yield f"{key}.source", mount.source
        yield f"{key}.options", ",".join(sorted(mount.options))


def ethtool_pairs(text: str) -> Pairs:
    """Yield a network card's offloads, rings, coalescing or driver (`tx-checksumming: on`), without unknown values."""
    section = ""
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        section = ETHTOOL_SECTIONS.get(name, section)
        value = " ".join(value.removesuffix("[fixed]").split())
        if value not in UNKNOWN and not name.endswith((" for", "parameters for")) and "Features for" not in line:
            yield f"{section}{'_'.join(name.lower().split())}", value


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


def device_files(host: Host, key: str, device: str) -> dict[str, str]:
    """Return the settings of one device; a partition has those of its disk."""
    disk = disk_of(device, host.list("/sys/block"))
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
    return found | interrupt_files(host, key, f"{at}/device")


def interfaces(host: Host) -> tuple[str, ...]:
    """Return the network interfaces with a device: cards, and bonds, bridges and VLANs over cards.

    Interfaces of containers and virtual machines appear and disappear during a measurement.
    """
    net = "/sys/class/net"
    names = host.list(net)
    cards = frozenset(name for name in names if host.exists(f"{net}/{name}/device"))
    over = (name for name in names if any(f"lower_{card}" in host.list(f"{net}/{name}") for card in cards))
    return tuple(sorted(cards | frozenset(over)))


def interface_files(host: Host, name: str) -> dict[str, str]:
    """Return the settings of one network interface."""
    at, key = f"/sys/class/net/{name}", f"network.{name}"
    found = {f"{key}.{figure}": f"{at}/{figure}" for figure in OF_AN_INTERFACE}
    for queue in host.list(f"{at}/queues"):
        which = "rps_cpus" if queue.startswith("rx-") else "xps_cpus"
        found[f"{key}.{which}{EACH}{queue}"] = f"{at}/queues/{queue}/{which}"
    return found | interrupt_files(host, key, f"{at}/device")


def interrupt_files(host: Host, key: str, device: str) -> dict[str, str]:
    """Return the CPU affinity of the interrupts of a device, or of its bus device."""
    if not host.exists(device):
        return {}
    real = host.real_path(device)
    numbers = next(filter(None, (host.list(f"{at}/msi_irqs") for at in (real, posixpath.dirname(real), f"{real}/device"))), ())
    return {f"{key}.irq_cpus{EACH}{number}": f"/proc/irq/{number}/smp_affinity_list" for number in numbers}


def cgroup_files(host: Host) -> dict[str, str]:
    """Return the limits of Assay's own control group, which its load inherits."""
    found: dict[str, str] = {}
    text = host.read("/proc/self/cgroup") if host.exists("/proc/self/cgroup") else ""
    for at in directories(group_mounts(host), text).values():
        there = frozenset(host.list(at))
        found |= {f"cgroup.{name}": f"{at}/{name}" for name in GROUP_LIMITS if name in there}
    return found
