"""Writes down what the way to the disk says of its own health: errors counted, members an array lacks, links below their speed.

Sources: ioerr_cnt and iotmo_cnt of SCSI devices, errors_count of ext4, error_stats of btrfs, md's degraded and sync_action, the
PCI Express link of NVMe devices, the duplex of network interfaces. Read before the first and after the last phase: a counter
that rose in between rose during the trial. What a device does not have is not there. A device's retries are in no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, ObserverScope
from assay.errors import EvidenceError
from assay.evidence.snapshots import texts
from assay.records import Edge, Fact, FactClass, Snapshot, Subject, When

BLOCK, EXT4, BTRFS, NETWORK = "/sys/block", "/sys/fs/ext4", "/sys/fs/btrfs", "/sys/class/net"
COUNTERS = ("ioerr_cnt", "iotmo_cnt")
STATES = (
    "md/degraded",
    "md/sync_action",
    *(f"device/device/{when}_link_{what}" for when in ("current", "max") for what in ("speed", "width")),
)
ERRORS = "errors."
"""How keys of counters go on after `health.`; all others are states."""


def available(host: Host) -> str | None:
    """None where the kernel shows its devices."""
    return None if host.list(BLOCK) else f"no {BLOCK}: the devices' own counters of errors are not visible"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """{key: text}; what a device does not have is not there."""
    files: dict[str, str] = {}
    for place, device in enumerate(subject.devices):
        files |= device_files(host, place, device)
    for name in subject.interfaces:
        files[f"network.{name}.duplex"] = f"{NETWORK}/{name}/duplex"
    found = texts(host.read, files.values())
    return {key: found[path] for key, path in files.items() if isinstance(found[path], str)}


def device_files(host: Host, place: int, device: str) -> dict[str, str]:
    """Of one device, its disk and the file system on it; `place` is its place in the stack, 0 has the file system."""
    disks = host.list(BLOCK)
    disk = device if device in disks else max((name for name in disks if device.startswith(name)), key=len, default=device)
    found = {f"{ERRORS}{place}.{name}": f"{BLOCK}/{disk}/device/{name}" for name in COUNTERS}
    found |= {f"device.{place}.{name.rpartition('/')[2]}": f"{BLOCK}/{disk}/{name}" for name in STATES}
    found[f"{ERRORS}{place}.ext4"] = f"{EXT4}/{device}/errors_count"
    for uuid in host.list(BTRFS):
        if device in host.list(f"{BTRFS}/{uuid}/devices"):
            numbers = host.list(f"{BTRFS}/{uuid}/devinfo")
            found |= {f"{ERRORS}{place}.btrfs_{number}": f"{BTRFS}/{uuid}/devinfo/{number}/error_stats" for number in numbers}
    return found


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Facts before and after: counters as whole numbers, states as they are. Raises EvidenceError on text of another form."""
    return Evidence(facts=tuple(fact for snapshot in snapshots for fact in facts_of(host_name, snapshot)))


def facts_of(host_name: str, snapshot: Snapshot) -> list[Fact]:
    """What one look found; a counter that rises is no other environment, a state that differs is."""
    when = When.AFTER if snapshot.edge is Edge.TRIAL_END else When.BEFORE
    return [
        Fact(
            host=host_name,
            when=when,
            key=f"health.{key}",
            value=str(count(text, key)) if key.startswith(ERRORS) else " ".join(text.split()),
            fact_class=FactClass.NOISE if key.startswith(ERRORS) else FactClass.PERFORMANCE,
        )
        for key, text in sorted(snapshot.raw.items())
        if isinstance(text, str)
    ]


def count(text: str, key: str) -> int:
    """The sum of the numbers in a text, decimal or 0x...; of `name number` in each line where there are names.

    Raises EvidenceError naming the key.
    """
    words = [line.split()[-1] for line in text.splitlines() if line.split()]
    try:
        return sum(int(word, 0) for word in words)
    except ValueError:
        raise EvidenceError(f"found {text[:40]!r} in {key}; expected numbers of errors") from None


OBSERVER = Observer(
    name="health",
    gives=("fact:health.*",),
    cost="320 µs of CPU a look for a stack of two devices",
    available=available,
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
)
