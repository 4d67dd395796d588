"""Writes down what the host is: kernel, processors, memory, limits, mounts, and the queues of every device in the stack.

One fact for each thing that can change a figure, read before the first and after the last phase. Devices are named by
their place in the stack (`device.0` is the one the file system is on), so that another loop number is no difference.
A fact's class says what a difference means: performance, identity (another name for the same thing), or noise.
"""

from __future__ import annotations

import functools
import os
import platform
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.catalogue import Evidence, Host, Observer, ObserverScope
from assay.evidence.snapshots import text_of, texts
from assay.machine import host_facts
from assay.machine.host_facts import EACH
from assay.records import Edge, Fact, FactClass, Snapshot, Subject, When

WHOLE = {
    "meminfo": "/proc/meminfo",
    "mounts": "/proc/self/mountinfo",
    "limits": "/proc/self/limits",
    "environ": "/proc/self/environ",
}
WHOLE_OF_A_BOOT = {"cpuinfo": "/proc/cpuinfo", "release": "/etc/os-release"}
Raw = dict[str, object]


@functools.cache
def table() -> dict[str, Any]:
    """environment.toml: which files are facts, and of which class."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def available(host: Host) -> str | None:
    """None where the host shows itself in /proc."""
    return None if host.exists("/proc/cpuinfo") else "no /proc/cpuinfo: the host's state is not visible this way"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """{key: text}; what a host does not have is not there."""
    files = {**listed(host, table()), **WHOLE, **host_facts.cgroup_files(host)}
    for place, device in enumerate(subject.devices):
        files |= host_facts.device_files(host, f"device.{place}", device)
    for name in subject.interfaces or host_facts.interfaces(host):
        files |= host_facts.interface_files(host, name)
    raw = contents(host, files)
    raw |= {f"device.{place}.name": device for place, device in enumerate(subject.devices)}
    return {**settled(host, str(raw.get("host.boot"))), **raw, **own_versions()}


def own_versions() -> Raw:
    """What Assay itself runs with."""
    from importlib.metadata import version

    name = "CS_GNU_LIBC_VERSION"
    libc = os.confstr(name) if name in os.confstr_names else None
    return {"tool.assay": version("assay-lab"), "tool.python": platform.python_version(), "tool.libc": libc or "not glibc"}


@functools.cache
def settled(host: Host, _boot: str) -> Raw:
    """What stays as it is until the next boot, read once."""
    zone = host.real_path("/etc/localtime").partition("zoneinfo/")[2]
    found = contents(host, {**listed(host, table()["boot"]), **WHOLE_OF_A_BOOT})
    return {**({"clock.time_zone": zone} if zone else {}), **found}


def contents(host: Host, files: Mapping[str, str]) -> Raw:
    """{key: text} of those files that can be read."""
    found = texts(host.read, files.values())
    return {key: found[path] for key, path in files.items() if isinstance(found[path], str)}


def listed(host: Host, chosen: Mapping[str, Any]) -> dict[str, str]:
    """{key: path} of the tables `files`, `trees` and `each`."""
    files = dict(chosen["files"])
    for key, path in chosen["trees"].items():
        files |= {f"{key}.{name}": f"{path}/{name}" for name in kept(host, key, path)}
    for key, (path, begins, below) in chosen["each"].items():
        names = (name for name in host.list(path) if name.startswith(begins) and name[len(begins) :].isdigit())
        files |= {f"{key}{EACH}{name}": f"{path}/{name}/{below}" for name in names}
    return files


def kept(host: Host, key: str, path: str) -> tuple[str, ...]:
    """The names in a tree that are facts."""
    begins = tuple(table()["kept"].get(key, ("",)))
    return tuple(name for name in host.list(path) if name not in table()["refused"]["names"] and name.startswith(begins))


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
    if key.startswith(tuple(classes["noise"])) or key.endswith(tuple(classes["noise_ends"])):
        return FactClass.NOISE
    named = key.startswith(tuple(classes["identity"])) or (key.startswith("device.") and key.endswith(".name"))
    return FactClass.IDENTITY if named else FactClass.PERFORMANCE


def pairs_of(snapshot: Snapshot, subject: Subject) -> Iterator[tuple[str, str]]:
    """Key and value of every fact in one snapshot."""
    several: dict[str, list[str]] = {"cpu.siblings": []}
    for key, text in snapshot.raw.items():
        group, part, _ = key.partition(EACH)
        if part:
            several.setdefault(group, []).append(str(text))
        elif key not in WHOLE and key not in WHOLE_OF_A_BOOT and isinstance(text, str):
            yield key, digested(text) if key == "machine.serial" else host_facts.active_value(text)
    yield from ((key, host_facts.distinct_values(values) or "unknown") for key, values in several.items())
    yield from host_facts.cpu_pairs(text_of(snapshot, "cpuinfo") or "")
    yield from host_facts.memory_pairs(text_of(snapshot, "meminfo") or "")
    yield from host_facts.mount_pairs(text_of(snapshot, "mounts") or "", subject.directory or "/")
    yield from host_facts.limit_pairs(text_of(snapshot, "limits") or "")
    yield from host_facts.release_pairs(text_of(snapshot, "release") or "")
    if (environ := text_of(snapshot, "environ")) is not None:
        yield from host_facts.environment_pairs(environ, table()["environment"]["names"])


def digested(serial: str) -> str:
    """What tells machines apart and gives no number away."""
    import hashlib

    return hashlib.sha256(serial.strip().encode()).hexdigest()[:12]


OBSERVER = Observer(
    name="environment",
    gives=("fact:*",),
    cost="6.5 ms of CPU a look for a stack of two devices",
    available=available,
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
)
