"""A program that runs beside a phase for an observer: in the ledger before it starts, asked at the edges, ended for certain."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from assay.catalogue import Beside, Host, Process, Undo
from assay.frozen import dataclass
from assay.records import Subject
from assay.undo.kinds import FAMILY


@dataclass(frozen=True, kw_only=True)
class Companion:
    """The running program of one observer."""

    host: Host
    undo: Undo
    beside: Beside
    process: Process
    token: str

    def read(self) -> Mapping[str, object]:
        """What it has counted until now. Raises what the observer's own `beside.read` raises."""
        return self.beside.read(self.host, self.process)

    def cpu_ns(self) -> int:
        """Processor time that it has used, its threads included; 0 where the kernel does not tell."""
        tasks = f"/proc/{self.process.pid}/task"
        spent = 0
        for task in self.host.list(tasks):
            try:
                spent += int(self.host.read(f"{tasks}/{task}/schedstat").split()[0])
            except (OSError, IndexError, ValueError):
                continue
        return spent

    def end(self) -> None:
        """End it and all that it started, and strike it out of the ledger."""
        self.process.kill()
        self.undo.undo("family", token=self.token)


def start(host: Host, undo: Undo, beside: Beside, subject: Subject) -> Companion:
    """Start the program and wait for its first answer. Raises what its start raises; then nothing of it is left."""
    token = secrets.token_hex(8)
    argv = beside.argv(host, subject)
    undo.add("family", token=token)
    process: Process | None = None
    try:
        process = host.spawn(argv, env={FAMILY: token})
        companion = Companion(host=host, undo=undo, beside=beside, process=process, token=token)
        companion.read()
    except Exception:
        if process is not None:
            process.kill()
        undo.undo("family", token=token)
        raise
    return companion
