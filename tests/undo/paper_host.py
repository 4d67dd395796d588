"""A far machine on paper: this one under another name, with an identity of one's choice, which can be lost."""

import json
import os
import signal
from pathlib import Path

from assay.catalogue import Machine, Note
from assay.hosts.local import Local
from assay.undo.ledger import Ledger


class PaperHost(Local):
    """Its notes are files in `place`, one an owner; an owner is dead when another host of that place says so."""

    def __init__(self, name, place, *, serial="filer-1", boot="boot-1", address="root@filer", owner="a", names=()):
        super().__init__(name)
        self.address, self.lost = address, False
        self.scripts = []
        """What was run by a shell."""
        self._machine = Machine(serial=serial, boot=boot, names=tuple(dict(names).items()))
        self._place, self._file = Path(place), f"{owner}.notes"

    def run(self, argv, **more):
        self._reach()
        if argv[0] == "/bin/sh":
            self.scripts.append(more.get("input_text"))
        return super().run(argv, **more)

    def read(self, path):
        self._reach()
        return super().read(path)

    def machine(self):
        self._reach()
        return self._machine

    def note(self, n, kind, details, back):
        self._reach()
        notes = self._notes(self._file)
        self._keep(self._file, [*notes, {"n": n, "kind": kind, "details": details, "back": back, "machine": vars(self._machine)}])
        return self._file

    def strike(self, n, file=""):
        self._reach()
        name = file or self._file
        self._keep(name, [note for note in self._notes(name) if note["n"] != n])

    def left(self):
        self._reach()
        found = []
        for path in sorted(self._place.glob("*.notes")):
            if path.name != self._file:
                found += [
                    Note(file=path.name, n=one["n"], kind=one["kind"], details=one["details"], machine=Machine(**one["machine"]))
                    for one in self._notes(path.name)
                ]
        return tuple(found)

    def noted(self):
        """What this owner has in its notes: (kind, number)."""
        return [(note["kind"], note["n"]) for note in self._notes(self._file)]

    def _reach(self):
        if self.lost:
            raise ConnectionError(f"host {self.name} is lost: its connection ended")

    def _notes(self, name):
        path = self._place / name
        return json.loads(path.read_text()) if path.exists() else []

    def _keep(self, name, notes):
        (self._place / name).write_text(json.dumps(notes))


def killed_owner(directory, *acts, host=None):
    """A ledger file whose owner ended by SIGKILL after it had noted these things, here or on a far host."""
    child = os.fork()
    if child == 0:
        try:
            ledger = Ledger(directory)
            undo = ledger if host is None else ledger.on(host)
            for kind, details in acts:
                undo.add(kind, **details)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
