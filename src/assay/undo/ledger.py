"""What must be undone: written down before it is done, so that a lab that was killed can be cleaned up after.

What is done on a far host is written down there first, with its way back, and here, with the machine's identity: the far end
undoes it when we go away, and what it could not undo is known by name.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.catalogue import Host, Notes, Undo
from assay.errors import AssayError, UsageError
from assay.hosts.local import Local
from assay.undo.doors import UndoHost, entry_of, made_elsewhere
from assay.undo.entries import Cleaned, LedgerEntry, Orphan, in_order, left_in, strike
from assay.undo.kinds import KINDS, wait_for_dying
from assay.undo.owners import OwnerFile, default_directory, lasting_directory, locked_orphans, private


class Ledger:
    """The ledger of one lab; an `Undo` for targets on `host` (default: this machine), and `on` gives that of another host.

    With a directory, everything is kept there; without one, see `owners`.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, *, host: Host | None = None) -> None:
        self.directory = private(Path(directory) if directory is not None else default_directory())
        lasting = self.directory if directory is not None else lasting_directory()
        self._directories = tuple(dict.fromkeys((self.directory, lasting)))
        self._book = _Book(near=OwnerFile(self.directory), far=OwnerFile(lasting))
        self._own = _OnHost(self._book, UndoHost(Local() if host is None else host))
        self._doors = {self._own.door.host.name: self._own.door}

    def on(self, host: Host) -> Undo:
        """Return the `Undo` of what is done on this host. A host of a known name takes over what was done through the former."""
        known = self._doors.get(host.name)
        if known is self._own.door and not isinstance(host, Notes):
            return self
        if known is None or known.host is not host:
            known = self._doors[host.name] = UndoHost(host)
        return _OnHost(self._book, known)

    def add(self, kind: str, **details: str) -> None:
        """Write down, durably, what will be done next. Raises UsageError for an unknown kind, OSError where it cannot be kept."""
        self._own.add(kind, **details)

    def undo(self, kind: str, **details: str) -> None:
        """Undo the latest entry with these details and strike it out; nothing where there is none.

        Raises what `Door.undo` raises; the entry then stays.
        """
        self._own.undo(kind, **details)

    def unwind(self) -> tuple[Cleaned, ...]:
        """Undo all of our own that is left, on its host, in reverse order; what fails stays in the ledger and is told."""
        return tuple(self._unwind(entry) for entry in in_order(self._book.entries()))

    def close(self) -> None:
        """Give the locks back; what is left becomes an orphan for the next `clean`."""
        self._book.close()

    def orphans(self, host: Host) -> tuple[Orphan, ...]:
        """Return what owners that are gone left on this host, as it was written down here."""
        return self._orphans(lambda entry: entry.host == host.name)

    def elsewhere(self, host: Host) -> tuple[Orphan, ...]:
        """Return what owners that are gone perhaps left on other hosts than this one."""
        return self._orphans(lambda entry: entry.host != host.name)

    def clean(self, host: Host) -> tuple[Cleaned, ...]:
        """Undo what owners that are gone left on this host and is still provably theirs.

        First what a far host noted itself, then what was written down here; of each file throttle rules first, then in
        reverse order. Raises OSError or an AssayError where the host cannot be asked; nothing is forgotten then.
        """
        door = UndoHost(host)
        noted = _clean_notes(door)
        return (*noted, *self._clean_files(door, noted))

    def _unwind(self, entry: LedgerEntry) -> Cleaned:
        door = self._doors[entry.host]
        with door.lock:
            outcome = door.attempt(entry)
            if outcome.state != "left":
                self._book.strike(door, entry)
        return outcome

    def _orphans(self, wanted: Callable[[LedgerEntry], bool]) -> tuple[Orphan, ...]:
        with locked_orphans(self._directories) as files:
            found = ((path, tuple(filter(wanted, left_in(descriptor)))) for path, descriptor in files)
            return tuple(Orphan(file=str(path), entries=entries) for path, entries in found if entries)

    def _clean_files(self, door: UndoHost, noted: Sequence[Cleaned]) -> tuple[Cleaned, ...]:
        outcome: list[Cleaned] = []
        with locked_orphans(self._directories) as files:
            left = [(path, descriptor, left_in(descriptor)) for path, descriptor in files]
            if any(entry.host == door.host.name for _, _, entries in left for entry in entries):
                wait_for_dying(door.host)
            for path, descriptor, entries in left:
                here = [_clean(door, entry, noted) for entry in in_order(entries) if entry.host == door.host.name]
                done = [cleaned.entry for cleaned in here if cleaned.state != "left"]
                for entry in done:
                    strike(descriptor, entry)
                outcome += here
                if len(done) == len(entries):
                    path.unlink(missing_ok=True)
        return tuple(outcome)


