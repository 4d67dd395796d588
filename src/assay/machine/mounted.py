"""The mount of one client of a server, in the clients' network namespace, and the proof that it is one.

A failed mount is an empty directory on the local disk, and looks much faster than any server. So a mount counts only when the
server's own storage shows what was written through it. It is made by a program that stays (FUSE), or by mount(8) where the
kernel has a client. Everything that touches a mount is a command with an end: a file system without its server may hang for ever.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
import secrets
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.catalogue import Host, Undo
from assay.errors import AssayError, EvidenceError, TrialError
from assay.frozen import dataclass, field
from assay.machine import files, ownership, service
from assay.machine.service import Program, Service
from assay.machine.stack import Mount, mounts
from assay.records import Value

FILESYSTEMS = "/proc/filesystems"
FUSE = "/dev/fuse"
TOO = {"nfs": ("nfs4",)}
"""How the mount table may call a file system beside the name that mount(8) is given."""
KERNEL, AUTO = "kernel", "auto"
POINT = "mount"
"""The mount in a client's directory."""
FSYNC = "fsync"
"""In a client's directory: what an fsync through its mount does."""
CLIENT = "client-"
"""What the name of a client's directory begins with, before its number."""
PATIENCE_S, STEP_S = 10.0, 0.02
MOUNT_S = 60.0
"""How long mount(8) may take: mount.cifs asks a slow server several times."""
PROBE_BYTES = 1 << 16
REACHED, IN_MEMORY, NOT_YET = "reaches the server's storage", "ends in the server's memory", "ends before the server"
"""What an fsync through a mount does, as its probe found it."""


@dataclass(frozen=True, kw_only=True)
class KernelClient:
    """A client that a kernel may have, and the program that does its work where it has none (knob `client`)."""

    filesystem: str
    helper: str
    """mount(8) hands over to it."""
    package: str
    otherwise: str

    def used(self, host: Host, knobs: Mapping[str, Value]) -> str:
        """Return which client is used: the wanted one, else the kernel's where there is one."""
        if (client := knobs.get("client", KERNEL)) != AUTO:
            return str(client)
        return KERNEL if in_kernel(host, self.filesystem) else self.otherwise

    def mistakes(self, host: Host, knobs: Mapping[str, Value]) -> tuple[str, ...]:
        """Return what the kernel's client lacks, where it is used."""
        if self.used(host, knobs) != KERNEL:
            return ()
        if not in_kernel(host, self.filesystem):
            found = f"{FILESYSTEMS} has no {self.filesystem} (modprobe {self.filesystem})"
            return (f"{found}. Load it (the guest of `make long` has it), or use client = {self.otherwise}.",)
        if not host.exists(self.helper):
            return (f"{posixpath.basename(self.helper)}: not found. Install {self.package}.",)
        return ()


def in_own_kernel(filesystem: str) -> bool:
    """Return whether the kernel of this machine can mount it now."""
    try:
        return re.search(rf"\b{filesystem}$", Path(FILESYSTEMS).read_text(), re.MULTILINE) is not None
    except OSError:
        return False


def in_kernel(host: Host, filesystem: str) -> bool:
    """Return whether the kernel can mount it now."""
    try:
        return re.search(rf"\b{filesystem}$", host.read(FILESYSTEMS), re.MULTILINE) is not None
    except OSError:
        return False


def no_fuse(host: Host) -> tuple[str, ...]:
    """Return what keeps a program from mounting here, if anything does."""
    return () if host.exists(FUSE) else (f"{FUSE} does not exist: no FUSE in this kernel (modprobe fuse). Load it.",)


@dataclass(frozen=True, kw_only=True)
class MountPlan:
    """How one client mounts a server."""

    name: str
    """The program, as failures call it."""
    argv: tuple[str, ...]
    """The program in the foreground, or mount(8); the last words may name the mount point."""
    filesystem: str
    source: str
    """As the mount table has it."""
    stays: bool = True
    """Whether the mount is the program's, and gone with it; mount(8) ends at once."""
    env: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    """The name of the one file in it, where it is that of a disk."""


