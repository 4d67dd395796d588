"""Landlock: from the first answer on the kernel lets the server, and what it starts, read the notebook and Python alone.

Links in a notebook lead where whoever wrote it wanted. Assay looks for them, and the kernel refuses what such a look overlooks.
Source: Linux Documentation/userspace-api/landlock.rst and include/uapi/linux/landlock.h.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import assay

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION = 1
"""Flag of the first call: it then gives the version of the interface."""
BENEATH = 1
PR_SET_NO_NEW_PRIVS = 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, REMOVE_FILE, MAKE_FILE = (1 << bit for bit in (0, 1, 2, 3, 5, 8))
OF_VERSION = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14}
"""What each version adds to what can be refused: all of the first, links between directories, truncation."""
PROGRAMS = EXECUTE | READ_FILE | READ_DIR
NOTEBOOK = READ_FILE | READ_DIR | WRITE_FILE | MAKE_FILE | REMOVE_FILE | 1 << 14
"""A reader of an index beside its writer has a file of locks there, which it maps and may have to make."""
LIBRARIES = ("/usr", "/lib", "/lib64")
SYSTEM = ("/proc", "/sys", "/etc/ld.so.cache", "/etc/localtime", "/dev/urandom")
"""DuckDB asks its control group for its memory. What belongs to processes outside the kernel refuses below /proc all the same."""


def version() -> int:
    """Return the version of Landlock in this kernel; 0 where there is none, or where a sandbox refuses the call."""
    return max(0, int(libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)))


def confine(lab: Path) -> None:
    """Let this process and its children reach nothing but the notebook, Python and its libraries. Raises OSError."""
    found = version()
    handled = sum(bits for since, bits in OF_VERSION.items() if since <= found)
    rules = make(CREATE_RULESET, struct.pack("Q", handled), 8, 0)
    try:
        for path, allowed in reachable(lab):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), opened(path) as descriptor:
                make(ADD_RULE, rules, BENEATH, struct.pack("=Qi", allowed & handled, descriptor), 0)
        if libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
            raise refused()
        make(RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def reachable(lab: Path) -> Iterator[tuple[str, int]]:
    """Yield each path with what may be done there: below it, where it is a directory."""
    yield str(lab), NOTEBOOK
    python = (sys.prefix, sys.base_prefix, sys.executable, *sysconfig.get_paths().values(), *assay.__path__, *sys.path)
    for path in dict.fromkeys((*LIBRARIES, *(one for one in python if one))):
        yield path, PROGRAMS if Path(path).is_dir() else EXECUTE | READ_FILE
    for path in SYSTEM:
        yield path, READ_FILE | READ_DIR if Path(path).is_dir() else READ_FILE
    yield "/dev/null", READ_FILE | WRITE_FILE


@contextlib.contextmanager
def opened(path: str) -> Iterator[int]:
    """Give a descriptor that names a path and opens nothing."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def make(*words: object) -> int:
    """Make a system call; return what it gives. Raises OSError."""
    found = int(libc().syscall(*(ctypes.c_long(word) if isinstance(word, int) else word for word in words)))
    if found < 0:
        raise refused()
    return found


def refused() -> OSError:
    """Return the error of the last call."""
    number = ctypes.get_errno()
    return OSError(number, f"Landlock: {os.strerror(number)}")


def libc() -> ctypes.CDLL:
    """Return the C library."""
    return ctypes.CDLL(None, use_errno=True)
