"""The clients of a trial as one that can be driven: the rendezvous decides what follows, and this carries it out by our clock."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from assay.records import Role, SteadyState
from assay.trial.clients import Crew, Received
from assay.trial.protocol import Instruction, Send
from assay.trial.rendezvous import Rendezvous, Stage
from assay.trial.steady import SteadyWatch

STEP_S = 0.25
"""The longest wait for a client at once: leases and deadlines are looked at this often."""
KEEP_S = 5.0
"""While nobody listens, leases are looked at this often."""
PROGRESS_NS = 1_000_000_000
WAITING = (Stage.READY, Stage.ARMED, Stage.ENDED)
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

    def drive(self, *until: Stage, meanwhile: Sequence[Callable[[], None]] = ()) -> Stage:
        """Listen and obey until one of these states is reached; every wait in it ends, at the latest by its deadline.

        The functions of `meanwhile` are called between two waits.
        """
        while self.rendezvous.state not in until:
            self._take(self.crew.hear(STEP_S))
            self.obey(self.rendezvous.tick(time.monotonic_ns()))
            for step in meanwhile:
                step()
        return self.rendezvous.state

    def catch_up(self) -> Stage:
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
    """Tells the sums over the clients, at most once a second, with who shows no progress and what failed so far."""
    last_ns = time.monotonic_ns()

    def meanwhile() -> None:
        nonlocal last_ns
        now_ns = time.monotonic_ns()
        if now_ns - last_ns >= PROGRESS_NS:
            last_ns = now_ns
            rendezvous = dialogue.rendezvous
            named = {"silent": list(rendezvous.silent.values()), "failed": list(dict.fromkeys(rendezvous.failures.values()))}
            tell({"operations": sums(dialogue), **{key: words for key, words in named.items() if words}})

    return meanwhile


def sums(dialogue: Dialogue) -> dict[str, dict[str, int]]:
    """Operation -> count and bytes so far, over the clients of the load that said so."""
    found: dict[str, dict[str, int]] = {}
    for client in dialogue.rendezvous.clients:
        operations = client.progress.get("operations") if client.progress and client.role is not Role.SERVER else None
        for name, amounts in operations.items() if isinstance(operations, Mapping) else ():
            own = found.setdefault(str(name), {"count": 0, "bytes": 0})
            for key in own:
                own[key] += amounts.get(key, 0)
    return found


class Stopper:
    """Stops all clients together as soon as the phase is steady; `stopped_ns` is when, None before."""

    def __init__(self, dialogue: Dialogue, watch: SteadyWatch, limit_ns: int) -> None:
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
