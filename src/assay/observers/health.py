"""Records the health of the storage path: error counters, missing array members, links below their maximum speed.

Sources: ioerr_cnt and iotmo_cnt of SCSI devices, errors_count of ext4, error_stats of btrfs, md's degraded and sync_action, the
PCI Express link of NVMe devices, the duplex of network interfaces. Read before the first and after the last phase: a counter that
rose did so during the trial. Devices without such a file have no fact. A device's internal retries are in no file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, ObserverScope, Source
from assay.errors import EvidenceError
from assay.evidence.snapshots import named_texts, trial_facts
from assay.evidence.sources import DEVICE
from assay.machine.stack import disk_of
from assay.records import FactClass, Snapshot, Subject

BLOCK, EXT4, BTRFS, NETWORK = "/sys/block", "/sys/fs/ext4", "/sys/fs/btrfs", "/sys/class/net"
COUNTERS = ("ioerr_cnt", "iotmo_cnt")
STATES = (
    "md/degraded",
    "md/sync_action",
    *(f"device/device/{when}_link_{what}" for when in ("current", "max") for what in ("speed", "width")),
)
HEALTH, ERRORS = "health.", "errors."
"""Prefix of all keys, and of counter keys after it; all others are states."""


def available(host: Host) -> str | None:
    """Return why devices are invisible; None if they can be read."""
    return None if host.list(BLOCK) else f"{BLOCK} does not exist: error counters of devices are invisible"


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return {key: text} of the files that exist."""
    files: dict[str, str] = {}
    for place, device in enumerate(subject.devices):
        files |= device_files(host, place, device)
    for name in subject.interfaces:
        files[f"network.{name}.duplex"] = f"{NETWORK}/{name}/duplex"
    return named_texts(host.read, files)


def device_files(host: Host, place: int, device: str) -> dict[str, str]:
    """Return the files of one device, its disk and its file system; `place` is its place in the stack, 0 has the file system."""
    disk = disk_of(device, host.list(BLOCK))
    found = {f"{ERRORS}{place}.{name}": f"{BLOCK}/{disk}/device/{name}" for name in COUNTERS}
    found |= {f"device.{place}.{name.rpartition('/')[2]}": f"{BLOCK}/{disk}/{name}" for name in STATES}
    found[f"{ERRORS}{place}.ext4"] = f"{EXT4}/{device}/errors_count"
    for uuid in host.list(BTRFS):
        if device in host.list(f"{BTRFS}/{uuid}/devices"):
            numbers = host.list(f"{BTRFS}/{uuid}/devinfo")
            found |= {f"{ERRORS}{place}.btrfs_{number}": f"{BTRFS}/{uuid}/devinfo/{number}/error_stats" for number in numbers}
    return found


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return facts before and after: counters as whole numbers, states as text. Raises EvidenceError on an unknown format."""
    return Evidence(facts=trial_facts(host_name, snapshots, values_of, class_of))


def values_of(snapshot: Snapshot) -> dict[str, str]:
    """Return the facts of one look."""
    texts = {key: text for key, text in snapshot.raw.items() if isinstance(text, str)}
    counts = {f"{HEALTH}{key}": str(count(text, key)) for key, text in texts.items() if key.startswith(ERRORS)}
    return counts | {f"{HEALTH}{key}": " ".join(text.split()) for key, text in texts.items() if not key.startswith(ERRORS)}


def class_of(key: str) -> FactClass:
    """Return the class of a fact: a rising counter is noise, a changed state is another environment."""
    return FactClass.NOISE if key.startswith(f"{HEALTH}{ERRORS}") else FactClass.PERFORMANCE


def count(text: str, key: str) -> int:
    """Sum the last number of each line, decimal or 0x... Raises EvidenceError with the key."""
    words = [line.split()[-1] for line in text.splitlines() if line.split()]
    try:
        return sum(int(word, 0) for word in words)
    except ValueError:
        raise EvidenceError(f"found {text[:40]!r} in {key}; expected error counts") from None


OBSERVER = Observer(
    name="health",
    gives=("fact:health.*",),
    sources=(Source(keys="fact:health.*", words="error counters of the devices", way=f"sysfs, and {DEVICE}"),),
    cost="47 µs CPU per look (one device), twice a trial",
    available=available,
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
)