@dataclass(frozen=True, kw_only=True)
class ClientMount:
    """A mount that was made and proved."""

    point: str
    plan: MountPlan
    service: Service | None
    fsync: str
    """What an fsync through it does."""


def begin(host: Host, undo: Undo, plan: MountPlan, directory: str, namespace: str, proof: Callable[[str], str]) -> ClientMount:
    """Mount in a directory that is there and ours, prove it, and note there what an fsync does (`facts`).

    Raises TrialError; then nothing is left.

    `proof` takes the mount and returns what an fsync through it does; it raises TrialError where the server shows nothing of it.
    """
    point = posixpath.join(directory, POINT)
    host.run(["mkdir", "--", point])
    made: Service | None = None
    undo.add("mount", path=point, device=plan.source)  # undone after its program has ended, so that it cannot hang
    try:
        made = _start(host, undo, plan, directory, namespace)
        fsync = proof(point)
        host.write(posixpath.join(directory, FSYNC), fsync)
    except BaseException:
        _end(undo, plan, point, made)
        raise
    return ClientMount(point=point, plan=plan, service=made, fsync=fsync)


def _start(host: Host, undo: Undo, plan: MountPlan, directory: str, namespace: str) -> Service | None:
    point = posixpath.join(directory, POINT)
    if not plan.stays:
        host.run(["nsenter", f"--net={namespace}", "--", *plan.argv], timeout_s=MOUNT_S)
        return None
    program = Program(name=plan.name, argv=plan.argv, directory=directory, network=namespace, env=plan.env)
    made = service.install(host, undo, program, posixpath.basename(directory))
    try:
        service.start(host, directory, plan.name, lambda: mounted(host, point) is not None, PATIENCE_S)
    except BaseException:
        service.remove(undo, made)
        raise
    return made


def end(host: Host, undo: Undo, plan: MountPlan, point: str, made: Service | None) -> None:
    """Unmount as an administrator would, so that all that a client holds back is written; then end the program."""
    with contextlib.suppress(AssayError):  # in use, or without its server: its program is ended, and the mount with it
        host.run(["umount", "--", point], check=False, timeout_s=PATIENCE_S)
    if made is not None:
        with contextlib.suppress(TrialError):
            service.stop(host, made.directory, made.name, PATIENCE_S)
    _end(undo, plan, point, made)


def _end(undo: Undo, plan: MountPlan, point: str, made: Service | None) -> None:
    if made is not None:
        service.remove(undo, made)
    undo.undo("mount", path=point, device=plan.source)


def mounted(host: Host, point: str) -> Mount | None:
    """Return what is mounted at a point; None where nothing is."""
    with contextlib.suppress(OSError, EvidenceError):
        return next((one for one in reversed(mounts(host)) if one.point == point), None)
    return None


def prove(host: Host, plan: MountPlan, point: str, data: str, below: str = "") -> str:
    """Write through a mount, or `below` it, see it in the server's data, and return what an fsync does. Raises TrialError."""
    check(host, plan.filesystem, point)
    seen, word = write_probe(host, posixpath.join(point, below))
    there = posixpath.join(data, posixpath.basename(seen))
    fsync = reached(host, there) if _content(host, there) == word else NOT_YET
    if not becomes(lambda: _content(host, there) == word):
        raise TrialError(f"the mount at {point} does not lead to {data}: the server does not have what was written through it")
    host.run(["rm", "--", seen], timeout_s=PATIENCE_S)
    if not becomes(lambda: not host.exists(there)):
        raise TrialError(f"the mount at {point} does not lead to {data}: the server still has what was removed through it")
    return fsync


def prove_within(host: Host, plan: MountPlan, point: str, data: str) -> str:
    """Prove a mount of a server that stores files as pieces with names of its own, as `prove` does. Raises TrialError.

    What was written is looked for in all files of its data; what was removed may stay there for a while.
    """
    check(host, plan.filesystem, point)
    seen, word = write_probe(host, point)
    pieces = _with_word(host, data, word)
    if not becomes(lambda: bool(_with_word(host, data, word))):
        raise TrialError(f"the mount at {point} does not lead to {data}: the server does not have what was written through it")
    found = [reached(host, piece) for piece in pieces]
    host.run(["rm", "--", seen], timeout_s=PATIENCE_S)
    return next((one for one in found if one != REACHED), REACHED) if found else NOT_YET


