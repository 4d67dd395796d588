"""Timed events of a phase: at T + at something is done to a host, while the clients run.

What was done, when and with which status is kept as facts, so that a curve with a dip says why.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from assay.catalogue import Host
from assay.errors import AssayError
from assay.machine.external_commands import substitute
from assay.records import Event, Fact, FactClass, Place, Value, When

LONGEST_S = 60.0
"""An event that takes longer than this is ended and has failed."""


@dataclass(frozen=True, kw_only=True, order=True)
class TimedCommand:
    """A command that is due so many ns after T on a host."""

    at_ns: int
    argv: tuple[str, ...]
    on: str = "local"


@dataclass
class Events:
    """The events of one phase. `start` when T is known, `finish` when the phase is over."""

    hosts: Mapping[str, Host]
    phase: str
    commands: Sequence[TimedCommand]
    facts: list[Fact] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    _begun: int = 0
    """How many of them, by time, have been started."""
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self, start_ns: int) -> None:
        """Wait for each event's time in a thread of its own."""
        if self.commands:
            self._thread = threading.Thread(target=self._run, args=(start_ns,), name="events", daemon=True)
            self._thread.start()

    def finish(self) -> None:
        """What is not due yet does not happen any more, and each such event is a failure; what has begun is waited for."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(2 * LONGEST_S)
            self._thread = None
        for due in sorted(self.commands)[self._begun :]:
            self.failures.append(f"phase {self.phase} ended before its event {' '.join(due.argv)!r} at {due.at_ns / 1e9:g} s")
        self._begun = len(self.commands)

    def _run(self, start_ns: int) -> None:
        for number, due in enumerate(sorted(self.commands)):
            if self._over.wait(max(0.0, (start_ns + due.at_ns - time.monotonic_ns()) / 1e9)):
                return
            self._begun += 1
            began_ns = time.monotonic_ns() - start_ns
            status = self._do(self.hosts[due.on], due.argv)
            value = f"at {began_ns / 1e9:.3f} s: {' '.join(due.argv)}: {status}"
            key = f"event.{self.phase}.{number}"
            self.facts.append(Fact(host=due.on, when=When.AFTER, key=key, value=value, fact_class=FactClass.NOISE))

    def _do(self, host: Host, argv: tuple[str, ...]) -> str:
        try:
            done = host.run(argv, check=False, timeout_s=LONGEST_S)
        except (AssayError, OSError) as error:
            self.failures.append(f"event {' '.join(argv)!r}: {error}")
            return str(error)
        if done.status != 0:
            self.failures.append(
                f"event {' '.join(argv)!r}: " + ": ".join(filter(None, (f"exit status {done.status}", done.stderr.strip())))
            )
        return f"exit status {done.status}"


def commands_of(events: Iterable[Event], phase: str, values: Mapping[str, str]) -> list[TimedCommand]:
    """The events of one phase with their placeholders filled in. Raises UsageError for a placeholder nobody knows."""
    return [
        TimedCommand(at_ns=event.at_ns, argv=tuple(substitute(word, values) for word in event.argv), on=event.on)
        for event in events
        if event.phase == phase
    ]


def values_of(place: Place, knobs: Mapping[str, Value], pids: Sequence[int]) -> dict[str, str]:
    """What `{...}` may stand for in an event of a workload with these knobs.

    The place's address, what the target keeps for itself, the workload's {variables.NAME}, and the client processes:
    `{client.pid}` is the first, `{client.0.pid}` each of them.
    """
    own = {str(key): str(value) for key, value in place.private.items()}
    prefixed = {f"{place.target}.{key}": value for key, value in own.items()}
    variables = {key: str(value) for key, value in knobs.items() if key.startswith("variables.")}
    clients = {f"client.{index}.pid": str(pid) for index, pid in enumerate(pids)}
    first = {"client.pid": str(pids[0])} if pids else {}
    return {**own, **prefixed, **variables, **clients, **first, "directory": place.address}
