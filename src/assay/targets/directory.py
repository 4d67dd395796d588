"""An existing directory or mount: Assay works in a marked subdirectory of its own and removes it afterwards.

Nothing is written outside that subdirectory. Each trial has a new one, so no trial sees files of an earlier one.
"""

from __future__ import annotations

import posixpath

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import refuse
from assay.machine import files, ownership
from assay.machine.stack import mount_of, stack
from assay.records import EndpointKind, Place


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the directory."""
    path = str(setting.knobs["path"])
    kind = host.run(["stat", "-L", "-c", "%F", "--", path], check=False)
    if kind.status != 0:
        return (f"{path} does not exist. Create the directory, or correct `path`.",)
    if kind.stdout.strip() != "directory":
        return (f"{path} is a {kind.stdout.strip()}, not a directory. Correct `path`.",)
    return files.mistakes(host, path, setting.needs_bytes)


def prepare(host: Host, setting: Setting) -> Place:
    """Create the directory of this trial. Raises UsageError with all mistakes of `check`."""
    refuse(check(host, setting))
    parent = host.real_path(str(setting.knobs["path"]))
    name = ownership.fresh_name()
    path = posixpath.join(parent, name)
    marker = name.removeprefix(ownership.PREFIX)
    ownership.make_directory(host, setting.undo, path, marker)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=path,
        devices=stack(host, parent),
        filesystem=mount_of(host, parent).filesystem,
        private={"marker": marker},
    )


def teardown(_host: Host, setting: Setting, place: Place) -> None:
    """Remove the directory of this trial."""
    setting.undo.undo("directory", path=place.address)


TARGET = Target(
    name="directory",
    knobs=(Knob(name="path", kind=KnobKind.PATH, required=True, help="existing directory or mount to measure"),),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    prepare=prepare,
    drop_caches=lambda host, place: files.drop_files(host, place.address, place.filesystem),
    facts=lambda host, place: files.mount_facts(host, place.address, place.devices),
    teardown=teardown,
)
