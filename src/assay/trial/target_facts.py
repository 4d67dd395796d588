"""What no file of a host tells of a prepared target: features of its file system, space, semantics, the cards on the way to it.

Asked once before each trial; what cannot have changed since the host started is asked once a boot.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence

from assay.catalogue import Host, Target
from assay.errors import AssayError
from assay.machine import host_facts
from assay.machine.filesystems import FILESYSTEMS
from assay.machine.stack import mount_of
from assay.records import EndpointKind, Fact, FactClass, Place, When

FRESH = ("loop", "ram", "zram", "nbd", "dm-")
"""What lies on such devices may have been made a moment ago; what lies on others stays what it is until the next boot."""
ELSEWHERE = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "beegfs", "orangefs", "fuse.sshfs", "fuse.glusterfs")
)
"""File systems whose bytes go through a network card."""
SWITCHES = {"offload": "-k", "ring": "-g", "coalesce": "-c"}
Pairs = Iterator[tuple[str, str]]


def facts(host: Host, target: Target, place: Place) -> Iterator[Fact]:
    """Everything that is asked, of the class performance but for the space that is free."""
    boot = _boot(host)
    performance = [*features(host, place, boot), *filesystem_semantics(host, target, place), *cards(host, place, boot)]
    noise = list(space(host, place))
    for fact_class, pairs in ((FactClass.PERFORMANCE, performance), (FactClass.NOISE, noise)):
        for key, value in pairs:
            yield Fact(host=host.name, when=When.BEFORE, key=key, value=value, fact_class=fact_class)


def filesystem_semantics(host: Host, target: Target, place: Place) -> Pairs:
    """The semantics of the file system, by trying; nothing of a target of others, or that is no directory of ours."""
    if host.syscalls is not None and not target.read_only and place.kind is EndpointKind.DIRECTORY:
        with contextlib.suppress(OSError):
            yield from ((f"semantics.{name}", found) for name, found in host.syscalls.filesystem_semantics(place.address).items())


def space(host: Host, place: Place) -> Pairs:
    """Which shares of space and inodes are free."""
    if host.syscalls is not None:
        with contextlib.suppress(OSError):
            free, inodes = host.syscalls.space(place.address)
            yield "filesystem.free_share", f"{free:.3g}"
            yield "filesystem.free_inodes_share", f"{inodes:.3g}"


def features(host: Host, place: Place, boot: str) -> Pairs:
    """With which features the file system was made; a target that makes it itself tells them itself. For root only."""
    kind = FILESYSTEMS.get(place.filesystem or "")
    if kind is None or place.backing_files or not place.devices or not host.is_root():
        return
    with contextlib.suppress(AssayError, OSError):
        argv = (*kind.describe, mount_of(host, place.address).source)
        yield from kind.parse(_output(host, argv) if place.devices[0].startswith(FRESH) else _once(host, boot, argv))


def cards(host: Host, place: Place, boot: str) -> Pairs:
    """Offloads, rings, coalescing, driver and firmware of every network card, where the target lies behind one."""
    with contextlib.suppress(AssayError, OSError):
        if place.kind is EndpointKind.DIRECTORY and mount_of(host, place.address).filesystem in ELSEWHERE:
            for name in host_facts.interfaces(host):
                texts = {key: _output(host, ("ethtool", switch, name)) for key, switch in SWITCHES.items()}
                texts["driver"] = _once(host, boot, ("ethtool", "-i", name))
                for key, text in texts.items():
                    yield from ((f"network.{name}.{key}.{pair}", value) for pair, value in host_facts.ethtool_pairs(text))


def _boot(host: Host) -> str:
    with contextlib.suppress(OSError):
        return host.read("/proc/sys/kernel/random/boot_id").strip()
    return ""


def _output(host: Host, argv: Sequence[str]) -> str:
    """What a command prints; nothing where it is not there or fails."""
    with contextlib.suppress(AssayError, OSError):
        return host.run(argv, check=False).stdout
    return ""


@functools.cache
def _once(host: Host, _boot_id: str, argv: tuple[str, ...]) -> str:
    """The same, asked once a boot."""
    return _output(host, argv)
