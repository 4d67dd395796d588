"""A server's disk as a client has it without a client in the kernel: a file (FUSE), a loop device, a file system on it.

nbdfuse shows the file: it speaks NBD to the server itself, or to a program beside it that speaks the server's protocol.
One machine has the disk, so all clients of a trial share that file system. The disk counts only when the server's own image
shows a block that was written to it.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import secrets
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace

from assay.catalogue import Host, Knob, KnobKind, Setting, Target, Unit
from assay.errors import AssayError, TrialError
from assay.machine import file_server, image, mounted, server, service
from assay.machine.file_server import FileInstance, FileSoftware
from assay.machine.filesystems import FILESYSTEMS, features, make, mount
from assay.machine.mounted import IN_MEMORY, REACHED, MountPlan
from assay.machine.power import CLIENT, FILE, HONOURED, IGNORED
from assay.records import Endpoint, EndpointKind, Place, ServerNode, Value
from assay.settings.knobs import choice, integer, names

QEMU = "qemu-storage-daemon"
DIRECT, PAGE_CACHE = "direct", "page_cache"
O_DIRECT = 0o40000
"""Of the flags in /proc/PID/fdinfo (x86 and most others; proc_pid_fdinfo(5) gives them in octal)."""
FIRST_DESCRIPTOR = 3
"""Of the sockets that a program is given by its starter (sd_listen_fds(3))."""
BLOCK = 4096
IMAGE, DISK, WORK = "disk.img", "disk", "work"
"""In the server's data; in the client's directory; in the file system."""
USABLE = 0.9
"""Share of a new file system that files can fill."""
PROBE_MIB = 4
"""What is written to a disk and compared at the server: in parallel, as a file system writes."""
KNOBS = (
    Knob(name="size", kind=KnobKind.QUANTITY, unit=Unit.BYTES, required=True, low=8 * image.MIB, help="size of the disk"),
    choice("filesystem", "file system that the client makes on it", *(name for name in FILESYSTEMS if name != "btrfs")),
    Knob(name="mkfs_options", kind=KnobKind.TEXTS, default=(), is_command=True, help="further arguments of mkfs"),
    Knob(name="mount_options", kind=KnobKind.TEXTS, default=(), help="options of mount -o"),
    choice("server_cache", "how the server writes its image: past the page cache, or into it", DIRECT, PAGE_CACHE),
)
"""Knobs of every target whose server gives a disk."""


def target(
    name: str, software: FileSoftware, *knobs: Knob, flush: Callable[[Mapping[str, Value]], str] = lambda knobs: HONOURED
) -> Target:
    """Return the target of a server that gives a disk, with these knobs of its own; `flush`: what it does with flushes."""
    return replace(
        file_server.target(name, software, *KNOBS, *knobs),
        attach=lambda host, setting, place, client: _attach_held(software, host, setting, place, client, flush(setting.knobs)),
        detach=detach,
        facts=facts,
        seconds=seconds,
        mounts_each=lambda knobs: False,
    )


def seconds(knobs: Mapping[str, Value]) -> tuple[float, float]:
    """Guess how long a trial takes for it: its image is written in full. A size that a factor sets may not be known yet."""
    size = knobs.get("size")
    return 0.0, file_server.GUESS_S + (size if isinstance(size, int) else 0) / 200e6


def tools(knobs: Mapping[str, Value]) -> tuple[str, ...]:
    """Return the programs that a client needs beside the one that gives it the file."""
    return ("losetup", "mount", "umount", "dd", *FILESYSTEMS[str(knobs["filesystem"])].tools)


def check(host: Host, setting: Setting) -> tuple[str, ...]:
    """Return what is wrong with the size of the disk: also with the room on the target below it, as soon as that is prepared."""
    kind, size = FILESYSTEMS[str(setting.knobs["filesystem"])], integer(setting.knobs, "size")
    where = file_server.parent_of_data(setting)
    found = list(image.no_room(host, where, size)) if where else []  # what it is to stand on is not there before a trial
    return (*found, *image.size_mistakes(size, kind.smallest_bytes, kind.name, int(setting.needs_bytes / USABLE)))


def image_of(instance: FileInstance) -> str:
    """Return the file in which the server keeps the disk."""
    return posixpath.join(instance.data, IMAGE)


def plan(point: str, word: str, *source: str) -> MountPlan:
    """Return the client: its source is an address of NBD, or in brackets a program that speaks NBD on the socket it is given."""
    argv = (CLIENT, "-o", f"fsname={word}", point, *source)
    return MountPlan(name=CLIENT, argv=argv, filesystem=f"fuse.{CLIENT}", source=word, file=FILE)


def bridge(driver: str) -> tuple[str, ...]:
    """Return the source of a client that reaches its server by this driver of QEMU."""
    return (
        "[",
        QEMU,
        *("--blockdev", f"{driver},node-name=disk"),
        *("--nbd-server", f"addr.type=fd,addr.str={FIRST_DESCRIPTOR}"),
        *("--export", "type=nbd,id=nbd,node-name=disk,name=,writable=on"),
        "]",
    )


def cache_found(host: Host, instance: FileInstance) -> str:
    """Return how the running server has its image open."""
    node, stored = ServerNode(pid_file=instance.path(service.PID)), image_of(instance)
    flags = [
        int(match[1], 8)
        for pid in server.pids(host, (node,))
        for name in host.list(f"/proc/{pid}/fd")
        if _leads_to(host, f"/proc/{pid}/fd/{name}", stored)
        and (match := re.search(r"^flags:\s*(\d+)", _text(host, f"/proc/{pid}/fdinfo/{name}"), re.MULTILINE))
    ]
    return (DIRECT if all(one & O_DIRECT for one in flags) else PAGE_CACHE) if flags else "not open"


def _leads_to(host: Host, link: str, path: str) -> bool:
    try:
        return host.real_path(link) == path
    except OSError:
        return False


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path)
    except OSError:
        return ""


def versions(host: Host) -> str:
    """Return the versions of QEMU and of the client."""
    qemu = host.run([QEMU, "--version"]).stdout.partition("\n")[0].removeprefix(f"{QEMU} version ").strip()
    return f"QEMU {qemu}, {host.run([CLIENT, '--version'], check=False).stdout.strip()}"


def configure(host: Host, instance: FileInstance) -> None:
    """Write the disk in full: a sparse one would be allocated by the first write, and read without a device."""
    image.write(host, image_of(instance), integer(instance.knobs, "size"), "written")


def _attach_held(software: FileSoftware, host: Host, setting: Setting, place: Place, client: int, flush: str) -> Endpoint:
    """Give a client the disk; what a flush does at the server is held against what it is to do. Raises TrialError."""
    end = attach(software, host, setting, place, client)
    seen = end.details.get("fsync")
    if seen in (REACHED, IN_MEMORY) and setting.knobs["server_cache"] == PAGE_CACHE:
        try:
            service.require("flush", flush, HONOURED if seen == REACHED else IGNORED)
        except TrialError:
            detach(host, setting, end)
            raise
    return end


def attach(software: FileSoftware, host: Host, setting: Setting, place: Place, client: int) -> Endpoint:
    """Give the first client the disk with a new file system, proved; all others work in the same one. Raises TrialError."""
    instance = file_server.instance_of(host, setting, place)
    directory = instance.path(f"{mounted.CLIENT}0")
    work = posixpath.join(directory, DISK, WORK)
    if client:
        return Endpoint(kind=EndpointKind.DIRECTORY, address=work, details={"shared": True})
    host.run(["mkdir", "--", directory])
    point = posixpath.join(directory, mounted.POINT)
    plan = software.mount(host, instance, point, f"assay-{secrets.token_hex(6)}")
    file = posixpath.join(point, plan.file)
    made = mounted.begin(host, setting.undo, plan, directory, instance.load, lambda _: _proof(host, file, image_of(instance)))
    details: dict[str, Value] = {**mounted.kept(made), "image": file}
    try:
        details["loop"] = loop = image.attach(host, setting.undo, file, direct_io="on")
        _prove_parallel(host, directory, f"/dev/{loop}", image_of(instance))
        return _furnished(host, setting, directory, details)
    except BaseException:
        with contextlib.suppress(AssayError):
            _take_back(host, setting, posixpath.join(directory, DISK), details)
        raise


def _proof(host: Host, file: str, stored: str) -> str:
    """Write a block to the disk, see it in the server's image, and return what the flush did. Raises TrialError."""
    word = secrets.token_hex(BLOCK // 2)
    argv = ["dd", f"of={file}", f"bs={BLOCK}", "count=1", "iflag=fullblock", "conv=notrunc,fsync", "status=none"]
    host.run(argv, input_text=word, timeout_s=mounted.PATIENCE_S)
    fsync = mounted.reached(host, stored)
    if host.run(["dd", f"if={stored}", f"bs={BLOCK}", "count=1", "status=none"]).stdout != word:
        raise TrialError(f"the disk at {file} is not the server's {stored}: a block that was written to it is not there")
    return fsync


def _prove_parallel(host: Host, directory: str, device: str, stored: str) -> None:
    """Write some MiB past the page cache, and compare them with the server's image. Raises TrialError.

    The FUSE export of QEMU 7.2 loses writes that come while another one waits for the network.
    """
    source = posixpath.join(directory, "probe")
    size = PROBE_MIB * image.MIB
    steps = (
        f"head -c {size} /dev/urandom > {shlex.quote(source)}",
        f"dd if={shlex.quote(source)} of={device} bs=1M oflag=direct conv=fsync status=none",
        f"cmp -n {size} -- {shlex.quote(source)} {shlex.quote(stored)}",
    )
    done = host.run(["sh", "-c", " && ".join(steps)], check=False, timeout_s=6 * mounted.PATIENCE_S)
    host.run(["rm", "-f", "--", source])
    if done.status:
        raise TrialError(f"the disk at {device} loses writes: {(done.stdout + done.stderr).strip()}")


def _furnished(host: Host, setting: Setting, directory: str, details: dict[str, Value]) -> Endpoint:
    """Make the file system on the loop device, and mount it."""
    kind, disk = FILESYSTEMS[str(setting.knobs["filesystem"])], posixpath.join(directory, DISK)
    loop = str(details["loop"])
    make(host, kind, f"/dev/{loop}", names(setting.knobs, "mkfs_options"))
    host.run(["mkdir", "--", disk])
    setting.undo.add("mount", path=disk, device=f"/dev/{loop}")
    mount(host, kind.name, ",".join((*kind.mount_options, *names(setting.knobs, "mount_options"))), f"/dev/{loop}", disk)
    work = posixpath.join(disk, WORK)
    host.run(["mkdir", "--", work])
    return Endpoint(kind=EndpointKind.DIRECTORY, address=work, details=details)


def detach(host: Host, setting: Setting, endpoint: Endpoint) -> None:
    """Unmount the file system and give the disk back, with the client that has it."""
    if not endpoint.details.get("shared"):
        _take_back(host, setting, posixpath.dirname(endpoint.address), endpoint.details)


def _take_back(host: Host, setting: Setting, disk: str, details: Mapping[str, Value]) -> None:
    setting.undo.undo("mount", path=disk)
    setting.undo.undo("loop", image=str(details["image"]))
    mounted.leave(host, setting.undo, posixpath.join(str(details["client"]), mounted.POINT), details)


def facts(host: Host, place: Place) -> tuple[tuple[str, str], ...]:
    """Return those of the server, and the features of the file system that the client made.

    Raises TrialError where it is not mounted any more.
    """
    found = file_server.facts(host, place)
    directory = posixpath.join(str(place.private["directory"]), f"{mounted.CLIENT}0")
    if not host.exists(directory):
        return found
    disk = mounted.mounted(host, posixpath.join(directory, DISK))
    if disk is None:
        raise TrialError(
            f"{directory}/{DISK}: nothing is mounted there any more. The figures are not those of the server's disk."
        )
    own = features(host, FILESYSTEMS[disk.filesystem], disk.source)
    ahead = host.read(image.read_ahead(posixpath.basename(disk.source))).strip()
    named = {"disk.filesystem": disk.filesystem, "disk.mount": ",".join(disk.options), "disk.read_ahead_kb": ahead}
    return (*found, *named.items(), *own)
