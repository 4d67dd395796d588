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
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from assay.catalogue import Host, Process, Undo
from assay.errors import AssayError, TrialError
from assay.records import SteadyState
from assay.trial import placement
from assay.trial.fleet import Station
from assay.trial.protocol import Instruction, Message, Send
from assay.trial.rendezvous import Rendezvous, State
from assay.trial.steady import Watch
from assay.undo.kinds import FAMILY, process_state

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
    start_ticks: str
    ended: bool = False
    heard_out: threading.Event = field(default_factory=threading.Event)
    """Set when the end of its output was seen."""


@dataclass
class Crew:
    """The engine processes of one trial, one a client. `close` ends them all, whatever happened before."""

    inbox: queue.SimpleQueue[Received] = field(default_factory=queue.SimpleQueue)
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    """In the environment of every engine and of all that it starts."""
    _members: list[_Member] = field(default_factory=list)
    _families: list[Undo] = field(default_factory=list)
    _closing: threading.Event = field(default_factory=threading.Event)

    def spawn(self, stations: Sequence[Station], cgroups: Mapping[str, placement.Cgroup] = NO_GROUPS) -> None:
        """Start an engine on each of these stations, one a client, in the group of that host.

        Raises what Host.spawn and placement raise; then `close` still works.
        """
        for station in {one.name: one for one in stations}.values():
            station.undo.add("family", token=self.token)
            self._families.append(station.undo)
        for index, station in enumerate(stations):
            process = station.host.spawn([station.engine], env={FAMILY: self.token})
            member = _Member(station=station, process=process, start_ticks=start_ticks(station.host, process.pid))
            self._members.append(member)
            station.undo.add("process", pid=str(process.pid), start_ticks=member.start_ticks)
            if station.name in cgroups:
                placement.enter(station.host, cgroups[station.name], process.pid)
            process.listen(partial(self._hear, index, member))

    @property
    def pids(self) -> tuple[int, ...]:
        """The process of each client."""
        return tuple(member.process.pid for member in self._members)

    def pids_on(self, name: str) -> tuple[int, ...]:
        """The processes of the clients on a host."""
        return tuple(member.process.pid for member in self._members if member.station.name == name)

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
        for member in self._members:
            if not member.ended:
                with contextlib.suppress(AssayError, OSError):
                    member.process.end_input()
        left: list[str] = []
        for member in self._members:
            try:
                _dismiss(member)
                member.station.undo.undo("process", pid=str(member.process.pid), start_ticks=member.start_ticks)
            except (AssayError, OSError) as error:
                left.append(str(error))
        self._members.clear()
        while self._families:
            try:
                self._families.pop().undo("family", token=self.token)
            except (AssayError, OSError) as error:
                left.append(str(error))
        if left:
            raise TrialError("; ".join(dict.fromkeys(left)))

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


def _dismiss(member: _Member) -> None:
    # The end of its output must be seen before the pipe is closed under its listener, which would wait in vain on a closed one.
    member.heard_out.wait(FAREWELL_S)
    if member.ended:
        return
    try:
        member.process.wait(FAREWELL_S)
    except TimeoutError:
        member.process.kill()
    member.ended = True


