"""A file at a path of the user's choice: created if the path is free, marked, and removed after the trial unless kept.

A file that Assay did not create is never written: a marker beside the file identifies it.
"""

from __future__ import annotations

import posixpath

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import refuse
from assay.machine import files, ownership
from assay.machine.ownership import Ownership
from assay.machine.stack import mount_of, stack
from assay.records import Endpoint, EndpointKind, Place


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the path."""
    path = str(setting.knobs["path"])
    parent = posixpath.dirname(path) or "."
    if host.run(["test", "-d", parent], check=False).status != 0:
        return (f"{parent} is not a directory, so {path} cannot be created. Create the directory, or correct `path`.",)
    owner = ownership.of_file(host, path) if host.exists(path) else None
    if owner is Ownership.OTHERS:
        return (f"{path} exists, and Assay did not create it. Use a free path; Assay never writes other files.",)
    if owner is Ownership.IN_USE:
        return (f"{path} is in use by another lab. Wait, or run `assay doctor` if that lab was killed.",)
    return files.mistakes(host, parent, setting.needs_bytes)


def prepare(host: Host, setting: Setting) -> Place:
    """Create the file if it does not exist. Raises UsageError with all mistakes of `check`, RefusedError."""
    refuse(check(host, setting))
    given = str(setting.knobs["path"])
    parent = host.real_path(posixpath.dirname(given) or ".")
    path = posixpath.join(parent, posixpath.basename(given))
    made = not host.exists(path)
    if made:
        ownership.make_file(host, setting.undo, path)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=parent,
        devices=stack(host, parent),
        filesystem=mount_of(host, parent).filesystem,
        private={"path": path, "made": made},
    )


def attach(_host: Host, _setting: Setting, place: Place, _client: int) -> Endpoint:
    """Return the file; each client uses its own part."""
    return Endpoint(kind=EndpointKind.FILE, address=str(place.private["path"]))


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Remove the file if this trial created it, or mark it as kept. A file kept earlier stays."""
    if not place.private["made"]:
        return
    path = str(place.private["path"])
    if setting.knobs.get("keep"):
        ownership.keep_file(host, path)
    setting.undo.undo("own_file", path=path)


TARGET = Target(
    name="file",
    knobs=(
        Knob(name="path", kind=KnobKind.PATH, required=True, help="path of the file: free, or a file kept earlier"),
        Knob(name="keep", kind=KnobKind.SWITCH, default=False, help="keep the file after the trial, for reuse"),
    ),
    endpoint=EndpointKind.FILE,
    check=check,
    prepare=prepare,
    attach=attach,
    drop_caches=lambda host, place: files.drop_files(host, str(place.private["path"]), place.filesystem),
    facts=lambda host, place: files.mount_facts(host, place.address, place.devices),
    teardown=teardown,
)
