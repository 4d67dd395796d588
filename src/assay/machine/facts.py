"""What the files and tools of a host say of it, as pairs of key and value: pure functions over their texts.

Sources: proc(5), proc_pid_mountinfo(5), ethtool(8).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from assay.machine.stack import Mount, parse_mounts

CHOSEN = re.compile(r"\[(\S+)\]")
"""Where the kernel lists what could be chosen, what is chosen stands in brackets."""
CPU_FIELDS = {"model name": "cpu.model", "microcode": "cpu.microcode", "flags": "cpu.flags", "cache size": "cpu.cache"}
MEMORY_FIELDS = {"MemTotal": "memory.total", "SwapTotal": "memory.swap", "MemAvailable": "memory.available"}
ETHTOOL_SECTIONS = {"Pre-set maximums": "most_", "Current hardware settings": ""}
UNKNOWN = ("n/a", "")

Pairs = Iterator[tuple[str, str]]


def chosen(text: str) -> str:
    """The value of a small file: what is chosen of several, else the whole text with single spaces."""
    found = CHOSEN.search(text)
    return found[1] if found else " ".join(text.split())


def occurring(values: Iterable[str]) -> str:
    """Every value that occurs among equal parts of a host (processors, queues), in order, without spaces within one."""
    return " ".join(sorted({"".join(value.split()) for value in values}))


def cpu_pairs(text: str) -> Pairs:
    """Model, microcode, caches and flags; where the processors differ, every value that occurs."""
    rows = [line.partition(":")[::2] for line in text.splitlines()]
    for name, key in CPU_FIELDS.items():
        values = sorted({value.strip() for field, value in rows if field.strip() == name})
        if values:
            yield key, " | ".join(values)


def memory_pairs(text: str) -> Pairs:
    """Memory in GiB to three figures: what the firmware keeps for itself differs a little from boot to boot."""
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name in MEMORY_FIELDS:
            yield MEMORY_FIELDS[name], f"{int(rest.split()[0]) / 2**20:.3g} GiB"


def limit_pairs(text: str) -> Pairs:
    """`ulimit.max_open_files` and its like, soft and hard."""
    for line in text.splitlines()[1:]:
        yield f"ulimit.{'_'.join(line[:25].lower().split())}", " ".join(line[25:].split())


def release_pairs(text: str) -> Pairs:
    """The system's name and version."""
    for line in text.splitlines():
        if line.startswith("PRETTY_NAME="):
            yield "host.system", line.partition("=")[2].strip('"')


def environment_pairs(text: str, names: Collection[str]) -> Pairs:
    """The size of a process's environment, which moves its stack, and those variables that change what a program does."""
    yield "process.environment_bytes", str(len(text.encode()))
    for entry in text.split("\0"):
        name, _, value = entry.partition("=")
        if name in names:
            yield f"process.environment.{name}", value


def target_mount(text: str, directory: str) -> Mount | None:
    """The mount that holds the directory, the topmost where several hide each other."""
    found: Mount | None = None
    for mount in parse_mounts(text):
        holds = f"{directory}/".startswith(mount.point.rstrip("/") + "/")
        if holds and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def mount_pairs(text: str, directory: str) -> Pairs:
    """The mount that holds the directory, and every mount below it."""
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
    """`tx-checksumming: on`, of a card's offloads, rings, coalescing or driver; what it does not have is left out."""
    section = ""
    for line in text.splitlines():
        name, _, value = (part.strip() for part in line.partition(":"))
        section = ETHTOOL_SECTIONS.get(name, section)
        value = " ".join(value.removesuffix("[fixed]").split())
        if value not in UNKNOWN and not name.endswith((" for", "parameters for")) and "Features for" not in line:
            yield f"{section}{'_'.join(name.lower().split())}", value
