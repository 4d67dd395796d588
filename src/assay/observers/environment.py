"""Records the environment: kernel, CPUs, memory, limits, mounts, and the settings of every device in the stack.

One fact for each setting that can change a figure, read before the first and after the last phase. Devices are named by their
place in the stack (`device.0` has the file system), so that another loop number is no difference. The class of a fact tells what
a difference means: performance, identity (another name for the same thing), or noise.
"""

from __future__ import annotations

import functools
import os
import platform
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.catalogue import Evidence, Host, Observer, ObserverScope, Source, Watch, needs_file
from assay.evidence.snapshots import named_texts, text_of, trial_facts
from assay.machine import host_facts
from assay.machine.host_facts import EACH
from assay.records import FactClass, Snapshot, Subject

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
    """Return environment.toml: the files that are facts, and their classes."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return {key: text} of the files that exist."""
    files = {**fact_files(host, table()), **WHOLE, **host_facts.cgroup_files(host)}
    for place, device in enumerate(subject.devices):
        files |= host_facts.device_files(host, f"device.{place}", device)
    for name in subject.interfaces or host_facts.interfaces(host):
        files |= host_facts.interface_files(host, name)
    raw = named_texts(host.read, files)
    raw |= {f"device.{place}.name": device for place, device in enumerate(subject.devices)}
    return {**boot_facts(host, str(raw.get("host.boot"))), **raw, **own_versions()}


def own_versions() -> Raw:
    """Return the versions of Assay, Python and the C library."""
    from importlib.metadata import version

    name = "CS_GNU_LIBC_VERSION"
    libc = os.confstr(name) if name in os.confstr_names else None
    return {"tool.assay": version("assay-lab"), "tool.python": platform.python_version(), "tool.libc": libc or "not glibc"}


@functools.cache
def boot_facts(host: Host, _boot: str) -> Raw:
    """Return the facts that cannot change until the next boot, read once."""
    zone = host.real_path("/etc/localtime").partition("zoneinfo/")[2]
    found = named_texts(host.read, {**fact_files(host, table()["boot"]), **WHOLE_OF_A_BOOT})
    return {**({"clock.time_zone": zone} if zone else {}), **found}


def fact_files(host: Host, chosen: Mapping[str, Any]) -> dict[str, str]:
    """Return {key: path} of the tables `files`, `trees` and `each`."""
    files = dict(chosen["files"])
    for key, path in chosen["trees"].items():
        files |= {f"{key}.{name}": f"{path}/{name}" for name in tree_names(host, key, path)}
    for key, (path, begins, below) in chosen["each"].items():
        names = (name for name in host.list(path) if name.startswith(begins) and name[len(begins) :].isdigit())
        files |= {f"{key}{EACH}{name}": f"{path}/{name}/{below}" for name in names}
    return files


def tree_names(host: Host, key: str, path: str) -> tuple[str, ...]:
    """Return the names in a tree that are facts."""
    begins = tuple(table()["kept"].get(key, ("",)))
    return tuple(name for name in host.list(path) if name not in table()["refused"]["names"] and name.startswith(begins))


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return the facts before and after the trial."""
    return Evidence(facts=trial_facts(host_name, snapshots, lambda look: dict(pairs_of(look, subject)), class_of))


def class_of(key: str) -> FactClass:
    """Return the class of a fact."""
    classes = table()["classes"]
    if key.startswith(tuple(classes["noise"])) or key.endswith(tuple(classes["noise_ends"])):
        return FactClass.NOISE
    named = key.startswith(tuple(classes["identity"])) or (key.startswith("device.") and key.endswith(".name"))
    return FactClass.IDENTITY if named else FactClass.PERFORMANCE


def pairs_of(snapshot: Snapshot, subject: Subject) -> Iterator[tuple[str, str]]:
    """Yield key and value of every fact in one snapshot."""
    several: dict[str, list[str]] = {"cpu.siblings": []}
    for key, text in snapshot.raw.items():
        group, part, _ = key.partition(EACH)
        if part:
            several.setdefault(group, []).append(str(text))
        elif key not in WHOLE and key not in WHOLE_OF_A_BOOT and isinstance(text, str):
            yield key, digest(text) if key == "machine.serial" else host_facts.active_value(text)
    yield from ((key, host_facts.distinct_values(values) or "unknown") for key, values in several.items())
    yield from host_facts.cpu_pairs(text_of(snapshot, "cpuinfo") or "")
    yield from host_facts.memory_pairs(text_of(snapshot, "meminfo") or "")
    yield from host_facts.mount_pairs(text_of(snapshot, "mounts") or "", subject.directory or "/")
    yield from host_facts.limit_pairs(text_of(snapshot, "limits") or "")
    yield from host_facts.release_pairs(text_of(snapshot, "release") or "")
    if (environ := text_of(snapshot, "environ")) is not None:
        yield from host_facts.environment_pairs(environ, table()["environment"]["names"])


def digest(serial: str) -> str:
    """Return a digest that identifies a machine without revealing its serial number."""
    import hashlib

    return hashlib.sha256(serial.strip().encode()).hexdigest()[:12]


OBSERVER = Observer(
    name="environment",
    gives=("fact:*",),
    sources=(
        Source(keys="fact:*", words="facts of the host", way="the observer environment"),
        Source(keys="fact:host.*", words="name and boot of the host", way="the observer environment"),
    ),
    watch=Watch.KEPT,
    cost="3.2 ms CPU per look (one device), twice a trial",
    available=needs_file("/proc/cpuinfo", "the environment is invisible"),
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
)
