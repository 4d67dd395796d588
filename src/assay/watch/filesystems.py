"""The file systems that an external command works on: a place for each, with the stack of devices below it."""

from __future__ import annotations

import contextlib
import dataclasses
import posixpath
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.catalogue import Evidence, Host, Observer
from assay.errors import EvidenceError
from assay.machine.stack import backing_file, device_stack, mount_of, stack
from assay.records import EndpointKind, Fact, FactClass, Place, Reading, Server, Snapshot, Subject, When

TARGET = "stat"
"""What the places of a command's own choice are called."""


def places(host: Host, paths: Iterable[str], server: Server | None = None) -> tuple[Place, ...]:
    """Return one place for each file system or block device that these paths are on, in order; what is nowhere has none.

    A server of which the command is a client stands at the first.
    """
    found: dict[tuple[bool, int], Place] = {}
    for path in paths:
        with contextlib.suppress(EvidenceError, OSError, ValueError):
            where = _where(path)
            if where not in found:
                found[where] = _device(host, path) or _mount(host, path)
    first, *others = found.values() or (None,)
    return () if first is None else (dataclasses.replace(first, server=server), *filter(None, others))


def of_server(host: Host, server: Server | None) -> Iterator[Fact]:
    """Yield how its clients reach the server, as a target of an experiment tells it."""
    from assay.machine import server as reached  # few commands are clients

    for key, value in reached.facts(host, server):
        fact_class = FactClass.PERFORMANCE
        yield Fact(host=host.name, when=When.BEFORE, key=f"target.{key}", value=value, fact_class=fact_class)


def stacks(known: Sequence[Place]) -> tuple[tuple[str, ...], ...]:
    """Return the different device stacks, each upper first."""
    return tuple(dict.fromkeys(place.devices for place in known if place.devices))


def by_stack(observer: Observer, known: Sequence[Place]) -> Observer:
    """Return an observer of block devices that tells the lowest device of each of several stacks, not of one."""

    def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
        made = [
            observer.parse(host_name, phase, snapshots, dataclasses.replace(subject, devices=devices))
            for devices in stacks(known) or ((),)
        ]
        readings = {_step(reading): reading for evidence in made for reading in evidence.readings}
        series = {(one.subject, one.metric): one for evidence in made for one in evidence.series}
        return Evidence(
            readings=tuple(readings.values()),
            series=tuple(series.values()),
            facts=tuple(fact for evidence in made for fact in evidence.facts),
            missing={key: reason for evidence in made for key, reason in evidence.missing.items()},
        )

    return dataclasses.replace(observer, parse=parse)


def _step(reading: Reading) -> tuple[str, ...]:
    return (reading.rung, reading.subject, reading.direction, reading.span)


def _where(path: str) -> tuple[bool, int]:
    """What tells the file system of a path (or of the directory that it is to be made in), or a block device, from others."""
    try:
        status = Path(path).stat()
    except FileNotFoundError:
        return False, Path(path).parent.stat().st_dev
    device = stat.S_ISBLK(status.st_mode)
    return device, status.st_rdev if device else status.st_dev


def _device(host: Host, path: str) -> Place | None:
    real = host.real_path(path)
    if not real.startswith("/dev/") or not Path(real).is_block_device():
        return None
    devices = device_stack(host, posixpath.basename(real))
    return Place(
        target=TARGET,
        host=host.name,
        kind=EndpointKind.DEVICE,
        address=real,
        devices=devices,
        backing_files=_images(host, devices),
    )


def _mount(host: Host, path: str) -> Place:
    mount = mount_of(host, path)
    devices = stack(host, path)
    return Place(
        target=TARGET,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=mount.point,
        devices=devices,
        backing_files=_images(host, devices),
        filesystem=mount.filesystem,
    )


def _images(host: Host, devices: Sequence[str]) -> tuple[str, ...]:
    return tuple(image for device in devices if (image := backing_file(host, device)) is not None)
