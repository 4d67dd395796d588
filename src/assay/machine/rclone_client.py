"""A mount by rclone, for protocols without a client in the kernel: WebDAV, SMB, S3.

rclone keeps what is written in files of its own and sends it when the file is closed, after the close has returned. So the drain
of a client waits until it has sent everything. What is only read is read from the server.
"""

from __future__ import annotations

import json
import posixpath
import time
from collections.abc import Mapping

from assay.catalogue import Host
from assay.errors import TrialError
from assay.machine import mounted
from assay.machine.file_server import FileInstance
from assay.machine.mounted import MountPlan
from assay.records import Endpoint, Value

PROGRAM, FILESYSTEM, REMOTE = "rclone", "fuse.rclone", "server"
TOOLS = (PROGRAM, "fusermount")
CONFIG = "rclone.conf"
PORTS = 5600
"""The first port of a client's remote control, on the loopback of the clients' namespace."""
PATIENCE_S, STEP_S = 600.0, 0.02


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
        *("--config", instance.path(CONFIG), "--cache-dir", posixpath.join(directory, "cache")),
        *("--devname", word, "--allow-other", "--dir-cache-time", "0s", "--attr-timeout", "0s", "--poll-interval", "0s"),
        *(
            "--vfs-cache-mode",
            "writes",
            "--vfs-write-back",
            "0s",
            "--vfs-cache-max-age",
            "1ms",
            "--vfs-cache-poll-interval",
            "100ms",
        ),
        *("--rc", "--rc-no-auth", "--rc-addr", f"127.0.0.1:{PORTS + number}"),
    )
    return MountPlan(name=PROGRAM, argv=argv, filesystem=FILESYSTEM, source=word, env={"HOME": directory})


def details(instance: FileInstance, point: str) -> dict[str, Value]:
    """What the drain of a client needs beside its mount (Endpoint.details)."""
    number = int(posixpath.basename(posixpath.dirname(point)).rpartition("-")[2])
    return {"network": instance.load, "control": f"http://127.0.0.1:{PORTS + number}/"}


def flush(host: Host, endpoint: Endpoint) -> None:
    """Wait until a client has sent all that it holds back. Raises TrialError where it does not say so, or does not get done."""
    deadline = time.monotonic() + PATIENCE_S
    argv = ["nsenter", f"--net={endpoint.details['network']}", "--", PROGRAM, "rc", "--url", str(endpoint.details["control"])]
    while True:
        done = host.run([*argv, "vfs/stats"], timeout_s=mounted.PATIENCE_S)
        try:
            cache = json.loads(done.stdout)["diskCache"]
            waiting = int(cache["uploadsInProgress"]) + int(cache["uploadsQueued"])
        except (ValueError, KeyError, TypeError) as error:
            raise TrialError(f"rclone: unknown answer to vfs/stats: {done.stdout[:80]!r}") from error
        if not waiting:
            return
        if time.monotonic() > deadline:
            raise TrialError(f"rclone: {waiting} files are not sent after {PATIENCE_S:g} s")
        time.sleep(STEP_S)
