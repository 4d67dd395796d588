"""An existing directory or mount: Assay works in a marked subdirectory of its own and removes it afterwards.

Nothing is written outside that subdirectory. Each trial has a new one, so no trial sees files of an earlier one. On ext4 without
a journal the directories of the trials lie in one more, are emptied after their trials and removed at the end of the experiment:
there the kernel creates slowly in block groups where files were deleted a moment ago (docs/decisions/019).
"""

from __future__ import annotations

import hashlib
import posixpath
import secrets

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import TrialError, refuse
from assay.machine import files, ownership
from assay.machine.filesystems import lacks_journal
from assay.machine.stack import mount_of, stack
from assay.records import EndpointKind, Place

PROCESS = secrets.token_hex(8)
"""Keeps the experiments of this process apart from those of others."""


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
    devices, filesystem = stack(host, parent), mount_of(host, parent).filesystem
    spread = lacks_journal(host, filesystem, devices)
    name = ownership.fresh_name()
    marker = name.removeprefix(ownership.PREFIX)
    if spread:
        path = posixpath.join(_spreading(host, setting, parent), name)
        host.run(["mkdir", "--", path])  # in the ledger with all that is in our directory
        host.write(posixpath.join(path, ownership.MARKER), marker)
    else:
        path = posixpath.join(parent, name)
        ownership.make_directory(host, setting.undo, path, marker)
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=path,
        devices=devices,
        filesystem=filesystem,
        private={"marker": marker, "spread": spread},
    )


def _spreading(host: Host, setting: Setting, parent: str) -> str:
    """Make the directory, once an experiment, whose subdirectories ext4 puts into different block groups; return its path.

    The flag T (chattr) has ext4 take the groups with the fewest directories (Orlov): emptied directories that stay count, too.
    """
    path, marker = _home(setting, parent)
    ownership.make_directory(host, setting.undo, path, marker)
    host.run(["chattr", "+T", "--", path], check=False)
    return path


def _home(setting: Setting, parent: str) -> tuple[str, str]:
    """Return path and marker of that directory: the same in all trials of an experiment."""
    marker = hashlib.blake2b("\0".join((PROCESS, setting.scratch, setting.name)).encode(), digest_size=6).hexdigest()
    return posixpath.join(parent, ownership.PREFIX + marker), marker


def teardown(host: Host, setting: Setting, place: Place) -> None:
    """Remove the directory of this trial, or its content where the directory must stay until the end."""
    if place.private["spread"]:
        ownership.empty_directory(host, place.address, str(place.private["marker"]))
    else:
        setting.undo.undo("directory", path=place.address)


def remove(host: Host, setting: Setting) -> None:
    """Remove what the trials left."""
    setting.undo.undo("directory", path=_home(setting, host.real_path(str(setting.knobs["path"])))[0])


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the mount, its devices, and a journal that is not there. Raises TrialError where the directory is away."""
    if not host.exists(place.address):
        why = ownership.away(host, place.address) or "not there any more"
        raise TrialError(f"{place.address}: {why}. The figures are not those of this directory. Mount it again.")
    found = files.mount_facts(host, place.address, place.devices)
    return (*found, ("journal", "none")) if place.private["spread"] else found


TARGET = Target(
    name="directory",
    knobs=(Knob(name="path", kind=KnobKind.PATH, required=True, help="existing directory or mount to measure"),),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    prepare=prepare,
    drop_caches=lambda host, place: files.drop_files(host, place.address, place.filesystem),
    facts=facts,
    teardown=teardown,
    remove=remove,
    side_by_side=True,
)
