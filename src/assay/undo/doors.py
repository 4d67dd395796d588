"""A host that entries are undone on: which machine it is now, and whether an entry was made on that one."""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Mapping

from assay.catalogue import Host, Machine, Note, Notes
from assay.errors import AssayError, RefusedError, TrialError
from assay.undo.entries import GONE_WITH_BOOT, Cleaned, LedgerEntry
from assay.undo.kinds import undo_one
from assay.undo.ways_back import walk_back, way_back

FIRST_NAME = "machine-id"
LEAST_NAMES = 2
"""After another boot so many names must be the same before a command is run: a clone shares one of them."""
UNREADABLE = (KeyError, ValueError)
"""What an entry raises whose details are not those of its kind."""


class UndoHost:
    """One host. Where it is far, it keeps notes on its own machine."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.notes: Notes | None = host if isinstance(host, Notes) else None
        self.lock = threading.RLock()
        """One thing at a time is undone on a host."""

    @functools.cached_property
    def machine(self) -> Machine:
        """Which machine it is. Raises OSError where the host is lost."""
        return self.host.machine()

    def noted(self, n: int, kind: str, details: Mapping[str, str]) -> LedgerEntry:
        """Return the entry for something that will be done on this host now; a far machine has it in its own notes by then.

        Raises OSError where that machine is lost or cannot keep it, UsageError for details that no honest entry has.
        """
        at = self.machine
        entry = LedgerEntry(
            n=n, host=self.host.name, boot=at.boot, kind=kind, details=details, serial=at.serial, names=dict(at.names)
        )
        if self.notes is None:
            return entry
        file = self.notes.note(n, kind, details, way_back(kind, details))
        return dataclasses.replace(entry, address=self.notes.address, note=file)

    def strike(self, entry: LedgerEntry, file: str = "") -> None:
        """Have the far machine forget its note of what was undone, ours or one of a dead owner's file. Raises OSError."""
        if self.notes is not None:
            self.notes.strike(entry.n, file)

    def undo(self, entry: LedgerEntry) -> bool:
        """Undo one thing; False where it is gone or not ours any more.

        Raises RefusedError where it was made on another machine, an AssayError or OSError where it cannot be undone now.
        """
        reason = made_elsewhere(entry, self.machine)
        if reason is not None:
            raise RefusedError(reason)
        if entry.kind in GONE_WITH_BOOT and entry.boot != self.machine.boot:
            return False
        if self.notes is None:
            return undo_one(self.host, entry.kind, entry.details)
        return _undo_far(self.host, entry)

    def attempt(self, entry: LedgerEntry) -> Cleaned:
        """Undo one thing, telling what became of it."""
        try:
            done = self.undo(entry)
        except (AssayError, OSError, *UNREADABLE) as error:
            return Cleaned(entry=entry, state="left", reason=str(error))
        return Cleaned(entry=entry, state="undone" if done else "gone")


def made_elsewhere(entry: LedgerEntry, machine: Machine) -> str | None:
    """Return why this is perhaps not the machine on which an entry was made; None where it is.

    Each name that both have must be the same: clones have one machine-id. After another boot a command needs a second name, since
    a clone may run it as well. Where one of the two has no serial, the same boot tells. An entry of an older ledger, without a
    serial, is proved by what it names; but a command proves nothing, and is run only on the machine of its entry.
    """
    same_boot = bool(entry.boot and entry.boot == machine.boot)
    if entry.serial and machine.serial and entry.serial != machine.serial:
        return f"it belongs to another machine of the name {entry.host}{_at(entry)}"
    now = dict(machine.names)
    both = [name for name in entry.names if name in now]
    if other := [name for name in both if entry.names[name] != now[name]]:
        return f"{entry.host}{_at(entry)} has another {' and another '.join(other)}: it is another machine now, perhaps a clone"
    if entry.kind == "command" and entry.names and not same_boot and len(both) < LEAST_NAMES:
        return f"nothing but its machine-id proves that {entry.host}{_at(entry)} is still the machine on which it was made"
    same = bool((entry.serial and entry.serial == machine.serial) or same_boot)
    if same or not (entry.serial or entry.kind == "command"):
        return None
    return f"nothing proves that {entry.host}{_at(entry)} is still the machine on which it was made"


def entry_of(note: Note, host: str, address: str) -> LedgerEntry:
    """Return a far machine's note as an entry; an older note has one name of its machine, which a clone has as well."""
    return LedgerEntry(
        n=note.n,
        host=host,
        boot=note.machine.boot,
        kind=note.kind,
        details=note.details,
        serial=note.machine.serial,
        names=dict(note.machine.names) or ({FIRST_NAME: note.machine.serial} if note.machine.serial else {}),
        address=address,
        note=note.file,
    )


def _at(entry: LedgerEntry) -> str:
    return f" ({entry.address})" if entry.address else ""


def _undo_far(host: Host, entry: LedgerEntry) -> bool:
    """Undo by the script that is kept there, too. Copies of a mount in other mount namespaces need system calls besides."""
    try:
        return walk_back(host, entry.kind, entry.details)
    except TrialError:
        if entry.kind != "loop" or host.syscalls is None:
            raise
    return undo_one(host, entry.kind, entry.details)