def write_probe(host: Host, directory: str) -> tuple[str, str]:
    """Write a random word into a new file and flush it; return both."""
    path, word = posixpath.join(directory, ownership.fresh_name()), secrets.token_hex(PROBE_BYTES // 2)
    argv = ["dd", f"of={path}", "bs=64k", "count=1", "iflag=fullblock", "conv=fsync", "status=none"]
    host.run(argv, input_text=word, timeout_s=PATIENCE_S)
    return path, word


def _with_word(host: Host, data: str, word: str) -> list[str]:
    """The files below a directory that hold a word."""
    return host.run(["grep", "-rlF", "-e", word[:64], "--", data], check=False, timeout_s=PATIENCE_S).stdout.splitlines()


def check(host: Host, filesystem: str, point: str) -> None:
    """Raise TrialError where no such file system is mounted at a point."""
    found = mounted(host, point)
    if found is None or found.filesystem not in (filesystem, *TOO.get(filesystem, ())):
        kind = "nothing" if found is None else found.filesystem
        raise TrialError(f"{point}: {kind} is mounted there, not {filesystem}. The figures would not be those of the server.")


def reached(host: Host, path: str) -> str:
    """How far the data of a server's file are, just after a client flushed them.

    A file system in memory marks no page as dirty, so nothing is seen there.
    """
    if host.syscalls is not None:
        with contextlib.suppress(OSError, EvidenceError):
            if files.in_memory(host, posixpath.dirname(path)) is not None:
                return f"at least {IN_MEMORY}"
            found = host.syscalls.cachestat(path)
            if found.dirty is not None and found.writeback is not None:
                return IN_MEMORY if found.dirty + found.writeback else REACHED
    return f"at least {IN_MEMORY}"


def _content(host: Host, path: str) -> str | None:
    try:
        return host.read(path)
    except OSError:
        return None


def becomes(found: Callable[[], bool]) -> bool:
    """Whether something becomes true within a client's delay."""
    deadline = time.monotonic() + PATIENCE_S
    while not found():
        if time.monotonic() > deadline:
            return False
        time.sleep(STEP_S)
    return True


def kept(mount: ClientMount) -> dict[str, Value]:
    """What an endpoint keeps of a mount (Endpoint.details)."""
    made = mount.service
    return {
        "filesystem": mount.plan.filesystem,
        "source": mount.plan.source,
        "fsync": mount.fsync,
        "client": posixpath.dirname(mount.point),
        "token": made.token if made else "",
        "program": mount.plan.name,
    }


def leave(host: Host, undo: Undo, point: str, details: Mapping[str, Value]) -> None:
    """End a mount by what its endpoint keeps."""
    token, directory = str(details["token"]), str(details["client"])
    name, source = str(details["program"]), str(details["source"])
    made = Service(name=name, directory=directory, token=token) if token else None
    plan = MountPlan(name=name, argv=(), filesystem=str(details["filesystem"]), source=source)
    end(host, undo, plan, point, made)


def facts(host: Host, directory: str) -> tuple[tuple[str, str], ...]:
    """Return the mounts of all clients whose directories are in this one, as they are now.

    Raises TrialError where one is not there any more: what its client did then was not done by the server.
    """
    points = [posixpath.join(directory, name, POINT) for name in host.list(directory) if name.startswith(CLIENT)]
    every = [mounted(host, point) for point in points]
    if gone := [point for point, one in zip(points, every, strict=True) if one is None]:
        raise TrialError(f"{gone[0]}: nothing is mounted there any more. The figures are not those of the server.")
    kinds = dict.fromkeys(one.filesystem for one in every if one is not None)
    options = dict.fromkeys(",".join(one.options) for one in every if one is not None)
    fsync = dict.fromkeys(host.read(posixpath.join(posixpath.dirname(point), FSYNC)) for point in points)
    named = {"clients.filesystem": ", ".join(kinds), "clients.mount": "; ".join(options), "clients.fsync": "; ".join(fsync)}
    return tuple(named.items()) if points else ()
