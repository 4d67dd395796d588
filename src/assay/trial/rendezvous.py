"""How the clients of a trial are armed, started together and heard out: a state machine that does no I/O.

Messages and the time come in, instructions go out. T is chosen only after every client has said `armed`: a start at a
fixed delay was measured to be missed by up to 6 s where arming took long, against some milliseconds this way.
Every time is CLOCK_MONOTONIC of the controller; a client is told T in its own host's clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from assay.trial.protocol import ClientState, Instruction, Kill, Message, Send, Step, lease, take


class State(StrEnum):
    """Where all clients together are."""

    GATHERING = "gathering"
    """Not every client has said hello."""
    READY = "ready"
    ARMING = "arming"
    PROBING = "probing"
    """All are armed; their clocks are being compared with ours."""
    ARMED = "armed"
    RUNNING = "running"
    ENDED = "ended"
    """The phase is over: each client has a result or a failure, or the start was called off."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How long is waited for what, and how the clocks are compared."""

    hello_ns: int = 20_000_000_000
    arm_ns: int = 120_000_000_000
    stop_ns: int = 10_000_000_000
    """From `stop` to the result."""
    grace_ns: int = 10_000_000_000
    """From the hard end of a phase to its result."""
    lease_ns: int = 30_000_000_000
    """A running client that hears nothing for this long ends itself: uncounted load is worse than none."""
    idle_lease_ns: int = 3_600_000_000_000
    """Between phases, while the lab prepares caches and drains."""
    margin_ns: int = 50_000_000
    """From `go` to T, on top of three times the slowest round trip."""
    probes: int = 5


WAITED_FOR = {State.GATHERING: Step.STARTED, State.ARMING: Step.ARMING, State.RUNNING: Step.RUNNING}
"""A state lasts until no client is at this step."""
IN_WORDS = {State.GATHERING: "hello", State.ARMING: "armed", State.PROBING: "clock", State.RUNNING: "result"}


@dataclass(kw_only=True)
class _Phase:
    name: str = ""
    deadline_ns: int = 0
    limit_ns: int = 0
    lease_due_ns: int = 0
    stopping: bool = False


