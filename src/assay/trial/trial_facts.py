"""What is so before a trial and no observer tells: the target's file system and network cards, the programs of the load, Assay.

What cannot have changed since the host started is asked once a boot.
"""

from __future__ import annotations

import contextlib
import functools
import platform
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Host, Order, Target, Workload
from assay.errors import AssayError
from assay.machine import host_facts
from assay.machine.filesystems import FILESYSTEMS
from assay.machine.stack import mount_of
from assay.records import Endpoint, EndpointKind, Fact, FactClass, Place, Value, When, WorkloadSpec

FRESH = ("loop", "ram", "zram", "nbd", "dm-")
"""What lies on such devices may have been made a moment ago; what lies on others stays what it is until the next boot."""
ELSEWHERE = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "afs", "lustre", "beegfs", "orangefs", "fuse.sshfs", "fuse.glusterfs")
)
"""File systems whose bytes go through a network card."""
SWITCHES = {"offload": "-k", "ring": "-g", "coalesce": "-c"}
Pairs = Iterator[tuple[str, str]]


def target_facts(host: Host, target: Target, place: Place) -> Iterator[Fact]:
    """Everything that is asked, of the class performance but for the space that is free."""
    boot = host.machine().boot
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
    """Which shares of space and inodes are free, where a server keeps its data; of a pool without a network: in the pool."""
    remote = place.server is not None and any(node.address for node in place.server.nodes)
    filled = place.address if place.kind is EndpointKind.DIRECTORY and not remote else place.directory
    if host.syscalls is not None and filled is not None:
        with contextlib.suppress(OSError):
            free, inodes = host.syscalls.space(filled)
            yield "filesystem.free_share", f"{free:.3g}"
            yield "filesystem.free_inodes_share", f"{inodes:.3g}"


def features(host: Host, place: Place, boot: str) -> Pairs:
    """With which features the file system was made; a target that makes it itself tells them itself. For root only."""
    kind = FILESYSTEMS.get(place.filesystem or "")
    if kind is None or place.directory is None or place.backing_files or not place.devices or not host.is_root():
        return
    with contextlib.suppress(AssayError, OSError):
        argv = (*kind.describe, mount_of(host, place.directory).source)
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


def _output(host: Host, argv: Sequence[str]) -> str:
    """What a command prints; nothing where it is not there or fails."""
    with contextlib.suppress(AssayError, OSError):
        return host.run(argv, check=False).stdout
    return ""


@functools.cache
def _once(host: Host, _boot_id: str, argv: tuple[str, ...]) -> str:
    """The same, asked once a boot."""
    return _output(host, argv)


DISTRIBUTION = "assay-lab"
CHOOSES = ("argv", "env", "variables.", "put", "get")
"""Knobs of an external command, and of a transfer, that decide which program it is."""


def versions() -> dict[str, str]:
    """What runs the lab: Assay and Python."""
    from importlib import metadata  # not needed where nothing is run

    try:
        own = metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        own = "not installed"
    return {"assay": own, "python": platform.python_version()}


def programs(host: Host, workload: Workload, spec: WorkloadSpec, endpoint: Endpoint) -> Iterator[tuple[str, str]]:
    """`program.WORKLOAD` -> path and size of what an external command starts; nothing for an engine of our own.

    A workload that starts programs for some of its operations has `program.WORKLOAD.OPERATION` instead, and before that `target.`
    where the program follows from the target: by its knob, or by what it offers.

    The path is the one that its links lead to. The directory of the trial has another name in every trial and is left out.
    """
    if not any(knob.is_command for knob in workload.knobs):
        return
    order = Order(workload=spec.name, knobs=spec.knobs, endpoints=(endpoint,), seed=0)
    for plan in workload.phases(order):
        argv, env = _first_command(plan.settings[0]), plan.settings[0].get("env")
        if argv and plan.measured:
            path = _found(host, str(argv[0]), endpoint.address, env if isinstance(env, Mapping) else {})
            of_target = workload.parse is None and not spec.knobs.get(plan.name)
            own = f"program.{spec.name}" if workload.parse is not None else f"program.{spec.name}.{plan.name}"
            key = f"target.{own}" if of_target else own
            yield key, _path_and_size(host, path, endpoint.address) if path else f"{argv[0]}: not found"


def _first_command(settings: Mapping[str, object]) -> Sequence[object]:
    """The arguments of a client's command, or of the first of its commands."""
    files = settings.get("files")
    rows = files if isinstance(files, Sequence) else ()
    argv = settings.get("argv") or next((one.get("argv") for one in rows if isinstance(one, Mapping)), None)
    return argv if isinstance(argv, Sequence) else ()


def inputs(workload: Workload, spec: WorkloadSpec, levels: Mapping[str, Value]) -> Iterator[tuple[str, str, FactClass]]:
    """`KNOB.WORKLOAD`, content and class of each file that a knob names, so that another content of it shows."""
    for knob, content in workload.inputs(spec.knobs).items():
        yield f"{knob}.{spec.name}", content, fact_class(spec, levels, (knob,))


def fact_class(spec: WorkloadSpec, levels: Mapping[str, Value], knobs: tuple[str, ...] = CHOOSES) -> FactClass:
    """What a factor chooses by one of these knobs is the difference that was asked for; any other is one that counts."""
    chosen = any(path.startswith(f"{spec.name}.{knob}") for path in levels for knob in knobs)
    return FactClass.IDENTITY if chosen or "workload" in levels else FactClass.PERFORMANCE


def _found(host: Host, name: str, directory: str, env: Mapping[str, str]) -> str | None:
    """Where the command lies, as execvp looks for it from its directory; None where it is not there."""
    folders = [""] if "/" in name else (env.get("PATH") or host.run(["printenv", "PATH"]).stdout.strip()).split(":")
    paths = (posixpath.join(directory, folder, name) for folder in folders)
    return next((path for path in paths if host.run(["test", "-f", path, "-a", "-x", path], check=False).status == 0), None)


def _path_and_size(host: Host, path: str, directory: str) -> str:
    try:
        real = host.real_path(path)
        size = host.run(["stat", "-L", "-c", "%s", "--", real]).stdout.strip()
    except (AssayError, OSError) as error:
        return f"{path}: unknown: {error}"
    return f"{real.replace(host.real_path(directory), '{directory}')}, {size} bytes"
