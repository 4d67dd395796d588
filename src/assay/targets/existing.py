"""An existing directory, file or device, read only: Assay writes nothing to it or beside it.

Workloads that write, create or remove anything are refused before the run. For cache = cold only clean cached pages are dropped,
which loses nothing.
"""

from __future__ import annotations

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import refuse
from assay.machine import files
from assay.machine.stack import device_stack, mount_of, stack
from assay.records import EndpointKind, Place

DIRECTORY, DEVICE = "directory", "block special file"
KINDS = (DIRECTORY, "regular file", "regular empty file", DEVICE)
"""Readable types, in the words of stat(1)."""


def kind_of(host: Host, path: str) -> str | None:
    """Return the type of a path, links followed, in the words of stat(1); None if it is missing or inaccessible."""
    done = host.run(["stat", "-L", "-c", "%F", "--", path], check=False)
    return done.stdout.strip() if done.status == 0 else None


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the path."""
    path = str(setting.knobs["path"])
    kind = kind_of(host, path)
    if kind is None:
        return (f"{path} does not exist. Correct `path`.",)
    if kind not in KINDS:
        return (f"{path} is a {kind}, not a directory, a regular file or a block device. Correct `path`.",)
    enter = ("-a", "-x", path) if kind == DIRECTORY else ()
    if host.run(["test", "-r", path, *enter], check=False).status != 0:
        return (f"{path} is not readable. Change its mode, or run as another user.",)
    return ()


def prepare(host: Host, setting: Setting) -> Place:
    """Describe the path. Raises UsageError with all mistakes of `check`."""
    refuse(check(host, setting))
    path = host.real_path(str(setting.knobs["path"]))
    kind = kind_of(host, path) or ""
    is_device = kind == DEVICE
    return Place(
        target=setting.name,
        host=host.name,
        kind=EndpointKind.DIRECTORY,
        address=path,
        devices=device_stack(host, path.rpartition("/")[2]) if is_device else stack(host, path),
        filesystem=None if is_device else mount_of(host, path).filesystem,
        private={"kind": kind},
    )


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return the type, the file system, its devices and mount options."""
    about = (("kind", str(place.private.get("kind"))),)
    if place.filesystem is None:
        return (*about, ("devices", " ".join(place.devices) or "none"))
    return (*about, *files.mount_facts(host, place.address, place.devices))


TARGET = Target(
    name="existing",
    knobs=(Knob(name="path", kind=KnobKind.PATH, required=True, help="existing directory, file or device; never written"),),
    endpoint=EndpointKind.DIRECTORY,
    check=check,
    prepare=prepare,
    drop_caches=lambda host, place: files.drop_files(host, place.address, place.filesystem),
    facts=facts,
    teardown=lambda host, setting, place: None,  # nothing was created
    read_only=True,
    side_by_side=True,
)
