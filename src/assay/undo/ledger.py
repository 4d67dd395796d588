"""What must be undone: written down before it is done, so that a lab that was killed can be cleaned up after.

One file per owner in a directory of ours, locked (flock) as long as the owner lives: a free lock is an orphan. A file has JSON
lines, only ever appended and synced: `{"n":1,"host":"local","boot":"…","kind":"mount","details":{…}}` before the act,
`{"struck":1}` after it was undone. The last line may be torn by a kill and is then left out: what it announced never began.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import stat
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from assay.catalogue import Host
from assay.errors import AssayError, RefusedError, UsageError
from assay.hosts.local import Local
from assay.undo.kinds import KINDS, PATIENCE_S, process_state, undo_one, wait_for_dying

BOOT_ID = "/proc/sys/kernel/random/boot_id"
SYSTEM_DIRECTORY = Path("/run/assay")
GONE_WITH_BOOT = frozenset({"mount", "loop", "throttle", "cgroup", "process", "family"})
"""Kinds that no reboot survives: after one, equal names belong to others."""


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One thing to undo."""

    n: int
    host: str
    boot: str
    kind: str
    details: dict[str, str]

    def __str__(self) -> str:
        return f"{self.kind} " + " ".join(f"{key}={value}" for key, value in self.details.items())


@dataclass(frozen=True, kw_only=True)
class Orphan:
    """The file of an owner that is gone, and what it left."""

    file: str
    entries: tuple[LedgerEntry, ...]


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """What became of one entry of an orphan: undone, gone (not there or not ours any more), or left with the reason."""

    entry: LedgerEntry
    state: str
    reason: str = ""


@dataclass
class _OwnerFile:
    """The owner's own file while it is open."""

    path: Path
    descriptor: int
    entries: list[LedgerEntry] = field(default_factory=list)
    last: int = 0


class Ledger:
    """The ledger of one lab; an `Undo` for targets. Entries are undone through `host` (default: this machine)."""

    def __init__(self, directory: str | os.PathLike[str] | None = None, *, host: Host | None = None) -> None:
        self.directory = _private(Path(directory) if directory is not None else default_directory())
        self._host: Host = Local() if host is None else host
        self._mutex = threading.RLock()
        self._file: _OwnerFile | None = None

    def add(self, kind: str, **details: str) -> None:
        """Write down, durably, what will be done next. Raises UsageError for an unknown kind, OSError where it cannot be kept."""
        if kind not in KINDS:
            raise UsageError(f"found ledger kind {kind!r}; expected one of: {', '.join(KINDS)}")
        with self._mutex:
            file = self._opened()
            file.last += 1
            entry = LedgerEntry(n=file.last, host=self._host.name, boot=_boot(self._host), kind=kind, details=details)
            _append(file.descriptor, vars(entry))
            file.entries.append(entry)

    def undo(self, kind: str, **details: str) -> None:
        """Undo the latest entry with these details and strike it out; nothing where there is none.

        Raises what `undo_one` raises; the entry then stays.
        """
        with self._mutex:
            entries = self._file.entries if self._file else []
            for entry in reversed(entries):
                if entry.kind == kind and details.items() <= entry.details.items():
                    self._undo(entry)
                    return

    def unwind(self) -> tuple[Cleaned, ...]:
        """Undo all of our own that is left, in reverse order; what fails stays in the ledger and is told."""
        with self._mutex:
            if self._file is None:
                return ()
            outcome = tuple(_attempt(self._host, self._file.descriptor, entry) for entry in in_order(self._file.entries))
            left = {cleaned.entry.n for cleaned in outcome if cleaned.state == "left"}
            self._file.entries = [entry for entry in self._file.entries if entry.n in left]
            return outcome

    def close(self) -> None:
        """Give the lock back; the file goes where nothing is left in it, else it becomes an orphan for the next `clean`."""
        with self._mutex:
            if self._file is None:
                return
            if not self._file.entries:
                self._file.path.unlink(missing_ok=True)
            os.close(self._file.descriptor)
            self._file = None

    def orphans(self, host: Host) -> tuple[Orphan, ...]:
        """Return what owners that are gone left on this host."""
        with _locked_orphans(self.directory) as files:
            found = (Orphan(file=str(path), entries=_of_host(_entries(descriptor), host)) for path, descriptor in files)
            return tuple(orphan for orphan in found if orphan.entries)

    def clean(self, host: Host) -> tuple[Cleaned, ...]:
        """Undo what orphans left on this host and is still provably theirs: throttle rules first, then in reverse order."""
        outcome: list[Cleaned] = []
        with _locked_orphans(self.directory) as files:
            if files:
                wait_for_dying(host)
            for path, descriptor in files:
                entries = _entries(descriptor)
                here = [_attempt(host, descriptor, entry) for entry in in_order(_of_host(entries, host))]
                outcome += here
                left = len(entries) - sum(cleaned.state != "left" for cleaned in here)
                if left == 0:
                    path.unlink(missing_ok=True)
        return tuple(outcome)

    def _undo(self, entry: LedgerEntry) -> None:
        assert self._file is not None
        undo_one(self._host, entry.kind, entry.details)
        _strike(self._file.descriptor, entry)
        self._file.entries.remove(entry)

    def _opened(self) -> _OwnerFile:
        if self._file is None:
            path = self.directory / f"{os.getpid()}-{secrets.token_hex(4)}.jsonl"
            with _locked(self.directory):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            _sync_directory(self.directory)
            self._file = _OwnerFile(path=path, descriptor=descriptor)
        return self._file


