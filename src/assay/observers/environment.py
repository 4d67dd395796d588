"""Writes down what the host is: kernel, processors, memory, limits, mounts, and the queues of every device in the stack.

One fact for each thing that can change a figure, read before the first and after the last phase. Devices are named by
their place in the stack (`device.0` is the one the file system is on), so that another loop number is no difference.
A fact's class says what a difference means: performance, identity (another name for the same thing), or noise.
"""

from __future__ import annotations

import functools
import platform
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.catalogue import Evidence, Host, Observer, ObserverScope
from assay.machine.stack import Mount, parse_mounts
from assay.records import Edge, Fact, FactClass, Snapshot, Subject, When
from assay.snapshots import text_of, texts

CPU = "/sys/devices/system/cpu"
WHOLE = {
    "cpuinfo": "/proc/cpuinfo",
    "meminfo": "/proc/meminfo",
    "mounts": "/proc/self/mountinfo",
    "limits": "/proc/self/limits",
    "release": "/etc/os-release",
    "groups": "/proc/self/cgroup",
}
CHOSEN = re.compile(r"\[(\S+)\]")
"""Where the kernel lists what could be chosen, what is chosen stands in brackets."""
CPU_FIELDS = {"model name": "cpu.model", "microcode": "cpu.microcode", "flags": "cpu.flags", "cache size": "cpu.cache"}
GROUP_LIMITS = ("cpu.max", "memory.max", "memory.high", "cpu.cfs_quota_us", "memory.limit_in_bytes", "cpuset.cpus")


@functools.cache
def table() -> dict[str, Any]:
    """environment.toml: which files are facts, and of which class."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def available(host: Host) -> str | None:
    """None where the host shows itself in /proc."""
    return None if host.exists("/proc/cpuinfo") else "no /proc/cpuinfo: the host's state is not visible this way"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """{key: text}; what a host does not have is not there."""
    files = (
        table()["files"]
        | WHOLE
        | {f"{key}.{name}": f"{path}/{name}" for key, path in table()["trees"].items() for name in kept(host, key, path)}
    )
    for place, device in enumerate(subject.devices):
        files |= device_files(host, f"device.{place}", device)
    for name in subject.interfaces or (name for name in host.list("/sys/class/net") if name != "lo"):
        files |= {f"network.{name}.{figure}": f"/sys/class/net/{name}/{figure}" for figure in ("mtu", "speed", "duplex")}
    files |= group_files(host)
    cpus = (name for name in host.list(CPU) if name[3:].isdigit())
    files |= {f"siblings.{cpu}": f"{CPU}/{cpu}/topology/thread_siblings_list" for cpu in cpus}
    found = texts(host.read, files.values())
    raw: dict[str, object] = {key: found[path] for key, path in files.items() if isinstance(found[path], str)}
    from importlib.metadata import version

    names = {f"device.{place}.name": device for place, device in enumerate(subject.devices)}
    return raw | names | {"tool.assay": version("assay-lab"), "tool.python": platform.python_version()}


def kept(host: Host, key: str, path: str) -> tuple[str, ...]:
    """The names in a tree that are facts."""
    begins = tuple(table()["kept"].get(key, ("",)))
    return tuple(name for name in host.list(path) if name not in table()["refused"]["names"] and name.startswith(begins))


def device_files(host: Host, key: str, device: str) -> dict[str, str]:
    """The settings of one device; a partition has those of its disk."""
    disks = host.list("/sys/block")
    disk = device if device in disks else max((name for name in disks if device.startswith(name)), key=len, default=device)
    at = f"/sys/block/{disk}"
    found = {f"{key}.queue.{name}": f"{at}/queue/{name}" for name in host.list(f"{at}/queue")}
    found |= {f"{key}.iosched.{name}": f"{at}/queue/iosched/{name}" for name in host.list(f"{at}/queue/iosched")}
    found |= {f"{key}.bdi.{name}": f"{at}/bdi/{name}" for name in ("read_ahead_kb", "min_ratio", "max_ratio", "strict_limit")}
    found |= {
        f"{key}.{name.replace('/', '.')}": f"{at}/{name}"
        for name in ("size", "cache_type", "loop/dio", "device/model", "device/rev")
    }
    found |= {f"{key}.cache_type": f"{at}/device/scsi_disk/{name}/cache_type" for name in host.list(f"{at}/device/scsi_disk")}
    found[f"{key}.ext4_options"] = f"/proc/fs/ext4/{device}/options"
    return found


def group_files(host: Host) -> dict[str, str]:
    """The limits of the control group that Assay itself is in, and so its load."""
    found: dict[str, str] = {}
    for line in (host.read("/proc/self/cgroup") if host.exists("/proc/self/cgroup") else "").splitlines():
        _, controllers, group = line.split(":", 2)
        first = controllers.split(",")[0]
        at = "/".join(part.strip("/") for part in ("sys/fs/cgroup", first, group) if part.strip("/"))
        found |= {f"cgroup.{name}": f"/{at}/{name}" for name in GROUP_LIMITS if host.exists(f"/{at}/{name}")}
    return found


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """The facts of each snapshot: before the trial, and after where it was taken at the trial's end."""
    facts: list[Fact] = []
    for snapshot in snapshots:
        when = When.AFTER if snapshot.edge is Edge.TRIAL_END else When.BEFORE
        pairs = dict(pairs_of(snapshot, subject))
        facts += (Fact(host=host_name, when=when, key=key, value=pairs[key], fact_class=class_of(key)) for key in sorted(pairs))
    return Evidence(facts=tuple(facts))


