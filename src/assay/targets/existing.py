"""A directory, file or device that exists and is only read: nothing is written to it or beside it.

Workloads that write, make or remove anything are refused, before anything is done. What is kept cold is asked to give back its
cached pages, which loses nothing.
"""

from __future__ import annotations

from assay.catalogue import Host, Knob, KnobKind, Setting, Target
from assay.errors import EvidenceError, UsageError
from assay.machine import files
from assay.machine.stack import device_stack, mount_of, stack
from assay.records import Endpoint, EndpointKind, Place

DIRECTORY, DEVICE = "directory", "block special file"
KINDS = (DIRECTORY, "regular file", "regular empty file", DEVICE)
"""What can be read, in the words of stat(1)."""


def kind_of(host: Host, path: str) -> str | None:
    """What is at the path, links followed, in the words of stat(1); None where there is nothing or we may not look."""
    done = host.run(["stat", "-L", "-c", "%F", "--", path], check=False)
    return done.stdout.strip() if done.status == 0 else None


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """What is wrong with the path; changes nothing."""
    path = str(setting.knobs["path"])
    kind = kind_of(host, path)
    if kind is None:
        return (f"found nothing at {path}; expected a directory, file or device that exists: mend `path`",)
    if kind not in KINDS:
        return (f"found a {kind} at {path}; expected a directory, a regular file or a block device",)
    enter = ("-a", "-x", path) if kind == DIRECTORY else ()
    if host.run(["test", "-r", path, *enter], check=False).status != 0:
        return (f"found that we may not read {path}; expected what we may read: change its mode or be another user",)
    return ()


def install(_host: Host, _setting: Setting) -> None:
    """Nothing is made."""


def prepare(host: Host, setting: Setting) -> Place:
    """Look at what is there. Raises UsageError with all that `check` finds."""
    mistakes = check(host, setting)
    if mistakes:
        raise UsageError("\n".join(mistakes))
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


def attach(_host: Host, place: Place, _client: int) -> Endpoint:
    """Every client reads the same."""
    return Endpoint(kind=EndpointKind.DIRECTORY, address=place.address)


def drop_caches(host: Host, place: Place) -> None:
    """Give back the cached pages of each file. Inodes and names stay cached. Raises RefusedError where that cannot be done."""
    files.drop_files(host, place.address, place.filesystem)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """What it is, on which file system and devices, with which options."""
    about = (("kind", str(place.private.get("kind"))), ("devices", " ".join(place.devices) or "none"))
    if place.filesystem is None:
        return about
    try:
        mount = mount_of(host, place.address)
    except (OSError, EvidenceError) as error:
        return (*about, ("mount", f"unknown: {error}"))
    options = ",".join(mount.options)
    return (*about, ("filesystem", mount.filesystem), ("mount.point", mount.point), ("mount.options", options))


def detach(_host: Host, _place: Place, _endpoint: Endpoint) -> None:
    """Nothing was attached."""


def teardown(_host: Host, _setting: Setting, _place: Place) -> None:
    """Nothing was made."""


def remove(_host: Host, _setting: Setting) -> None:
    """Nothing was made."""


TARGET = Target(
    name="existing",
    knobs=(Knob(name="path", kind=KnobKind.PATH, required=True, help="existing directory, file or device, only read"),),
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
    read_only=True,
)
