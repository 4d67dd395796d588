"""An existing directory or mount: Assay works in a marked subdirectory of its own and removes it afterwards.

Nothing is written outside that subdirectory. Each trial has a new one, so no trial sees files of an earlier one.
"""

from __future__ import annotations

import posixpath

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import EvidenceError, UsageError
from assay.machine import files, marks
from assay.machine.stack import Mount, mount_of, stack
from assay.records import Endpoint, EndpointKind, Place


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the directory."""
    path = str(setting.knobs["path"])
    kind = host.run(["stat", "-L", "-c", "%F", "--", path], check=False)
    if kind.status != 0:
        return (f"{path} does not exist. Create the directory, or correct `path`.",)
    if kind.stdout.strip() != "directory":
        return (f"{path} is a {kind.stdout.strip()}, not a directory. Correct `path`.",)
    return files.mistakes(host, path, setting.needs_bytes)


def install(_host: Host, _setting: Setting) -> None:
    """Do nothing: no state is kept between trials."""


def prepare(host: Host, setting: Setting) -> Place:
    """Create the directory of this trial. Raises UsageError with all mistakes of `check`."""
    mistakes = check(host, setting)
    if mistakes:
        raise UsageError("\n".join(mistakes))
    parent = host.real_path(str(setting.knobs["path"]))
    name = marks.fresh_name()
    path = posixpath.join(parent, name)
    marker = name.removeprefix(marks.PREFIX)
    marks.make(host, setting.undo, path, marker)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=path,
        devices=stack(host, parent),
        filesystem=mount_of(host, parent).filesystem,
        private={"marker": marker},
    )


def attach(_host: Host, place: Place, _client: int) -> Endpoint:
    """Return the directory; all clients share it, and the workload gives each client its own part."""
    return Endpoint(kind=EndpointKind.DIRECTORY, address=place.address)


def drop_caches(host: Host, place: Place) -> None:
    """Drop the cached pages of each of our files. Raises RefusedError if that is impossible."""
    files.drop_files(host, place.address, place.filesystem)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the file system, its devices and mount options."""
    try:
        mount = mount_of(host, place.address)
    except (OSError, EvidenceError) as error:
        return (("mount", f"unknown: {error}"),)
    return (
        ("filesystem", mount.filesystem),
        ("mount.point", mount.point),
        ("mount.source", mount.source),
        ("mount.options", ",".join(mount.options)),
        ("devices", " ".join(place.devices) or _no_devices(mount)),
    )


def _no_devices(mount: Mount) -> str:
    return f"none: {mount.filesystem} shows no block device"


def detach(_host: Host, _place: Place, _endpoint: Endpoint) -> None:
    """Do nothing: nothing was attached."""


def teardown(_host: Host, setting: Setting, place: Place) -> None:
    """Remove the directory of this trial."""
    setting.undo.undo("directory", path=place.address)


def remove(_host: Host, _setting: Setting) -> None:
    """Do nothing: no state is kept."""


TARGET = Target(
    name="directory",
    knobs=(Knob(name="path", kind=KnobKind.PATH, required=True, help="existing directory or mount to measure"),),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    install=install,
    prepare=prepare,
    attach=attach,
    drop_caches=drop_caches,
    facts=facts,
    detach=detach,
    teardown=teardown,
    remove=remove,
)
