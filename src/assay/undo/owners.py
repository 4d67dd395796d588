"""The files of a ledger, one an owner: locked (flock) as long as the owner lives, so that a free lock is an orphan.

What was done to this machine is written down where a reboot removes it with the rest, in /run. What was done elsewhere outlives
our reboot and is kept in /var/lib.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.errors import RefusedError
from assay.hosts.local import Local
from assay.undo.entries import LedgerEntry, strike, write_down
from assay.undo.kinds import PATIENCE_S, process_state

SYSTEM_DIRECTORY = Path("/run/assay")
LASTING_DIRECTORY = Path("/var/lib/assay")


class OwnerFile:
    """The file of one living owner: made with its first entry, removed with its last. Not for two threads at once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path: Path | None = None
        self._descriptor = -1
        self._open: set[int] = set()

    def write_down(self, entry: LedgerEntry) -> None:
        """Keep an entry durably. Raises OSError, and RefusedError where others could write in the directory."""
        if self._path is None:
            self._make()
        write_down(self._descriptor, entry)
        self._open.add(entry.n)

    def strike(self, entry: LedgerEntry) -> bool:
        """Strike out an entry; False where it is not in this file."""
        if entry.n not in self._open:
            return False
        strike(self._descriptor, entry)
        self._open.remove(entry.n)
        return True

    def close(self) -> None:
        """Give the lock back; the file goes where nothing is left in it, else it becomes an orphan for the next `clean`."""
        if self._path is None:
            return
        if not self._open:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._path, self._descriptor = None, -1
        self._open.clear()

    def _make(self) -> None:
        path = private(self._directory) / f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        with _locked(self._directory):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        _sync_directory(self._directory)
        self._path, self._descriptor = path, descriptor


def default_directory() -> Path:
    """/run/assay for root, $XDG_RUNTIME_DIR/assay for others, else a directory of this user's own in /tmp."""
    if os.geteuid() == 0 and os.access(SYSTEM_DIRECTORY.parent, os.W_OK):
        return SYSTEM_DIRECTORY
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "assay"
    return Path("/tmp") / f"assay-{os.getuid()}"  # noqa: S108 - its owner and mode are checked before it is used


def lasting_directory() -> Path:
    """/var/lib/assay for root, $XDG_STATE_HOME/assay or ~/.local/state/assay for others; without a home the default one."""
    if os.geteuid() == 0 and os.access(LASTING_DIRECTORY.parent, os.W_OK):
        return LASTING_DIRECTORY
    state, home = os.environ.get("XDG_STATE_HOME"), os.environ.get("HOME")
    if not state and not home:
        return default_directory()
    return Path(state or f"{home}/.local/state") / "assay"


def private(directory: Path) -> Path:
    """Return the directory, made where it is not there. Raises RefusedError where somebody else could write in it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise RefusedError(
            f"{directory} is owned by user {found.st_uid}, mode {stat.S_IMODE(found.st_mode):o}: other users may write there. "
            "Remove the directory, or set XDG_RUNTIME_DIR."
        )
    return directory


@contextlib.contextmanager
def locked_orphans(directories: Iterable[Path]) -> Iterator[list[tuple[Path, int]]]:
    """The files whose owner is gone, each locked by us until the end; a directory that is not there has none."""
    files: list[tuple[Path, int]] = []
    try:
        for directory in directories:
            if directory.is_dir():
                files += _orphans_in(private(directory))
        yield files
    finally:
        for _, descriptor in files:
            os.close(descriptor)


def _orphans_in(directory: Path) -> Iterator[tuple[Path, int]]:
    with _locked(directory):
        for path in sorted(directory.glob("*.jsonl")):
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
            except FileNotFoundError:  # its owner has just ended with nothing left in it
                continue
            if _free(path, descriptor):
                yield path, descriptor
            else:
                os.close(descriptor)


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the lock of the whole directory: an owner's file must never be seen between its making and its locking."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _free(path: Path, descriptor: int) -> bool:
    """Whether the lock could be had; a dead owner's is waited for, as its child between fork and exec holds it a moment more."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = process_state(Local(), path.name.partition("-")[0])
            if (owner is not None and owner[2] not in "ZX") or time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        else:
            return True


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
