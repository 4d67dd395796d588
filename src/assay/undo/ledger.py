"""What must be undone: written down before it is done, so that a lab that was killed can be cleaned up after.

What is done on a far host is written down there first, with its way back, and here, with the machine's identity: the far end
undoes it when we go away, and what it could not undo is known by name.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.catalogue import Host, Notes, Undo
from assay.errors import AssayError, UsageError
from assay.hosts.local import Local
from assay.hosts.several import at_once
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

    def unwind(self, last: Collection[str] = ()) -> tuple[Cleaned, ...]:
        """Undo all of our own that is left, on each host in reverse order; what fails stays in the ledger and is told.

        Several hosts at once, then those that are named `last`: what was made of a server goes after what its clients have.
        """
        entries = in_order(self._book.entries())
        of_host = {
            name: [entry for entry in entries if entry.host == name] for name in dict.fromkeys(one.host for one in entries)
        }
        rounds = [[of_host[name] for name in of_host if (name in last) is late] for late in (False, True)]
        outcome = [
            cleaned
            for hosts in rounds
            for host in at_once(hosts, lambda own: [self._unwind(entry) for entry in own])
            for cleaned in host
        ]
        return tuple(sorted(outcome, key=lambda cleaned: entries.index(cleaned.entry)))

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
        (outcome,) = self.clean_each((host,))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def clean_each(self, hosts: Sequence[Host]) -> list[tuple[Cleaned, ...] | AssayError | OSError]:
        """As `clean` on several hosts, some at a time; a host that cannot be asked has its error. Raises RefusedError."""
        with locked_orphans(self._directories) as files:
            orphans = _Orphans(files)

            def cleaned(host: Host) -> tuple[Cleaned, ...] | AssayError | OSError:
                try:
                    door = UndoHost(host)
                    noted = _clean_notes(door)
                    return (*noted, *orphans.clean(door, noted))
                except (AssayError, OSError) as error:
                    return error

            return at_once(hosts, cleaned)

    def forget(self, name: str, host: Host | None = None) -> tuple[LedgerEntry, ...]:
        """Strike out what owners that are gone left on a far host of this name, and undo nothing of it; return what that was.

        A host that can be reached forgets its own notes, too.
        """
        forgotten = _forget_notes(UndoHost(host)) if host is not None else []
        with locked_orphans(self._directories) as files:
            return (*forgotten, *_Orphans(files).forget(name))

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


class _Orphans:
    """Ledger files of owners that are gone, locked by us; several hosts may be cleaned at once."""

    def __init__(self, files: Sequence[tuple[Path, int]]) -> None:
        self._left = [(path, descriptor, list(left_in(descriptor))) for path, descriptor in files]
        self._mutex = threading.Lock()
        """Never held while a host is asked."""

    def clean(self, door: UndoHost, noted: Sequence[Cleaned]) -> list[Cleaned]:
        """Undo what they have of one host, and strike it out."""
        outcome: list[Cleaned] = []
        own = [
            (at, in_order(one for one in entries if one.host == door.host.name)) for at, (_, _, entries) in enumerate(self._left)
        ]
        if any(entries for _, entries in own):
            wait_for_dying(door.host)
        for at, entries in own:
            here = [_clean(door, entry, noted) for entry in entries]
            self._strike(at, [cleaned.entry for cleaned in here if cleaned.state != "left"])
            outcome += here
        return outcome

    def forget(self, host: str) -> tuple[LedgerEntry, ...]:
        """Strike out all that they have of one host."""
        forgotten: list[LedgerEntry] = []
        for at, (_, _, entries) in enumerate(self._left):
            own = in_order(entry for entry in entries if entry.host == host)
            self._strike(at, own)
            forgotten += own
        return tuple(forgotten)

    def _strike(self, at: int, done: Sequence[LedgerEntry]) -> None:
        """Strike out entries of one file; it goes with the last of them."""
        path, descriptor, entries = self._left[at]
        with self._mutex:
            for entry in done:
                strike(descriptor, entry)
                entries.remove(entry)
            if not entries:
                path.unlink(missing_ok=True)


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
    noted = list(_noted(door))
    if noted:
        wait_for_dying(door.host)
    outcome: list[Cleaned] = []
    for entry in noted:
        outcome.append(door.attempt(entry))
        if outcome[-1].state != "left":
            door.strike(entry, entry.note)
    return outcome


def _forget_notes(door: UndoHost) -> list[LedgerEntry]:
    """Have a far machine forget those notes; return them."""
    noted = list(_noted(door))
    for entry in noted:
        door.strike(entry, entry.note)
    return noted


def _noted(door: UndoHost) -> Iterator[LedgerEntry]:
    """The notes of owners that are gone, file by file, each in the order of undoing."""
    if door.notes is None:
        return
    files: dict[str, list[LedgerEntry]] = {}
    for note in door.notes.left():
        files.setdefault(note.file, []).append(entry_of(note, door.host.name, door.notes.address))
    for entries in files.values():
        yield from in_order(entries)


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
