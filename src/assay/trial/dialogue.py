"""Carries out what the rendezvous says: between the clients' processes and the state machine, with the real clock."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assay.catalogue import Host
from assay.trial.clients import Crew, Heard
from assay.trial.protocol import Instruction, Send
from assay.trial.rendezvous import Rendezvous, State

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

    def _take(self, heard: Heard | None) -> None:
        if heard is None:
            return
        if heard.message is None:
            # The process may still run: what it says cannot be understood, so what it does does not count.
            self.crew.kill(heard.client)
            self.obey(self.rendezvous.lose(heard.client, heard.reason, heard.at_ns))
            return
        self.obey(self.rendezvous.hear(heard.client, heard.message, heard.at_ns))
