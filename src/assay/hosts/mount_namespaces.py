"""Mount namespaces of Linux: one of this process's own, and an unmount inside another one.

Sources: mount_namespaces(7), unshare(2), setns(2), umount2(2). setns refuses a thread that shares its directory (CLONE_FS).
"""

from __future__ import annotations

import ctypes
import os
import threading

CLONE_FS, CLONE_NEWNS = 0x200, 0x20000
MS_REC, MS_SLAVE = 0x4000, 0x80000
UMOUNT_NOFOLLOW = 8


def enter_own() -> None:
    """Give this thread, and all that it starts from now on, a mount namespace of its own; where that is refused, none.

    What is mounted in it is invisible outside, so nobody can copy it. Mounts and unmounts of the host still arrive where the
    host shares them. Call it in the main thread, before it starts others.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) == 0:
        libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None)


def unmount_in(namespace: str, point: str) -> None:
    """Unmount a mount point of another namespace (`/proc/PID/ns/mnt`). Raises OSError.

    A thread enters it, makes one system call and ends: a program of that namespace (umount) could be anybody's.
    """
    libc, path = ctypes.CDLL(None, use_errno=True), os.fsencode(point)
    failed: list[int] = []

    def enter_and_unmount() -> None:
        if libc.unshare(CLONE_FS) or libc.setns(entrance, CLONE_NEWNS) or libc.umount2(path, UMOUNT_NOFOLLOW):
            failed.append(ctypes.get_errno())

    entrance = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        thread = threading.Thread(target=enter_and_unmount)
        thread.start()
        thread.join()
    finally:
        os.close(entrance)
    if failed:
        raise OSError(failed[0], os.strerror(failed[0]), point)
