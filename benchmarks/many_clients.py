"""CPU time of the controller for simulated clients on 30 hosts: armed and started, then heard, with all JSON read and written.

The clients are lines of text, each within a line of its host's agent; the rendezvous and the dialogue are the real ones. Least of
five tries of one process, by its own CPU time.

    python benchmarks/many_clients.py
"""

from __future__ import annotations

import json
import queue
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from assay.trial.clients import Crew, Received, parse
from assay.trial.clocks import Clock
from assay.trial.dialogue import Dialogue
from assay.trial.rendezvous import Rendezvous, Stage
from assay.trial.steady import SteadyWatch

HOSTS = 30
TRIES = 5
SECOND = 10**9
OPERATIONS = ("create", "fsync", "list", "stat", "unlink")
SETTINGS = {
    "directory": "/export/spool/client-0",
    "object": "file",
    "operations": OPERATIONS,
    "count": 20_000,
    "first": 0,
    "list_every": 500,
    "file_bytes": 0,
    "directories": 1,
    "workers": 1,
    "sharing": "own",
    "load": {},
}
SECONDS = 10
"""Of progress: in so many the leases are renewed once, and each client is looked at ten times."""


@dataclass
class Lines:
    """A crew whose clients are lines: what is sent is written as JSON, what they say is read."""

    inbox: queue.SimpleQueue[Received] = field(default_factory=queue.SimpleQueue)
    sent: int = 0

    def send(self, client: int, message: Mapping[str, object]) -> None:
        line = json.dumps(message, separators=(",", ":"))
        self.sent += len(json.dumps({"id": 0, "do": "send", "process": client, "line": line}, separators=(",", ":")))

    def hear(self, timeout_s: float) -> Received | None:
        del timeout_s
        return None if self.inbox.empty() else self.inbox.get()

    def say(self, lines: list[str]) -> None:
        """Every client says its line, in its host's envelope."""
        for line in lines:
            envelope = parse(line) or {}
            message = parse(str(envelope["line"]))
            self.inbox.put(Received(client=cast("int", envelope["process"]), message=message, at_ns=time.monotonic_ns()))


@dataclass
class Trial:
    """So many clients, and what the controller used for them, step by step (CPU s)."""

    count: int
    used_s: dict[str, float] = field(default_factory=dict)

    def run(self) -> dict[str, float]:
        names = [f"c.{index % HOSTS + 1}" for index in range(self.count)]
        now_ns = time.monotonic_ns()
        clocks = {name: Clock(host=name, at_ns=now_ns, offset_ns=7 * SECOND, error_ns=10**6) for name in set(names)}
        crew = Lines()
        rendezvous = Rendezvous(hosts=names, now_ns=now_ns, clocks=clocks)
        dialogue = Dialogue(crew=cast("Crew", crew), rendezvous=rendezvous)
        self._exchange("hello", dialogue, {"type": "hello", "pid": 4711, "version": "0.1.0", "build": "release"}, Stage.READY)
        config = {"engine": "metadata", "clients": self.count, "seed": 7, "interval_ns": SECOND, "settings": SETTINGS}
        with self._clock("arm"):
            dialogue.obey(rendezvous.arm("spool.create", [config] * self.count, 600 * SECOND, time.monotonic_ns()))
        self._exchange("arm", dialogue, self.said("armed", mono_ns=now_ns, address=None), Stage.ARMED)
        with self._clock("start"):
            dialogue.obey(rendezvous.start(time.monotonic_ns()))
        self._exchange("start", dialogue, self.said("told", at_ns=now_ns, mono_ns=now_ns), None)
        start_ns = cast("int", rendezvous.start_ns)
        watch = SteadyWatch(round_ns=SECOND, start_ns=start_ns, clients=self.count)
        for second in range(1, SECONDS + 1):
            self._exchange("progress", dialogue, self.progress(start_ns + second * SECOND), None)
            with self._clock("progress"):
                dialogue.obey(rendezvous.tick(start_ns + second * SECOND))
                watch.hear(rendezvous.news())
        self.used_s["progress"] /= SECONDS
        self._exchange("result", dialogue, self.said("result", started_ns=now_ns), Stage.ENDED)
        assert len(rendezvous.results) == self.count
        assert not rendezvous.failures
        return self.used_s

    def said(self, kind: str, **more: object) -> dict[str, object]:
        return {"type": kind, "phase": "spool.create", **more}

    def progress(self, at_ns: int) -> dict[str, object]:
        return self.said(
            "progress", at_ns=at_ns, operations={name: {"count": 123_456, "bytes": 12_345_678} for name in OPERATIONS}
        )

    def _exchange(self, step: str, dialogue: Dialogue, message: Mapping[str, object], until: Stage | None) -> None:
        """All clients say the same, and all of it is heard; after each message the driver looks whether anything is due."""
        text = json.dumps(message, separators=(",", ":"))
        lines = [json.dumps({"process": client, "line": text}, separators=(",", ":")) for client in range(self.count)]
        crew: Any = dialogue.crew
        with self._clock(step):
            crew.say(lines)
            if until is not None:
                assert dialogue.drive(until) is until
            dialogue.catch_up()
            for _ in range(0 if until else self.count):
                dialogue.obey(dialogue.rendezvous.tick(dialogue.rendezvous.now_ns))

    def _clock(self, step: str) -> _Used:
        return _Used(self.used_s, step)


@dataclass
class _Used:
    """Adds the CPU time of a block."""

    sums: dict[str, float]
    step: str
    began_s: float = 0.0

    def __enter__(self) -> None:
        self.began_s = time.process_time()

    def __exit__(self, *_: object) -> None:
        self.sums[self.step] = self.sums.get(self.step, 0.0) + time.process_time() - self.began_s


def measure() -> Iterator[tuple[str, str]]:
    for count in (30, 1000):
        tries = [Trial(count).run() for _ in range(TRIES)]
        least = {step: min(one[step] for one in tries) for step in tries[0]}
        armed = sum(least[step] for step in ("hello", "arm", "start"))
        parts = ", ".join(f"{step} {least[step] * 1000:.1f}" for step in ("hello", "arm", "start"))
        yield f"{count} clients armed and started", f"{armed:.3f} CPU-s (ms: {parts})"
        yield f"{count} clients, a second of progress at 1 Hz each", f"{least['progress']:.4f} CPU-s"
        yield f"{count} clients, their results", f"{least['result']:.4f} CPU-s, without the figures in them"


def main() -> int:
    for what, figure in measure():
        print(f"| {what} | {figure} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