def _clean(door: UndoHost, entry: LedgerEntry, noted: Sequence[Cleaned]) -> Cleaned:
    """Undo what was written down here; a command only where the far machine has not run it by itself.

    That machine strikes out its note after the command, and keeps its notes as long as it runs.
    """
    at = door.machine
    if entry.kind == "command" and entry.note and entry.boot == at.boot and made_elsewhere(entry, at) is None:
        same = (one for one in noted if (one.entry.note, one.entry.n) == (entry.note, entry.n))
        known = next((one for one in same if one.state == "left"), None)
        return Cleaned(entry=entry, state="left" if known else "gone", reason=known.reason if known else "")
    return door.attempt(entry)


def _clean_notes(door: UndoHost) -> list[Cleaned]:
    """Undo what a far machine still has in notes of owners that are gone, the files one after the other."""
    if door.notes is None:
        return []
    notes: dict[str, list[LedgerEntry]] = {}
    for note in door.notes.left():
        notes.setdefault(note.file, []).append(entry_of(note, door.host.name, door.notes.address))
    if notes:
        wait_for_dying(door.host)
    outcome: list[Cleaned] = []
    for file, entries in notes.items():
        for entry in in_order(entries):
            outcome.append(door.attempt(entry))
            if outcome[-1].state != "left":
                door.notes.strike(entry.n, file)
    return outcome


class _Book:
    """The entries of one lab that are not struck out, and their files: of this machine, and of far ones."""

    def __init__(self, *, near: OwnerFile, far: OwnerFile) -> None:
        self._near, self._far = near, far
        self._entries: list[LedgerEntry] = []
        self._numbers = itertools.count(1)
        self._mutex = threading.Lock()
        """Never held while a host is asked."""

    def enter(self, door: UndoHost, kind: str, details: Mapping[str, str]) -> None:
        """Write down, durably, on the far machine first. Raises OSError where it cannot be kept."""
        with self._mutex:
            n = next(self._numbers)
        entry = door.noted(n, kind, details)
        try:
            with self._mutex:
                (self._near if door.notes is None else self._far).write_down(entry)
                self._entries.append(entry)
        except (AssayError, OSError):
            with contextlib.suppress(AssayError, OSError):
                door.strike(entry)
            raise

    def latest(self, host: str, kind: str, details: Mapping[str, str]) -> LedgerEntry | None:
        """Return the latest entry of a host with these details."""
        fitting = (one for one in self.entries() if one.host == host and one.kind == kind)
        return max((one for one in fitting if details.items() <= one.details.items()), key=lambda one: one.n, default=None)

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Return all."""
        with self._mutex:
            return tuple(self._entries)

    def strike(self, door: UndoHost, entry: LedgerEntry) -> None:
        """Strike out what was undone; a note that a lost host keeps is found gone by whoever reads it next."""
        with contextlib.suppress(AssayError, OSError):
            door.strike(entry)
        with self._mutex:
            self._entries = [one for one in self._entries if one.n != entry.n]
            _ = self._near.strike(entry) or self._far.strike(entry)

    def close(self) -> None:
        """Close the files, and forget what is in them."""
        with self._mutex:
            self._near.close()
            self._far.close()
            self._entries.clear()


@dataclass(frozen=True)
class _OnHost:
    """The `Undo` of one host."""

    book: _Book
    door: UndoHost

    def add(self, kind: str, **details: str) -> None:
        """As `Ledger.add`."""
        if kind not in KINDS:
            raise UsageError(f"found ledger kind {kind!r}; expected one of: {', '.join(KINDS)}")
        self.book.enter(self.door, kind, details)

    def undo(self, kind: str, **details: str) -> None:
        """As `Ledger.undo`."""
        with self.door.lock:
            entry = self.book.latest(self.door.host.name, kind, details)
            if entry is not None:
                self.door.undo(entry)
                self.book.strike(self.door, entry)
