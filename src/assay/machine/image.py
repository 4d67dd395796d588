"""An image file as a disk: written in full, so that first writes cost the same as later ones, and attached to a loop device.

A preallocated or sparse image gives wrong results: the first write to each block allocates or converts an extent, and a read of
an unwritten part does not reach the device.
"""

from __future__ import annotations

import posixpath
import re
from functools import partial
from typing import Literal

from assay import units
from assay.catalogue import Host, Undo
from assay.errors import BusyError, EvidenceError, RefusedError, TrialError
from assay.machine import namespaces
from assay.machine.stack import backing_file, mount_of
from assay.records import IN_MEMORY
from assay.units import Unit

MIB = 1 << 20
BLOCK = 4096
ATTACH_TRIES = 20
PATIENCE_S = 5.0
"""How long a device of an earlier trial may take to let go."""
SPARE = 1.1
"""Free space must exceed the image, or the need of the workloads, by this factor: full file systems slow down and fail."""
ELSEWHERE = "Keep the notebook elsewhere (--lab), or set `scratch` of a loopfs"
LEAST_READ_AHEAD_KB = 128
"""Read-ahead of a new device (VM_READAHEAD_PAGES, include/linux/mm.h)."""

Kind = Literal["written", "sparse"]


def free_bytes(host: Host, path: str) -> int:
    """Return the bytes that an ordinary user may still write on the file system of a path."""
    blocks, size = host.run(["stat", "-f", "-c", "%a %S", "--", path]).stdout.split()
    return int(blocks) * int(size)


def no_room(host: Host, directory: str, size_bytes: int) -> tuple[str, ...]:
    """Return the reasons against an image of this size in a directory: missing, not writable, or too small."""
    if host.run(["test", "-d", directory, "-a", "-w", directory], check=False).status != 0:
        return (f"{directory}: no writable directory for the image. {ELSEWHERE}.",)
    if (kind := mount_of(host, directory).filesystem) in IN_MEMORY:
        return (f"{directory}: {kind} has no block device, so an image there proves nothing. {ELSEWHERE}, on a disk.",)
    free, wanted = free_bytes(host, directory), int(size_bytes * SPARE)
    if free >= wanted:
        return ()
    there, needed = (units.human(count, Unit.BYTES) for count in (free, wanted))
    return (f"{directory}: {there} free, {needed} needed (image plus 10 %). Free space. {ELSEWHERE}.",)


def size_mistakes(size_bytes: int, least_bytes: int, kind: str, filled_bytes: int) -> tuple[str, ...]:
    """Return what is wrong with the size of an image: for what is made on it, and for files that fill so many bytes of it."""
    found, size = [], units.format(size_bytes, Unit.BYTES)
    if size_bytes < least_bytes or size_bytes % MIB:
        found.append(f"found size {size}; expected whole MiB, at least {least_bytes // MIB}, for {kind}")
    if filled_bytes > size_bytes:
        found.append(f"found size {size}; expected at least {-(-filled_bytes // MIB)} MiB for what the workloads write")
    return tuple(found)


def write(host: Host, path: str, size_bytes: int, kind: Kind) -> None:
    """Create the image under a temporary name and rename it, so that a file with this name is complete.

    A written image has random, so incompressible and unique, data in every block. Raises TrialError (no space), RefusedError if
    the file system still leaves parts of it unwritten.
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
    """Write in full the parts that mkfs left preallocated (the log of mkfs.xfs); return the bytes rewritten.

    Only on file systems that report extents; the data are read and written in place.
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
    """Parse (first block, number of blocks) of each unwritten extent, in blocks of 4 KiB, from filefrag -v -b4096."""
    rows = re.findall(r"^\s*\d+:\s*(\d+)\.\.\s*(\d+):.*\bunwritten\b", text, re.MULTILINE)
    return tuple((int(first), int(last) - int(first) + 1) for first, last in rows)


def attach(host: Host, undo: Undo, image: str, *, direct_io: Literal["on", "off"]) -> str:
    """Attach the image to a free loop device, after its ledger entry; return the device's kernel name.

    If another process takes the device first, the next free one is tried. Raises RefusedError without permission or if direct
    I/O does not switch on, BusyError if the image is already attached.
    """
    if not host.is_root():
        raise RefusedError("attaching a loop device needs root. Run as root, or use kind = directory.")
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
            raise TrialError(f"{image}: cannot attach to {device}: {done.stderr.strip()}")
    raise TrialError(f"other processes took each of {ATTACH_TRIES} free loop devices. Try again.")


def direct_io(host: Host, loop: str) -> bool:
    """Return True if the loop device bypasses the page cache of its image."""
    return host.read(f"/sys/block/{loop}/loop/dio").strip() == "1"


def read_ahead(loop: str) -> str:
    """Return the file with the read-ahead of a device in KiB."""
    return f"/sys/block/{loop}/queue/read_ahead_kb"


def _read_ahead_as_new(host: Host, loop: str) -> None:
    """Reset the read-ahead: a reused device keeps its former setting and would differ from the next one.

    Newer kernels raise the minimum to suit the disk below whenever a queue limit is written (blk_apply_bdi_limits,
    block/blk-settings.c of 6.18). Writing a limit unchanged triggers this and nothing else.
    """
    host.write(read_ahead(loop), str(LEAST_READ_AHEAD_KB))
    rotational = f"/sys/block/{loop}/queue/rotational"
    host.write(rotational, host.read(rotational).strip())


def _refuse_attached(host: Host, image: str) -> None:
    """Refuse an image that stays attached: two devices on one image would overwrite each other."""
    for name in host.list("/sys/block"):
        if name.startswith("loop") and backing_file(host, name) == image:
            try:
                is_leaving = host.read(f"/sys/block/{name}/loop/autoclear").strip() == "1"  # as soon as nobody uses it
            except OSError:  # it has just left
                continue
            is_free = partial(_is_detached, host, name, image)
            busy = namespaces.release(host, f"/dev/{name}", is_free, PATIENCE_S if is_leaving else 0.0)
            if busy is not None:
                raise BusyError(f"{image} is still attached to /dev/{name}.{namespaces.held_by(busy)} End that process.")


def _is_detached(host: Host, loop: str, image: str) -> bool:
    return backing_file(host, loop) != image


def _prove_direct(host: Host, undo: Undo, loop: str, image: str, wanted: str) -> None:
    """Check direct I/O: the kernel falls back to buffered I/O silently if the alignment or the file system forbids it."""
    if direct_io(host, loop) == (wanted == "on"):
        return
    undo.undo("loop", device=f"/dev/{loop}", image=image)
    raise RefusedError(
        f"{image}: its loop device has dio = {0 if wanted == 'on' else 1}, but direct I/O {wanted} was requested. "
        "The file system below does not support it. Set `scratch` to another one, or change `direct_io`."
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
            f"{path}: {lacking} bytes are unwritten, not allocated or compressed (limit 0). "
            "Put `scratch` on ext4, xfs or btrfs without compression."
        )