def class_of(key: str) -> FactClass:
    """What a difference in this fact means."""
    classes = table()["classes"]
    if key.startswith(tuple(classes["noise"])):
        return FactClass.NOISE
    named = key.startswith(tuple(classes["identity"])) or (key.startswith("device.") and key.endswith(".name"))
    return FactClass.IDENTITY if named else FactClass.PERFORMANCE


def pairs_of(snapshot: Snapshot, subject: Subject) -> Iterator[tuple[str, str]]:
    """Key and value of every fact in one snapshot."""
    siblings = {str(text).strip() for key, text in snapshot.raw.items() if key.startswith("siblings.")}
    yield "cpu.siblings", " ".join(sorted(siblings)) or "unknown"
    for key, text in snapshot.raw.items():
        if key not in WHOLE and not key.startswith("siblings.") and isinstance(text, str):
            chosen = CHOSEN.search(text)
            yield key, chosen[1] if chosen else " ".join(text.split())
    yield from cpu_pairs(text_of(snapshot, "cpuinfo") or "")
    yield from memory_pairs(text_of(snapshot, "meminfo") or "")
    yield from mount_pairs(text_of(snapshot, "mounts") or "", subject.directory or "/")
    for line in (text_of(snapshot, "limits") or "").splitlines()[1:]:
        yield f"ulimit.{'_'.join(line[:25].lower().split())}", " ".join(line[25:].split())
    for line in (text_of(snapshot, "release") or "").splitlines():
        if line.startswith("PRETTY_NAME="):
            yield "host.system", line.partition("=")[2].strip('"')


def cpu_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Model, microcode, caches and flags; where the processors differ, every value that occurs."""
    rows = [line.partition(":")[::2] for line in text.splitlines()]
    for name, key in CPU_FIELDS.items():
        values = sorted({value.strip() for field, value in rows if field.strip() == name})
        if values:
            yield key, " | ".join(values)


def memory_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Memory in GiB to three figures: what the firmware keeps for itself differs a little from boot to boot."""
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        key = {"MemTotal": "memory.total", "SwapTotal": "memory.swap", "MemAvailable": "memory.available"}.get(name)
        if key:
            yield key, f"{int(rest.split()[0]) / 2**20:.3g} GiB"


def mount_pairs(text: str, directory: str) -> Iterator[tuple[str, str]]:
    """The mount that holds the directory (the topmost where several hide each other), and every mount below it."""
    found: dict[str, Mount] = {}
    for mount in parse_mounts(text):
        held = found.get("mount.target")
        if f"{directory}/".startswith(mount.point.rstrip("/") + "/") and (held is None or len(mount.point) >= len(held.point)):
            found["mount.target"] = mount
        elif directory != "/" and mount.point.startswith(f"{directory}/"):
            found[f"mount.below.{mount.point.removeprefix(directory).strip('/')}"] = mount
    for key, mount in found.items():
        yield f"{key}.point", mount.point
        yield f"{key}.fstype", mount.filesystem
        yield f"{key}.source", mount.source
        yield f"{key}.options", ",".join(sorted(mount.options))


OBSERVER = Observer(
    name="environment",
    gives=("fact:*",),
    cost="8.3 ms of CPU a look for a stack of two devices",
    available=available,
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
)