@dataclass(kw_only=True)
class Rendezvous:
    """The clients of one trial, phase after phase.

    `arm` may be called when READY, or when ENDED without a failure; `start` when ARMED. Both raise ValueError else.
    """

    count: int
    now_ns: int
    pace: Pace = field(default_factory=Pace)
    state: State = State.GATHERING
    start_ns: int | None = None
    """T of the phase, on our clock."""
    clients: tuple[ClientState, ...] = ()
    _phase: _Phase = field(default_factory=_Phase)

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"found {self.count} clients; expected at least one")
        self.clients = tuple(ClientState() for _ in range(self.count))
        self._phase.deadline_ns = self.now_ns + self.pace.hello_ns

    @property
    def results(self) -> dict[int, Message]:
        """Client -> its result of this phase."""
        return {index: one.result for index, one in enumerate(self.clients) if one.result is not None}

    @property
    def failures(self) -> dict[int, str]:
        """Client -> what became of it, for those that said `error` or were lost."""
        return {index: one.failure for index, one in enumerate(self.clients) if one.failure is not None}

    @property
    def lost(self) -> frozenset[int]:
        """The clients whose process is gone."""
        return frozenset(self._at(Step.LOST))

    def arm(self, phase: str, configs: Sequence[Message], limit_ns: int, now_ns: int) -> tuple[Instruction, ...]:
        """Prepare a phase at every client; each config is the message without type, phase and limit."""
        if self.state not in (State.READY, State.ENDED) or self.failures:
            raise ValueError(f"cannot arm {phase}: the clients are {self.state}, {len(self.failures)} of them failed")
        if len(configs) != self.count:
            raise ValueError(f"found {len(configs)} configurations; expected {self.count}, one a client")
        self.state, self.start_ns = State.ARMING, None
        self._phase = _Phase(name=phase, deadline_ns=now_ns + self.pace.arm_ns, limit_ns=limit_ns)
        for one in self.clients:
            one.step, one.result, one.progress = Step.ARMING, None, None
        envelope = {"type": "config", "phase": phase, "limit_ns": limit_ns}
        return tuple(Send(client=index, message={**envelope, **config}) for index, config in enumerate(configs))

    def start(self, now_ns: int, delays_ns: Sequence[int] = ()) -> tuple[Instruction, ...]:
        """Agree on T and tell every client; `delays_ns`, one a client, makes clients late on purpose."""
        if self.state is not State.ARMED:
            raise ValueError(f"cannot start: the clients are {self.state}, not armed")
        slowest_trip = max((2 * one.probe.error_ns for one in self.clients if one.probe), default=0)
        self.state, self.start_ns = State.RUNNING, now_ns + 3 * slowest_trip + self.pace.margin_ns
        self._phase.deadline_ns = self.start_ns + max(delays_ns, default=0) + self._phase.limit_ns + self.pace.grace_ns
        told: list[Instruction] = []
        for index, one in enumerate(self.clients):
            one.step, one.go_ns = Step.RUNNING, self.start_ns + (delays_ns[index] if delays_ns else 0)
            told.append(Send(client=index, message={"type": "go", "at_ns": one.go_ns + one.applied_ns}))
        return (*self._leases(now_ns), *told)

    def stop(self, now_ns: int, within_ns: int | None = None) -> tuple[Instruction, ...]:
        """End the running phase at all clients; its results still count. `within_ns`: how long they may take for the rest.

        A flush that ends the work may take long; `stop_ns` of the pace where nothing is said.
        """
        if self.state is not State.RUNNING or self._phase.stopping:
            return ()
        self._phase.stopping = True
        self._phase.deadline_ns = now_ns + (self.pace.stop_ns if within_ns is None else within_ns)
        return tuple(Send(client=index, message={"type": "stop"}) for index in self._at(Step.RUNNING))

    def hear(self, client: int, message: Message, now_ns: int) -> tuple[Instruction, ...]:
        """A client said something at this time; what it must not say now costs it its life."""
        one = self.clients[client]
        if one.step is Step.LOST:
            return ()
        before = one.step
        if not take(one, self._phase.name, message, now_ns):
            return self._abandon(client, f"sent {message.get('type')!r} while {before} in phase {self._phase.name!r}", now_ns)
        return (*self._reply(client, message.get("type"), now_ns), *self._advance(now_ns))

    def lose(self, client: int, reason: str, now_ns: int) -> tuple[Instruction, ...]:
        """A client's process or connection is gone."""
        one = self.clients[client]
        if one.step is Step.LOST:
            return ()
        one.step, one.failure = Step.LOST, one.failure or f"client {client} was lost: {reason}"
        return self._advance(now_ns)

    def tick(self, now_ns: int) -> tuple[Instruction, ...]:
        """Time has passed: leases are renewed, who is too late is given up."""
        if self.state not in IN_WORDS:
            return ()
        if now_ns <= self._phase.deadline_ns:
            due = self.state is State.RUNNING and now_ns >= self._phase.lease_due_ns
            return self._leases(now_ns) if due else ()
        reason = f"no {IN_WORDS[self.state]} in time"
        given_up: list[Instruction] = []
        for index in self._awaited():
            given_up += self._abandon(index, reason, now_ns)
        return tuple(given_up)

    def _awaited(self) -> list[int]:
        """The clients without which this state cannot end."""
        if self.state is State.PROBING:
            return [index for index in self._at(Step.ARMED) if self.clients[index].probes_left]
        return self._at(WAITED_FOR[self.state]) if self.state in WAITED_FOR else []

    def _advance(self, now_ns: int) -> tuple[Instruction, ...]:
        """Go to the next state where nobody is waited for any more."""
        if self._awaited() and not (self.failures and self.state is State.PROBING):
            return ()
        if self.failures:
            self.state = State.ENDED
        elif self.state is State.ARMING:
            self.state = State.PROBING
            self._phase.deadline_ns = now_ns + self.pace.arm_ns
            return tuple(self._first_probes(now_ns))
        else:
            following = {State.GATHERING: State.READY, State.PROBING: State.ARMED, State.RUNNING: State.ENDED}
            self.state = following.get(self.state, self.state)
        return ()

    def _first_probes(self, now_ns: int) -> Iterator[Instruction]:
        for index, one in enumerate(self.clients):
            one.probes_left, one.asked_ns, one.probe = self.pace.probes, now_ns, None
            yield Send(client=index, message={"type": "clock"})

    def _reply(self, client: int, said: object, now_ns: int) -> tuple[Instruction, ...]:
        one = self.clients[client]
        if said == "clock" and one.probes_left:
            one.asked_ns = now_ns
            return (Send(client=client, message={"type": "clock"}),)
        if said in ("result", "error"):
            return (lease(client, one, now_ns + self.pace.idle_lease_ns),)
        return ()

    def _leases(self, now_ns: int) -> tuple[Instruction, ...]:
        self._phase.lease_due_ns = now_ns + self.pace.lease_ns // 3
        until_ns = now_ns + self.pace.lease_ns
        return tuple(lease(index, self.clients[index], until_ns) for index in self._at(Step.RUNNING, Step.ARMED))

    def _abandon(self, client: int, reason: str, now_ns: int) -> tuple[Instruction, ...]:
        return (Kill(client=client, reason=reason), *self.lose(client, reason, now_ns))

    def _at(self, *steps: Step) -> list[int]:
        return [index for index, one in enumerate(self.clients) if one.step in steps]
