"""What the clients say while they run: told on, once a second; and a phase that is to be steady is stopped when it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.catalogue import Host
from assay.records import SteadyState
from assay.trial.dialogue import Dialogue
from assay.trial.steady import Watch

PROGRESS_NS = 1_000_000_000


def teller(host: Host, dialogue: Dialogue, tell: Callable[[Mapping[str, object]], None]) -> Callable[[], None]:
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
