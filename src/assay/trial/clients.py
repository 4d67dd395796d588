"""The engine processes of a trial: started, written in the ledger, spoken to line by line, ended for certain.

Each host gives the lines of its clients with the time at which they came in. The rendezvous decides what follows; `Dialogue`
carries it out with the controller's clock.
"""

from __future__ import annotations

import contextlib
import json
import queue
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from assay.catalogue import FAMILY, Host, Process
from assay.errors import AssayError, LostHostError, TrialError
from assay.trial import placement
from assay.trial.fleet import Station, each
from assay.trial.protocol import Message
from assay.undo.kinds import process_state

NO_GROUPS: Mapping[str, placement.Cgroup] = {}
FAREWELL_S = 5.0
"""How long an engine has to end after its input has."""


@dataclass(frozen=True, kw_only=True)
class Received:
    """What came from a client: a message, or None with the reason why no more will come."""

    client: int
    message: Message | None
    at_ns: int
    reason: str = ""
    host: str | None = None
    """The host that is lost, with all its clients; None where it is there."""


@dataclass
class _Member:
    station: Station
    process: Process
    start_ticks: str = ""
    ended: bool = False
    heard_out: threading.Event = field(default_factory=threading.Event)
    """Set when the end of its output was seen."""


@dataclass
class Crew:
    """The engine processes of one trial, one a client. `close` ends them all, whatever happened before."""

    inbox: queue.SimpleQueue[Received] = field(default_factory=queue.SimpleQueue)
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    """In the environment of every engine and of all that it starts."""
    free: Callable[[], None] = lambda: None
    """Ends what engines wait for that do not go: a mount without its server never lets a process end."""
    _members: dict[int, _Member] = field(default_factory=dict)
    """Client -> its process."""
    _stations: dict[str, Station] = field(default_factory=dict)
    """Where processes with our token may be."""
    _closing: threading.Event = field(default_factory=threading.Event)

    def spawn(
        self,
        stations: Sequence[Station],
        cgroups: Mapping[str, placement.Cgroup] = NO_GROUPS,
        before: Callable[[int], tuple[str, ...]] = lambda client: (),
    ) -> None:
        """Start an engine on each of these stations, one a client, in the group of that host; `before` are words before it.

        What is asked besides is asked of all hosts at the same time; but a process of this machine dies with the thread that
        starts it, so all are started by the caller's. Raises what Host.spawn and placement raise; then `close` still works.
        """
        there = tuple({one.name: one for one in stations}.values())
        self._stations = {one.name: one for one in there}
        each(there, lambda one: one.undo.add("family", token=self.token, what="load"))
        for index, station in enumerate(stations):
            argv = [*before(index), station.engine]
            self._members[index] = _Member(station=station, process=station.host.spawn(argv, env={FAMILY: self.token}))
        each(there, lambda one: self._enter(one, cgroups.get(one.name)))

    def _enter(self, station: Station, group: placement.Cgroup | None) -> None:
        """Write down the engines of one host, put them into their group, and listen."""
        for index, member in self._members.items():
            if member.station is not station:
                continue
            pid = member.process.pid
            member.start_ticks = start_ticks(station.host, pid)
            station.undo.add("process", pid=str(pid), start_ticks=member.start_ticks, what="load")
            if group is not None:
                placement.enter(station.host, group, pid)
            member.process.listen(partial(self._hear, index, member))

    @property
    def pids(self) -> tuple[int, ...]:
        """The process of each client."""
        return tuple(member.process.pid for _, member in sorted(self._members.items()))

    def pids_on(self, name: str, first: int = 0) -> tuple[int, ...]:
        """The processes of the clients on a host, from this client on."""
        return tuple(
            one.process.pid for client, one in sorted(self._members.items()) if one.station.name == name and client >= first
        )

    def send(self, client: int, message: Message) -> str | None:
        """Say something to a client; why it could not be said, None where it was."""
        try:
            self._members[client].process.send(json.dumps(message, separators=(",", ":")))
        except (AssayError, OSError) as error:
            return str(error)
        return None

    def kill(self, client: int) -> None:
        """End a client's process at once."""
        member = self._members[client]
        if not member.ended:
            member.ended = True
            with contextlib.suppress(AssayError, OSError):  # on a host that is lost it ends by its lease
                member.process.kill()

    def hear(self, timeout_s: float) -> Received | None:
        """The next thing that any client said; None where nothing came in time."""
        try:
            return self.inbox.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def close(self) -> None:
        """End the input of every engine, then those that do not go and all that they started; strike them out of the ledger.

        What cannot be struck out, as its host is lost, stays there and is raised as TrialError when all else is done.
        """
        self._closing.set()
        for member in self._members.values():
            if not member.ended:
                with contextlib.suppress(AssayError, OSError):
                    member.process.end_input()
        found = each(tuple(self._stations.values()), self._leave)
        self._members.clear()
        self._stations.clear()
        left = [reason for reasons in found.values() for reason in reasons]
        if left:
            raise TrialError("; ".join(dict.fromkeys(left)))

    def _leave(self, station: Station) -> list[str]:
        """End the engines of one host and strike them out; why that could not be done."""
        left: list[str] = []
        for member in self._members.values():
            if member.station is not station:
                continue
            try:
                _dismiss(member, self.free)
                station.undo.undo("process", pid=str(member.process.pid), start_ticks=member.start_ticks)
            except LostHostError:
                return []
            except (AssayError, OSError) as error:
                left.append(str(error))
        try:
            station.undo.undo("family", token=self.token)
        except (AssayError, OSError) as error:
            left.append(str(error))
        return left

    def _hear(self, index: int, member: _Member, line: str | None, at_ns: int) -> None:
        """Take a line of a client, in the thread of its host."""
        if line is None:
            member.heard_out.set()
        if self._closing.is_set():
            return
        lost = member.station.host.lost() if line is None else None
        message = None if line is None else parse(line)
        reason = "its process ended" if line is None else f"sent no valid message: {line[:80]!r}"
        self.inbox.put(
            Received(
                client=index,
                message=message,
                at_ns=at_ns,
                reason=reason if lost is None else str(lost),
                host=None if lost is None else member.station.name,
            )
        )


def parse(line: str) -> Message | None:
    """A line as a message, None where it is none."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def start_ticks(host: Host, pid: int) -> str:
    """Return when a process started, which tells it from a later one of the same number; `0` if it is gone."""
    found = process_state(host, str(pid))
    return found[0] if found else "0"


def _dismiss(member: _Member, free: Callable[[], None]) -> None:
    # The end of its output must be seen before the pipe is closed under its listener, which would wait in vain on a closed one.
    if member.start_ticks:  # else nobody listens
        member.heard_out.wait(FAREWELL_S)
    if member.ended:
        return
    try:
        member.process.wait(FAREWELL_S)
    except TimeoutError:
        free()
        member.process.kill()
    member.ended = True
