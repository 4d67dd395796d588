"""An image file that is a disk: written in full, so that no first write is dearer than the next, and attached to a loop device.

A preallocated or sparse image lies: its first write to each block allocates or converts an extent, and a read of a part that
was never written touches no device.
"""

from __future__ import annotations

import posixpath
import re
from typing import Literal

from assay.catalogue import Host, Undo
from assay.errors import BusyError, EvidenceError, RefusedError, TrialError
from assay.machine.stack import backing_file, mount_of

MIB = 1 << 20
BLOCK = 4096
ATTACH_TRIES = 20
SPARE = 1.1
"""An image must fit with this much to spare: a full file system below would slow every write down."""
LEAST_READ_AHEAD_KB = 128
"""What the kernel gives every device that is new (VM_READAHEAD_PAGES, include/linux/mm.h)."""
IN_MEMORY = ("tmpfs", "ramfs")
"""Without a device below, and without FIEMAP: neither proof can be given there."""

Kind = Literal["written", "sparse"]


def free_bytes(host: Host, path: str) -> int:
    """Bytes that an ordinary user may still write on the file system that holds path."""
    blocks, size = host.run(["stat", "-f", "-c", "%a %S", "--", path]).stdout.split()
    return int(blocks) * int(size)


def no_room(host: Host, directory: str, size_bytes: int) -> tuple[str, ...]:
    """What stands against an image of this size in a directory: it is not there, not ours to write, or too small."""
    if host.run(["test", "-d", directory, "-a", "-w", directory], check=False).status != 0:
        return (f"found no directory at {directory} that we may write; expected one for the image: mend `scratch`",)
    if (kind := mount_of(host, directory).filesystem) in IN_MEMORY:
        return (
            f"found {kind} at {directory}; expected a file system on a device, that tells where an image lies: mend `scratch`",
        )
    free, wanted = free_bytes(host, directory), int(size_bytes * SPARE)
    return () if free >= wanted else (f"found {free} bytes free in {directory}; expected {wanted}: the image and 10 % to spare",)


def write(host: Host, path: str, size_bytes: int, kind: Kind) -> None:
    """Make the image under a temporary name and rename it, so that a file with this name is complete.

    A written one has random, hence incompressible and unique, data in every block. Raises TrialError (no space), RefusedError
    where the file system keeps parts of it unwritten all the same.
    """
    part = f"{path}.part"
    if kind == "sparse":
        host.run(["truncate", "-s", str(size_bytes), part])
    else:
        count = ["count=" + str(size_bytes), "iflag=fullblock,count_bytes"]
        host.run(["dd", "if=/dev/urandom", f"of={part}", "bs=1M", *count, "conv=fsync", "status=none"])
        if host.syscalls is not None:
            host.syscalls.drop_file(part)
        _refuse_unwritten(host, part)
    host.run(["mv", "-f", "--", part, path])


def settle(host: Host, path: str) -> int:
    """Write in full what mkfs left preallocated (mkfs.xfs zeroes its log so); the number of bytes rewritten.

    Only for images on file systems that tell their extents; the data are read back and written in place.
    """
    total = 0
    for first, count in parse_unwritten(host.run(["filefrag", "-v", "-b4096", path], check=False).stdout):
        place = [f"skip={first}", f"seek={first}", f"count={count}", "conv=notrunc,fsync", "status=none"]
        host.run(["dd", f"if={path}", f"of={path}", "bs=4096", *place])
        total += count * BLOCK
    if total:
        host.run(["sync", "--", path])
    return total


def parse_unwritten(text: str) -> tuple[tuple[int, int], ...]:
    """(first block, number of blocks) of each unwritten extent, in blocks of 4 KiB, from filefrag -v -b4096."""
    rows = re.findall(r"^\s*\d+:\s*(\d+)\.\.\s*(\d+):.*\bunwritten\b", text, re.MULTILINE)
    return tuple((int(first), int(last) - int(first) + 1) for first, last in rows)


def attach(host: Host, undo: Undo, image: str, *, direct_io: Literal["on", "off"]) -> str:
    """Attach the image to a free loop device, which is written down first; its kernel name.

    Another process may take the device between the look and the attach: then the next free one is tried. Raises RefusedError
    where loop devices may not be used or direct I/O does not really switch on, BusyError where the image is attached already.
    """
    if not host.is_root():
        raise RefusedError("found that we are not root; expected root to attach a loop device: run as root or use kind directory")
    _refuse_attached(host, image)
    for _ in range(ATTACH_TRIES):
        device = host.run(["losetup", "-f"]).stdout.strip()
        name = posixpath.basename(device)
        undo.add("loop", device=device, image=image, read_ahead_kb=host.read(read_ahead(name)).strip())
        done = host.run(["losetup", f"--direct-io={direct_io}", device, image], check=False)
        if done.status == 0:
            _prove_direct(host, undo, name, image, direct_io)
            _read_ahead_as_new(host, name)
            return name
        taken = backing_file(host, name) not in (None, image)
        undo.undo("loop", device=device, image=image)
        if not taken and "busy" not in done.stderr.lower():
            raise TrialError(f"{image} cannot be attached to {device}: {done.stderr.strip()}")
    raise TrialError(f"found each of {ATTACH_TRIES} free loop devices taken by others in between; try again")


def direct_io(host: Host, loop: str) -> bool:
    """What the kernel says of the loop device: whether it goes past the page cache of its image."""
    return host.read(f"/sys/block/{loop}/loop/dio").strip() == "1"


def read_ahead(loop: str) -> str:
    """Where the kernel keeps how far it reads ahead on a device, in KiB."""
    return f"/sys/block/{loop}/queue/read_ahead_kb"


def _read_ahead_as_new(host: Host, loop: str) -> None:
    """A device that was used before keeps what was set then, and so would differ from the next one.

    Newer kernels raise the least to what suits the disk below, whenever a limit of the queue is written (blk_apply_bdi_limits,
    block/blk-settings.c of 6.18): writing one as it is changes nothing else.
    """
    host.write(read_ahead(loop), str(LEAST_READ_AHEAD_KB))
    rotational = f"/sys/block/{loop}/queue/rotational"
    host.write(rotational, host.read(rotational).strip())


def _refuse_attached(host: Host, image: str) -> None:
    """Two devices on one image write over each other: one that somebody keeps from being detached leaves no room for another."""
    users = [name for name in host.list("/sys/block") if name.startswith("loop") and backing_file(host, name) == image]
    if users:
        raise BusyError(
            f"found {image} attached to /dev/{' and /dev/'.join(users)} still; expected it free: end the processes that use it"
        )


def _prove_direct(host: Host, undo: Undo, loop: str, image: str, wanted: str) -> None:
    """The kernel falls back to buffered I/O without an error where the alignment or the file system forbids it."""
    if direct_io(host, loop) == (wanted == "on"):
        return
    undo.undo("loop", device=f"/dev/{loop}", image=image)
    raise RefusedError(
        f"found dio = {0 if wanted == 'on' else 1} for the loop device of {image}; expected direct I/O {wanted}: "
        "the file system below does not allow it, put the image on another (`scratch`) or set direct_io"
    )


def _refuse_unwritten(host: Host, path: str) -> None:
    if host.syscalls is None:
        return
    try:
        extents = host.syscalls.fiemap(path)
    except (OSError, EvidenceError):
        return
    lacking = extents.unwritten_bytes + extents.hole_bytes + extents.encoded_bytes
    if lacking:
        raise RefusedError(
            f"found {lacking} bytes of {path} unwritten, without a place or compressed; expected an image that is all on the "
            "device: put `scratch` on ext4, xfs or btrfs without compression"
        )
