"""Carries out what the rendezvous says: between the clients' processes and the state machine, with the real clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from assay.catalogue import Host
from assay.records import SteadyState
from assay.trial.clients import Crew, Received
from assay.trial.protocol import Instruction, Send
from assay.trial.rendezvous import Rendezvous, State
from assay.trial.steady import Watch

LISTEN_S = 0.25
"""The longest wait for a client at once: leases and deadlines are looked at this often."""


@dataclass(frozen=True, kw_only=True)
class Dialogue:
    """The clients of a trial as one that can be driven from state to state."""

    host: Host
    crew: Crew
    rendezvous: Rendezvous

    def drive(self, *until: State, meanwhile: Callable[[], None] = lambda: None) -> State:
        """Listen and obey until one of these states is reached; every wait in it ends, at the latest by its deadline."""
        while self.rendezvous.state not in until:
            self._take(self.crew.hear(LISTEN_S))
            self.obey(self.rendezvous.tick(self.host.monotonic_ns()))
            meanwhile()
        return self.rendezvous.state

    def catch_up(self) -> State:
        """Take in what the clients have said so far, without waiting."""
        while (heard := self.crew.hear(0.0)) is not None:
            self._take(heard)
        return self.rendezvous.state

    def obey(self, instructions: Iterable[Instruction]) -> None:
        """Carry out instructions and what follows from them; a client that cannot be spoken to is lost."""
        todo = deque(instructions)
        while todo:
            order = todo.popleft()
            if not isinstance(order, Send):
                self.crew.kill(order.client)
                continue
            obstacle = self.crew.send(order.client, order.message)
            if obstacle is not None:
                todo += self.rendezvous.lose(order.client, obstacle, self.host.monotonic_ns())

    def _take(self, heard: Received | None) -> None:
        if heard is None:
            return
        if heard.message is None:
            # The process may still run: what it says cannot be understood, so what it does does not count.
            self.crew.kill(heard.client)
            self.obey(self.rendezvous.lose(heard.client, heard.reason, heard.at_ns))
            return
        self.obey(self.rendezvous.hear(heard.client, heard.message, heard.at_ns))


PROGRESS_NS = 1_000_000_000


def progress_report(host: Host, dialogue: Dialogue, tell: Callable[[Mapping[str, object]], None]) -> Callable[[], None]:
    """Tells the sums over the clients, at most once a second."""
    last_ns = host.monotonic_ns()

    def meanwhile() -> None:
        nonlocal last_ns
        now_ns = host.monotonic_ns()
        if now_ns - last_ns >= PROGRESS_NS:
            last_ns = now_ns
            tell({"operations": sums(dialogue)})

    return meanwhile


def in_turn(*steps: Callable[[], None]) -> Callable[[], None]:
    """One step after the other, as one."""

    def meanwhile() -> None:
        for step in steps:
            step()

    return meanwhile


def sums(dialogue: Dialogue) -> dict[str, dict[str, int]]:
    """Operation -> count and bytes so far, over the clients that said so."""
    found: dict[str, dict[str, int]] = {}
    for client in dialogue.rendezvous.clients:
        operations = client.progress.get("operations") if client.progress else None
        for name, moved in operations.items() if isinstance(operations, Mapping) else ():
            own = found.setdefault(str(name), {"count": 0, "bytes": 0})
            for key in own:
                own[key] += moved.get(key, 0)
    return found


class Stopper:
    """Stops all clients together as soon as the phase is steady; `told_ns` is when it did, None where it did not."""

    def __init__(self, host: Host, dialogue: Dialogue, watch: Watch, limit_ns: int) -> None:
        self.watch = watch
        self.told_ns: int | None = None
        self._host, self._dialogue, self._limit_ns = host, dialogue, limit_ns

    def look(self) -> None:
        """Look at what the clients said last. What ends the work after the stop, a flush, may take as long as the phase."""
        if self.told_ns is None and self.watch.hear(self._dialogue.rendezvous.clients):
            self.told_ns = self._host.monotonic_ns()
            self._dialogue.obey(self._dialogue.rendezvous.stop(self.told_ns, self._limit_ns))

    def state(self, t0_ns: int) -> SteadyState:
        """How the phase ended, relative to T0."""
        return self.watch.state(t0_ns, self.told_ns)
