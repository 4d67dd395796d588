"""A mount by rclone, for protocols without a client in the kernel: WebDAV, SMB, S3.

rclone keeps what is written in files of its own and sends it when the file is closed, after the close has returned. So the drain
of a client waits until it has sent everything. Its own word is not enough: with a delay of 0 it sends without counting that
(vfs/stats). So a client is done when its notes name no file that is not sent, its connections hold nothing that is not confirmed,
and the server has every byte of each file that the notes named. What is only read is read from the server.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
import time
from collections.abc import Iterator, Mapping

from assay.catalogue import Host
from assay.errors import TrialError
from assay.machine import mounted, service
from assay.machine.file_server import FileInstance
from assay.machine.mounted import MountPlan
from assay.records import Endpoint, Value

PROGRAM, FILESYSTEM, REMOTE = "rclone", "fuse.rclone", "server"
TOOLS = (PROGRAM, "fusermount")
CONFIG = "rclone.conf"
PORTS = 5600
"""The first port of a client's remote control, on the loopback of the clients' namespace."""
PATIENCE_S, STEP_S = 600.0, 0.01
ARRIVAL_S = 10.0
"""How long the server may take to show a file that its client has sent."""
QUIET_LOOKS = 2
"""A client is done when so many looks in a row find nothing: a file may be between two of its queues."""
WRITE_BACK = "1ms"
"""With 0 a file is sent within the release of its last handle, which vfs/stats does not count."""
CACHE, NOTES = "cache", "vfsMeta"
"""Its files, and what it notes of each of them, below a client's directory."""


def configure(host: Host, instance: FileInstance, remote: Mapping[str, str]) -> None:
    """Write what a client needs to reach the server: the type of the remote and its options."""
    lines = (f"{name} = {value}" for name, value in remote.items())
    host.write(instance.path(CONFIG), "\n".join((f"[{REMOTE}]", *lines, "")))


def mount(instance: FileInstance, point: str, word: str, folder: str = "") -> MountPlan:
    """Return rclone in the foreground, under a name of its own in the mount table."""
    directory = posixpath.dirname(point)
    number = int(posixpath.basename(directory).rpartition("-")[2])
    argv = (
        *(PROGRAM, "mount", f"{REMOTE}:{folder}", point),
        *("--config", instance.path(CONFIG), "--cache-dir", posixpath.join(directory, CACHE)),
        *("--devname", word, "--allow-other", "--dir-cache-time", "0s", "--attr-timeout", "0s", "--poll-interval", "0s"),
        *(
            "--vfs-cache-mode",
            "writes",
            "--vfs-write-back",
            WRITE_BACK,
            "--vfs-cache-max-age",
            "1ms",
            "--vfs-cache-poll-interval",
            "100ms",
        ),
        *("--rc", "--rc-no-auth", "--rc-addr", f"127.0.0.1:{PORTS + number}"),
    )
    return MountPlan(name=PROGRAM, argv=argv, filesystem=FILESYSTEM, source=word, env={"HOME": directory})


def details(instance: FileInstance, point: str, folder: str = "") -> dict[str, Value]:
    """What the drain of a client needs beside its mount (Endpoint.details); `folder` is the part of the remote that it mounts."""
    number = int(posixpath.basename(posixpath.dirname(point)).rpartition("-")[2])
    return {"network": instance.load, "control": f"http://127.0.0.1:{PORTS + number}/", "folder": folder}