STEP_S = 0.25
"""The longest wait for a client at once: leases and deadlines are looked at this often."""
KEEP_S = 5.0
"""While nobody listens, leases are looked at this often."""
PROGRESS_NS = 1_000_000_000
WAITING = (State.READY, State.ARMED, State.ENDED)
"""No client is waited for: it is the caller that is busy."""


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """The clients of a trial as one that can be driven from state to state."""

    crew: Crew
    rendezvous: Rendezvous
    _speaking: threading.RLock = field(default_factory=threading.RLock)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Renew the leases of clients that wait, in a thread, while the caller is busy with caches or a drain."""
        done = threading.Event()
        keeper = threading.Thread(target=self._keep, args=(done,), name="leases", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            done.set()
            keeper.join()

    def _keep(self, done: threading.Event) -> None:
        while not done.wait(KEEP_S):
            with self._speaking:
                if self.rendezvous.state in WAITING:
                    for order in self.rendezvous.tick(time.monotonic_ns()):
                        if isinstance(order, Send):
                            self.crew.send(order.client, order.message)

    def drive(self, *until: State, meanwhile: Sequence[Callable[[], None]] = ()) -> State:
        """Listen and obey until one of these states is reached; every wait in it ends, at the latest by its deadline.

        The functions of `meanwhile` are called between two waits.
        """
        while self.rendezvous.state not in until:
            self._take(self.crew.hear(STEP_S))
            self.obey(self.rendezvous.tick(time.monotonic_ns()))
            for step in meanwhile:
                step()
        return self.rendezvous.state

    def catch_up(self) -> State:
        """Take in what the clients have said so far, without waiting."""
        while (heard := self.crew.hear(0.0)) is not None:
            self._take(heard)
        return self.rendezvous.state

    def obey(self, instructions: Iterable[Instruction]) -> None:
        """Carry out instructions and what follows from them; a client that cannot be spoken to is lost."""
        todo = deque(instructions)
        with self._speaking:
            while todo:
                order = todo.popleft()
                if not isinstance(order, Send):
                    self.crew.kill(order.client)
                    continue
                obstacle = self.crew.send(order.client, order.message)
                if obstacle is not None:
                    todo += self.rendezvous.lose(order.client, obstacle, time.monotonic_ns())

    def _take(self, heard: Received | None) -> None:
        if heard is None:
            return
        if heard.host is not None:
            self.obey(self.rendezvous.lose_host(heard.host, heard.reason, heard.at_ns))
            return
        if heard.message is None:
            # The process may still run: what it says cannot be understood, so what it does does not count.
            self.crew.kill(heard.client)
            self.obey(self.rendezvous.lose(heard.client, heard.reason, heard.at_ns))
            return
        self.obey(self.rendezvous.hear(heard.client, heard.message, heard.at_ns))


def progress_report(dialogue: Dialogue, tell: Callable[[Mapping[str, object]], None]) -> Callable[[], None]:
    """Tells the sums over the clients, at most once a second."""
    last_ns = time.monotonic_ns()

    def meanwhile() -> None:
        nonlocal last_ns
        now_ns = time.monotonic_ns()
        if now_ns - last_ns >= PROGRESS_NS:
            last_ns = now_ns
            silent = dialogue.rendezvous.silent
            tell({"operations": sums(dialogue), **({"silent": list(silent.values())} if silent else {})})

    return meanwhile


def sums(dialogue: Dialogue) -> dict[str, dict[str, int]]:
    """Operation -> count and bytes so far, over the clients that said so."""
    found: dict[str, dict[str, int]] = {}
    for client in dialogue.rendezvous.clients:
        operations = client.progress.get("operations") if client.progress else None
        for name, amounts in operations.items() if isinstance(operations, Mapping) else ():
            own = found.setdefault(str(name), {"count": 0, "bytes": 0})
            for key in own:
                own[key] += amounts.get(key, 0)
    return found


class Stopper:
    """Stops all clients together as soon as the phase is steady; `stopped_ns` is when, None before."""

    def __init__(self, dialogue: Dialogue, watch: Watch, limit_ns: int) -> None:
        self.watch = watch
        self.stopped_ns: int | None = None
        self._dialogue, self._limit_ns = dialogue, limit_ns

    def look(self) -> None:
        """Look at what the clients said last. What ends the work after the stop, a flush, may take as long as the phase."""
        if self.stopped_ns is None and self.watch.hear(self._dialogue.rendezvous.news()):
            self.stopped_ns = time.monotonic_ns()
            self._dialogue.obey(self._dialogue.rendezvous.stop(self.stopped_ns, self._limit_ns))

    def state(self, t0_ns: int) -> SteadyState:
        """How the phase ended, relative to T0."""
        return self.watch.state(t0_ns, self.stopped_ns)