def in_order(entries: list[LedgerEntry] | tuple[LedgerEntry, ...]) -> list[LedgerEntry]:
    """Return the order of undoing: throttle rules first (a flush should not wait for them), then the latest first."""
    return sorted(entries, key=lambda entry: (entry.kind != "throttle", -entry.n))


def default_directory() -> Path:
    """/run/assay for root, $XDG_RUNTIME_DIR/assay for others, else a directory of this user's own in /tmp."""
    if os.geteuid() == 0 and os.access(SYSTEM_DIRECTORY.parent, os.W_OK):
        return SYSTEM_DIRECTORY
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.access(runtime, os.W_OK):
        return Path(runtime) / "assay"
    return Path("/tmp") / f"assay-{os.getuid()}"  # noqa: S108 - its owner and mode are checked before it is used


def _private(directory: Path) -> Path:
    """Return the directory, made where it is not there. Raises RefusedError where somebody else could write in it."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = directory.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise RefusedError(
            f"{directory} is owned by user {found.st_uid}, mode {stat.S_IMODE(found.st_mode):o}: other users may write there. "
            "Remove the directory, or set XDG_RUNTIME_DIR."
        )
    return directory


def _boot(host: Host) -> str:
    try:
        return host.read(BOOT_ID).strip()
    except OSError:
        return ""


def _append(descriptor: int, line: dict[str, object]) -> None:
    """Write a line durably. Raises OSError where there is no room for all of it, and then leaves nothing of it."""
    data = json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    before = os.fstat(descriptor).st_size
    if os.write(descriptor, data) < len(data):  # a file system that fills up within a line says no more than that
        os.ftruncate(descriptor, before)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(descriptor)


def _strike(descriptor: int, entry: LedgerEntry) -> None:
    """Strike out what was undone. Where there is no room for that, the entry is found gone by whoever reads the file next."""
    with contextlib.suppress(OSError):
        _append(descriptor, {"struck": entry.n})


def _entries(descriptor: int) -> tuple[LedgerEntry, ...]:
    """Return what is in a file and not struck out. A torn last line is ended first, so that what is appended stays readable."""
    size = os.fstat(descriptor).st_size
    content = os.pread(descriptor, size, 0)
    if content and not content.endswith(b"\n"):
        os.write(descriptor, b"\n")
    found: dict[int, LedgerEntry] = {}
    for line in content.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            fields = json.loads(line)
            if "struck" in fields:
                found.pop(fields["struck"], None)
            else:
                entry = LedgerEntry(**fields)
                found[entry.n] = entry
    return tuple(found.values())


def _of_host(entries: tuple[LedgerEntry, ...], host: Host) -> tuple[LedgerEntry, ...]:
    return tuple(entry for entry in entries if entry.host == host.name)


def _attempt(host: Host, descriptor: int, entry: LedgerEntry) -> Cleaned:
    """Undo and strike out one entry, telling what became of it."""
    try:
        stale = entry.kind in GONE_WITH_BOOT and entry.boot != _boot(host)
        done = not stale and undo_one(host, entry.kind, entry.details)
    except (AssayError, OSError, KeyError) as error:
        return Cleaned(entry=entry, state="left", reason=str(error))
    _strike(descriptor, entry)
    return Cleaned(entry=entry, state="undone" if done else "gone")


@contextlib.contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the lock of the whole directory: an owner's file must never be seen between its making and its locking."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _locked_orphans(directory: Path) -> Iterator[list[tuple[Path, int]]]:
    """The files whose owner is gone, each locked by us until the end."""
    files: list[tuple[Path, int]] = []
    try:
        with _locked(directory):
            for path in sorted(directory.glob("*.jsonl")):
                descriptor = os.open(path, os.O_RDWR | os.O_APPEND)
                if _free(path, descriptor):
                    files.append((path, descriptor))
                else:
                    os.close(descriptor)
        yield files
    finally:
        for _, descriptor in files:
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
