"""How each kind of thing in the ledger is undone, and how it is proved to be still ours before it is touched."""

from __future__ import annotations

import json
import posixpath
import time
from collections.abc import Callable, Iterator, Mapping

from assay.catalogue import FAMILY, Host, Notes
from assay.errors import BusyError, TrialError
from assay.machine import cgroups, image, kernel_settings, namespaces, ownership
from assay.machine.process_stat import stat_fields
from assay.machine.stack import DELETED, backing_file, mounts

PATIENCE_S = 5.0
"""How long a device or process may take to let go."""
UNMOUNT_S = 60.0
"""How long one umount may take: it writes what is dirty, and waits for ever for a server that does not answer."""

PF_EXITING = 0x4
SIGKILL_BIT = 1 << 8
STATS = "cat /proc/[0-9]*/stat 2>/dev/null\n"

Details = Mapping[str, str]


def undo_one(host: Host, kind: str, details: Details) -> bool:
    """Undo one thing; False where it is gone or not provably ours any more, so that there is nothing left to do.

    Raises an AssayError where it is ours and cannot be undone now.
    """
    return KINDS[kind](host, details)


def _file(host: Host, details: Details) -> bool:
    """Return whether a file is ours: its directory has our marker."""
    path = details["path"]
    if not host.exists(path) or not ownership.is_ours(host, posixpath.dirname(path), details["marker"]):
        return False
    host.run(["rm", "-f", "--", path])
    return True


def _mount(host: Host, details: Details) -> bool:
    if not _mounted(host, details):
        return False
    deadline = time.monotonic() + PATIENCE_S
    while True:
        done = host.run(["umount", "--", details["path"]], check=False, timeout_s=UNMOUNT_S)
        if not _mounted(host, details):
            return True
        if time.monotonic() > deadline:
            raise BusyError(
                f"{details['path']} cannot be unmounted ({done.stderr.strip()}). End the processes that use the file system."
            )
        time.sleep(0.1)


def _mounted(host: Host, details: Details) -> bool:
    return any(mount.point == details["path"] and mount.source == details["device"] for mount in mounts(host))


def _loop(host: Host, details: Details) -> bool:
    name = posixpath.basename(details["device"])
    found, image_file = backing_file(host, name), details["image"].removesuffix(DELETED)
    if found != image_file and not _is_cut_off(host, found, image_file):
        return False
    if "read_ahead_kb" in details:  # as it was found; an older ledger does not say
        host.write(image.read_ahead(name), details["read_ahead_kb"])
    host.run(["losetup", "-d", details["device"]], check=False)
    busy = namespaces.release(host, details["device"], lambda: backing_file(host, name) != found, PATIENCE_S)
    if busy is not None:
        raise BusyError(
            f"{details['device']} cannot be detached.{namespaces.held_by(busy)} End the processes that use the device."
        )
    return True


def _is_cut_off(host: Host, found: str | None, image_file: str) -> bool:
    """Return whether a device's file lies in a mount that is gone with the mount namespace of a killed lab.

    Then its path begins at that mount: `/nbd`, and no such file is there.
    """
    return found == f"/{posixpath.basename(image_file)}" and not host.exists(found)


def _process(host: Host, details: Details) -> bool:
    pid = details["pid"]
    found = process_state(host, pid)
    if found is None or found[0] != details["start_ticks"]:
        return False
    leads_group = found[1] == pid
    host.run(["kill", "-KILL", "--", f"-{pid}" if leads_group else pid], check=False)
    deadline = time.monotonic() + PATIENCE_S
    while (now := process_state(host, pid)) is not None and now[0] == details["start_ticks"] and now[2] not in "ZX":
        if time.monotonic() > deadline:
            raise TrialError(f"process {pid} does not end after SIGKILL (state {now[2]}): it waits for a device")
        time.sleep(0.02)
    return True


def _family(host: Host, details: Details) -> bool:
    """Every process that inherited the token of a trial's engines: children of a command outlive an engine that was killed.

    The token is a secret of this ledger, so who has it in its environment is ours. A command that empties the environment of
    its children and is killed itself escapes.
    """
    found, deadline = False, time.monotonic() + PATIENCE_S
    while members := _members(host, details["token"]):
        found = True
        if time.monotonic() > deadline:
            raise TrialError(f"processes {', '.join(members)} do not end after SIGKILL: they wait for a device")
        host.run(["kill", "-KILL", "--", *members], check=False)
        time.sleep(0.02)
    return found


def _members(host: Host, token: str) -> list[str]:
    entry = f"{FAMILY}={token}"
    return [pid for pid in host.list("/proc") if pid.isdigit() and entry in _environment(host, pid)]


def _environment(host: Host, pid: str) -> list[str]:
    """Return what a process was started with; empty for zombies, and for those of others."""
    try:
        return host.read(f"/proc/{pid}/environ").split("\0")
    except OSError:
        return []


def wait_for_dying(host: Host) -> None:
    """Wait, a few seconds at most, for processes that are ending: a killed mount(8) still finishes the call that it is in.

    Such a process has SIGKILL pending or is exiting (PF_EXITING of linux/sched.h), and may yet attach or mount.
    """
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and any(_dying(fields) for fields in _stats(host)):
        time.sleep(0.02)


def _dying(fields: list[str]) -> bool:
    return len(fields) > 28 and fields[0] not in "ZX" and bool(int(fields[6]) & PF_EXITING or int(fields[28]) & SIGKILL_BIT)


def _stats(host: Host) -> Iterator[list[str]]:
    """The fields of every process, as `_stat` gives them; of a far host in one exchange."""
    if isinstance(host, Notes):
        lines = host.run(["/bin/sh"], input_text=STATS, check=False).stdout.splitlines()
        yield from (line.rpartition(")")[2].split() for line in lines if ")" in line)
        return
    yield from (_stat(host, pid) for pid in host.list("/proc") if pid.isdigit())


def _stat(host: Host, pid: str) -> list[str]:
    """The fields of /proc/PID/stat after the command's name (proc_pid_stat(5), from the third on); empty where it is gone."""
    try:
        return stat_fields(host, pid)
    except OSError:
        return []


def process_state(host: Host, pid: str) -> tuple[str, str, str] | None:
    """(start time in ticks since boot, process group, state) of a process; None where it is gone."""
    fields = _stat(host, pid)
    return (fields[19], fields[2], fields[0]) if fields else None


def _command(host: Host, details: Details) -> bool:
    """Run a target's own way back, even if it was run before."""
    host.run([str(word) for word in json.loads(details["argv"])], timeout_s=120.0)
    return True


KINDS: Mapping[str, Callable[[Host, Details], bool]] = {
    "directory": lambda host, details: ownership.remove_directory(host, details["path"], details["marker"]),
    "file": _file,
    "own_file": lambda host, details: ownership.remove_file(host, details["path"], details["marker"]),
    "mount": _mount,
    "loop": _loop,
    "throttle": lambda host, at: cgroups.remove_throttle_rule(host, at["file"], at["device"], at["value"]),
    "cgroup": lambda host, details: cgroups.remove_group(host, details["path"]),
    "process": _process,
    "family": _family,
    "command": _command,
    "setting": kernel_settings.put_back,
}
