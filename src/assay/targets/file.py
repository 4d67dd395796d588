"""A file of our own under a name that the user chooses: made where nothing is, marked, removed after the trial unless kept.

A file that somebody else made is never written: a marker beside ours names the very file that we made.
"""

from __future__ import annotations

import posixpath

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import EvidenceError, UsageError
from assay.machine import files, own_file
from assay.machine.own_file import Whose
from assay.machine.stack import mount_of, stack
from assay.records import Endpoint, EndpointKind, Place


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """What is wrong with the path; changes nothing."""
    path = str(setting.knobs["path"])
    parent = posixpath.dirname(path) or "."
    if host.run(["test", "-d", parent], check=False).status != 0:
        return (f"found no directory {parent} for {path}; expected one that exists: make it or mend `path`",)
    whose = own_file.whose(host, path) if host.exists(path) else None
    if whose is Whose.OTHERS:
        return (f"found {path}, which Assay did not make; expected nothing there, or a file that it kept: it is never written",)
    if whose is Whose.IN_USE:
        return (
            f"found {path}, on which another lab is at work; expected another name: wait, or `assay doctor` where it is gone",
        )
    return files.mistakes(host, parent, setting.needs_bytes)


def install(_host: Host, _setting: Setting) -> None:
    """Nothing is kept between trials but a file with `keep`."""


def prepare(host: Host, setting: Setting) -> Place:
    """Make the file where it is not there. Raises UsageError with all that `check` finds, RefusedError."""
    mistakes = check(host, setting)
    if mistakes:
        raise UsageError("\n".join(mistakes))
    given = str(setting.knobs["path"])
    parent = host.real_path(posixpath.dirname(given) or ".")
    path = posixpath.join(parent, posixpath.basename(given))
    made = not host.exists(path)
    if made:
        own_file.make(host, setting.undo, path)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=parent,
        devices=stack(host, parent),
        filesystem=mount_of(host, parent).filesystem,
        private={"path": path, "made": made},
    )


def attach(_host: Host, place: Place, _client: int) -> Endpoint:
    """Every client uses its part of the one file."""
    return Endpoint(kind=EndpointKind.FILE, address=str(place.private["path"]))


def drop_caches(host: Host, place: Place) -> None:
    """Give back the cached pages of the file. Raises RefusedError where that cannot be done."""
    files.drop_files(host, str(place.private["path"]), place.filesystem)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Which file system on which devices, with which options."""
    try:
        mount = mount_of(host, place.address)
    except (OSError, EvidenceError) as error:
        return (("mount", f"unknown: {error}"),)
    return (
        ("filesystem", mount.filesystem),
        ("mount.point", mount.point),
        ("mount.source", mount.source),
        ("mount.options", ",".join(mount.options)),
        ("devices", " ".join(place.devices) or f"none: {mount.filesystem} shows no block device"),
    )


def detach(_host: Host, _place: Place, _endpoint: Endpoint) -> None:
    """Nothing was attached."""


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Remove the file if this trial made it, or say in its marker that it stays. One that was kept before stays."""
    if not place.private["made"]:
        return
    path = str(place.private["path"])
    if setting.knobs.get("keep"):
        own_file.keep(host, path)
    setting.undo.undo("own_file", path=path)


def remove(_host: Host, _setting: Setting) -> None:
    """What is kept stays."""


TARGET = Target(
    name="file",
    knobs=(
        Knob(name="path", kind=KnobKind.PATH, required=True, help="the file: nothing is there, or one that was kept"),
        Knob(name="keep", kind=KnobKind.SWITCH, default=False, help="leave the file where it is, to be used again"),
    ),
    endpoint=EndpointKind.FILE,
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