def flush(host: Host, endpoint: Endpoint) -> int | None:
    """Wait until the server has all that a client holds back; gives how long ago (ns) it was done, if it was sending.

    Raises TrialError where the client does not say what it holds, does not get done, or the server lacks what it has sent.
    """
    deadline, quiet, sizes = time.monotonic() + PATIENCE_S, 0, dict[str, int]()
    since, done_ns, was_sending = time.monotonic(), 0, False
    while quiet < QUIET_LOOKS:
        held = _held(host, endpoint)
        sizes |= {name: size or 0 for name, size in held.items() if size is not None or name not in sizes}
        if held or _unconfirmed(host, endpoint) or _waiting(host, endpoint):
            quiet, since, was_sending = 0, time.monotonic(), True
        elif lacking := _lacking(host, endpoint, sizes):
            quiet = 0
            if time.monotonic() > since + ARRIVAL_S:
                raise TrialError(f"rclone: says that all is sent, but the server lacks bytes of {lacking}")
        else:
            quiet += 1
            done_ns = time.monotonic_ns() if quiet == 1 else done_ns
            sizes.clear()  # seen there: another look at each file would take as long as the first
        if time.monotonic() > deadline:
            raise TrialError(f"rclone: {len(held)} files are not sent after {PATIENCE_S:g} s")
        time.sleep(STEP_S)
    return time.monotonic_ns() - done_ns if was_sending else None


def _held(host: Host, endpoint: Endpoint) -> dict[str, int | None]:
    """Return the files that a client has not sent, by its notes, with their sizes: a note says so from the first write on.

    A note that is just being written has no content, and its file counts as held with an unknown size.
    """
    notes = _notes(endpoint)
    found: dict[str, int | None] = {}
    for path in _below(host, notes):
        name = posixpath.relpath(path, notes)
        with contextlib.suppress(OSError):  # gone with its file
            text = host.read(path)
            try:
                note = json.loads(text)
                if note["Dirty"]:
                    found[name] = int(note["Size"])
            except (ValueError, KeyError):
                found[name] = None
    return found


def _below(host: Host, directory: str) -> Iterator[str]:
    """Yield the files below a directory."""
    for name in host.list(directory):
        path = posixpath.join(directory, name)
        names = host.list(path)
        yield from _below(host, path) if names else (path,)


def _unconfirmed(host: Host, endpoint: Endpoint) -> bool:
    """Return whether a connection of the clients holds bytes that the server's kernel has not confirmed."""
    pid = service.pid_of(host, str(endpoint.details["client"]))
    return pid is not None and service.unconfirmed_bytes(host, pid) > 0


def _notes(endpoint: Endpoint) -> str:
    return posixpath.join(str(endpoint.details["client"]), CACHE, NOTES, REMOTE)


def _waiting(host: Host, endpoint: Endpoint) -> int:
    """Return how many files a client says that it has to send, where it keeps no notes: the question takes 0.1 s."""
    if host.exists(_notes(endpoint)):
        return 0
    argv = ["nsenter", f"--net={endpoint.details['network']}", "--", PROGRAM, "rc", "--url", str(endpoint.details["control"])]
    done = host.run([*argv, "vfs/stats"], timeout_s=mounted.PATIENCE_S)
    try:
        cache = json.loads(done.stdout)["diskCache"]
        return int(cache["uploadsInProgress"]) + int(cache["uploadsQueued"])
    except (ValueError, KeyError, TypeError) as error:
        raise TrialError(f"rclone: unknown answer to vfs/stats: {done.stdout[:80]!r}") from error


def _lacking(host: Host, endpoint: Endpoint, sizes: Mapping[str, int]) -> str | None:
    """Return a file that is smaller at the server than its client has noted; None without one."""
    there = _sizes(host, str(endpoint.details["data"])) if sizes else {}
    below = str(endpoint.details["folder"]) or "."
    return next((name for name, size in sizes.items() if there.get(posixpath.relpath(name, below), -1) < size), None)


def _sizes(host: Host, data: str) -> dict[str, int]:
    """Return the size of each file below the data of the server."""
    listed = host.run(["find", data, "-type", "f", "-printf", "%s %P\\0"], check=False, timeout_s=mounted.PATIENCE_S).stdout
    rows = (row.partition(" ") for row in filter(None, listed.split("\0")))
    return {name: int(size) for size, _, name in rows}
