"""How the clients of a trial are armed, started together and heard out: a state machine that does no I/O.

Messages and the time come in, instructions go out. T is chosen only after every client has said `armed`: a start at a
fixed delay was measured to be missed by up to 6 s where arming took long, against some milliseconds this way.
Every time is CLOCK_MONOTONIC of the controller; a client is told T in its own host's clock, which the driver compares with ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from assay import units
from assay.records import Role
from assay.trial.clocks import Clock
from assay.trial.protocol import ClientState, ClientStep, Instruction, Kill, Message, Send, error_text, take
from assay.trial.silence import LOOK_NS, Silence, WaitLimits
from assay.trial.waves import PhaseTimes, Waves, addressed


class Stage(StrEnum):
    """Where all clients together are."""

    GATHERING = "gathering"
    """Not every client has said hello."""
    READY = "ready"
    ARMING = "arming"
    ARMED = "armed"
    RUNNING = "running"
    ENDED = "ended"
    """The phase is over: each client has a result or a failure, or the start was called off."""


WAITED_FOR = {Stage.GATHERING: ClientStep.STARTED, Stage.ARMING: ClientStep.ARMING, Stage.RUNNING: ClientStep.RUNNING}
"""A state lasts until no client is at this step."""
IN_WORDS = {Stage.GATHERING: "hello", Stage.ARMING: "armed", Stage.RUNNING: "result"}
FOLLOWING = {Stage.GATHERING: Stage.READY, Stage.ARMING: Stage.ARMED, Stage.RUNNING: Stage.ENDED}


@dataclass(kw_only=True)
class Rendezvous:
    """The clients of one trial, phase after phase; `hosts` has the host of each client.

    `arm` may be called when READY, or when ENDED without a failure; `start` when ARMED, with the clock of every host in `clocks`.
    Both raise ValueError else. A message costs the same however many clients there are.
    """

    hosts: Sequence[str]
    now_ns: int
    pace: WaitLimits = field(default_factory=WaitLimits)
    clocks: Mapping[str, Clock] = field(default_factory=dict)
    """Host -> its clock against ours. Clients of a host that has none get no lease."""
    state: Stage = Stage.GATHERING
    start_ns: int | None = None
    """T of the phase, on our clock."""
    clients: tuple[ClientState, ...] = ()
    results: dict[int, Message] = field(default_factory=dict)
    """Client -> its result of this phase."""
    failures: dict[int, str] = field(default_factory=dict)
    """Client -> what became of it, for those that said `error` or were lost."""
    late: dict[int, str] = field(default_factory=dict)
    """Client -> in words, for those that were told of this phase's start after it (on another machine), or started late."""
    _phase: PhaseTimes = field(default_factory=PhaseTimes)
    _silence: Silence = field(default_factory=lambda: Silence(start_ns=0))
    _at_step: Counter[ClientStep] = field(default_factory=Counter)
    """How many clients are at each step."""
    _news: set[int] = field(default_factory=set)
    _lease_due_ns: int = 0
    _several: bool = False

    def __post_init__(self) -> None:
        if not self.hosts:
            raise ValueError("found no clients; expected at least one")
        self.clients = tuple(ClientState() for _ in self.hosts)
        self._at_step[ClientStep.STARTED], self._several = self.count, len(set(self.hosts)) > 1
        self._phase.deadline_ns = self.now_ns + self.pace.hello_ns

    @property
    def count(self) -> int:
        """How many clients there are."""
        return len(self.hosts)

    @property
    def lost(self) -> frozenset[int]:
        """The clients whose process is gone."""
        return frozenset(self._at(ClientStep.LOST))

    @property
    def silent(self) -> Mapping[int, str]:
        """Client -> in words, for those that run without progress now."""
        return {index: f"{self.called(index)} {words}" for index, words in self._silence.named.items()}

    def news(self) -> Mapping[int, ClientState]:
        """The clients of the load that told of progress since this was last asked."""
        found = {index: self.clients[index] for index in self._news}
        self._news.clear()
        return found

    def called(self, client: int) -> str:
        """A client in words, with its host where there are several."""
        name = f"{'server' if self.clients[client].role is Role.SERVER else 'client'} {client}"
        return f"{name} on {self.hosts[client]}" if self._several else name

    def arm(
        self, phase: str, configs: Sequence[Message], limit_ns: int, now_ns: int, roles: Sequence[Role] = ()
    ) -> tuple[Instruction, ...]:
        """Prepare a phase at every client; each config is the message without type, phase and limit.

        With servers among the roles the rest is armed as soon as all servers are, and is given their addresses.
        """
        if self.state not in (Stage.READY, Stage.ENDED) or self.failures:
            raise ValueError(f"cannot arm {phase}: the clients are {self.state}, {len(self.failures)} of them failed")
        if len(configs) != self.count:
            raise ValueError(f"found {len(configs)} configurations; expected {self.count}, one a client")
        self.state, self.start_ns = Stage.ARMING, None
        waves = Waves(count=self.count, roles=roles)
        self._phase = PhaseTimes(name=phase, limit_ns=limit_ns, configs=configs, waves=waves)
        self.results, self.late = {}, {}
        self._silence, self._news = Silence(start_ns=0), set()
        for index, one in enumerate(self.clients):
            one.step, one.role = ClientStep.WAITING, waves.role(index)
            one.progress = one.told_ns = one.address = None
        self._at_step = Counter({ClientStep.WAITING: self.count})
        return self._arm(waves.first(), now_ns)

    def _arm(self, wave: Mapping[int, str | None], now_ns: int) -> tuple[Instruction, ...]:
        """Send these clients their configs, with the address of the server that each is given."""
        self._phase.deadline_ns = now_ns + self.pace.arm_ns
        for index in wave:
            self.clients[index].step = ClientStep.ARMING
        self._at_step += Counter({ClientStep.ARMING: len(wave), ClientStep.WAITING: -len(wave)})
        envelope = {"type": "config", "phase": self._phase.name, "limit_ns": self._phase.limit_ns}
        configs = {index: addressed(self._phase.configs[index], address) for index, address in wave.items()}
        return tuple(Send(client=index, message={**envelope, **config}) for index, config in configs.items())

    def start(self, now_ns: int, delays_ns: Sequence[int] = ()) -> tuple[Instruction, ...]:
        """Agree on T and tell every client; `delays_ns`, one a client, makes clients late on purpose."""
        unknown = sorted(set(self.hosts) - self.clocks.keys())
        if self.state is not Stage.ARMED or unknown:
            reason = f"no clock of {', '.join(unknown)}" if unknown else f"the clients are {self.state}, not armed"
            raise ValueError(f"cannot start: {reason}")
        self.state, self.start_ns = Stage.RUNNING, now_ns + self._margin_ns()
        self._phase.deadline_ns = self.start_ns + max(delays_ns, default=0) + self._phase.limit_ns + self.pace.grace_ns
        self._phase.look_due_ns = self.start_ns + LOOK_NS
        self._silence = Silence(start_ns=self.start_ns, patience=self.pace.patience)
        self._at_step = Counter({ClientStep.RUNNING: self.count})
        told: list[Instruction] = []
        for index, one in enumerate(self.clients):
            one.step, one.go_ns = ClientStep.RUNNING, self.start_ns + (delays_ns[index] if delays_ns else 0)
            clock = self.clocks[self.hosts[index]]
            one.offset_ns, one.ours = clock.offset_ns, clock.exact
            told.append(Send(client=index, message={"type": "go", "at_ns": one.own(one.go_ns)}))
        return (*told, *self._leases(now_ns))

    def _margin_ns(self) -> int:
        """From now to T: enough for the last client that is told, and for the host that is farthest."""
        pace, hosts = self.pace, set(self.hosts)
        slowest_trip_ns = max(self.clocks[host].trip_ns for host in hosts)
        more_ns = pace.host_margin_ns * (len(hosts) - 1) + pace.client_margin_ns * (self.count - 1)
        return pace.margin_ns + more_ns + 3 * slowest_trip_ns

    def stop(self, now_ns: int, within_ns: int | None = None) -> tuple[Instruction, ...]:
        """End the running phase at all clients; its results still count. `within_ns`: how long they may take for the rest.

        A flush that ends the work may take long; `stop_ns` of the pace where nothing is said. Servers end after the load.
        """
        if self.state is not Stage.RUNNING or self._phase.stopping:
            return ()
        self._phase.stopping = True
        self._phase.deadline_ns = now_ns + (self.pace.stop_ns if within_ns is None else within_ns)
        running = (index for index in self._at(ClientStep.RUNNING) if self.clients[index].role is not Role.SERVER)
        return tuple(Send(client=index, message={"type": "stop"}) for index in running)

    def hear(self, client: int, message: Message, now_ns: int) -> tuple[Instruction, ...]:
        """A client said something at this time; what it must not say now costs it its life."""
        one = self.clients[client]
        before = one.step
        if before is ClientStep.LOST:
            return ()
        if not take(one, self._phase.name, message):
            said = message.get("type")
            return self._abandon(client, f"sent {said!r} while {before} in phase {self._phase.name!r}", now_ns)
        if one.step is before:
            self._note(client, message)
            return ()
        self._count_step(client, before)
        if one.step is ClientStep.DONE:
            self.results[client] = message
            self._check_time(client, message.get("started_ns"), self.pace.late_ns, "started")
        if one.step is ClientStep.FAILED:
            self.failures[client] = error_text(message)
        following = self._advance(now_ns)
        return following if one.step is ClientStep.ARMED else (*following, *self._lease(client, now_ns))

    def _note(self, client: int, message: Message) -> None:
        """What is noted of a message that leaves a client where it is."""
        if message.get("type") == "progress":
            if self.clients[client].role is not Role.SERVER:
                self._news.add(client)
        elif message.get("type") == "told" and not self.clients[client].ours:
            # On our own machine no way is too long: what is late there waits for a CPU, and its start says for how long.
            self._check_time(client, self.clients[client].told_ns, 0, "received its start time")

    def _check_time(self, client: int, own_ns: object, allowed_ns: int, did: str) -> None:
        """Name a client that did something too long after its time; the first reason stays."""
        one = self.clients[client]
        if isinstance(own_ns, int) and (by_ns := own_ns - one.own(one.go_ns)) > allowed_ns:
            by = units.human(by_ns, units.Unit.NANOSECONDS)
            self.late.setdefault(client, f"{self.called(client)} {did} {by} too late")

    def lose(self, client: int, reason: str, now_ns: int) -> tuple[Instruction, ...]:
        """A client's process or connection is gone."""
        if self.clients[client].step is ClientStep.LOST:
            return ()
        self._lose(client, f"{self.called(client)} was lost: {reason}")
        return self._advance(now_ns)

    def lose_host(self, host: str, reason: str, now_ns: int) -> tuple[Instruction, ...]:
        """A host is gone with all its clients: one reason for all of them. None of them is spoken to any more."""
        here = [
            index for index, name in enumerate(self.hosts) if name == host and self.clients[index].step is not ClientStep.LOST
        ]
        words = f"host {host} was lost with {units.counted(len(here), 'client')}: {reason}"
        for index in here:
            self._lose(index, words)
        return self._advance(now_ns)

    def _lose(self, client: int, words: str) -> None:
        before, self.clients[client].step = self.clients[client].step, ClientStep.LOST
        self._count_step(client, before)
        self.failures.setdefault(client, words)

    def tick(self, now_ns: int) -> tuple[Instruction, ...]:
        """Time has passed: leases are renewed, who is too late or shows no progress is given up. To be called in every state."""
        orders: list[Instruction] = []
        if self.state in WAITED_FOR and now_ns > self._phase.deadline_ns:
            reason = f"no {IN_WORDS[self.state]} in time"
            for index in self._at(WAITED_FOR[self.state]):
                orders += self._abandon(index, reason, now_ns)
        elif self.state is Stage.RUNNING and now_ns >= self._phase.look_due_ns:
            self._phase.look_due_ns = now_ns + LOOK_NS
            for index, words in self._silence.look(self.clients, now_ns).items():
                orders += self._abandon(index, f"it {words}, and the rest has ended", now_ns)
        orders += self._stop_servers(now_ns)
        if now_ns >= self._lease_due_ns:
            orders += self._leases(now_ns)
        return tuple(orders)

    def _advance(self, now_ns: int) -> tuple[Instruction, ...]:
        """Go to the next state where nobody is waited for any more; what follows for the load of servers, or for these."""
        waited_for = WAITED_FOR.get(self.state)
        if waited_for is not None and self._at_step[waited_for]:
            if self.state is Stage.RUNNING:
                self._phase.await_servers(self.clients, self._at_step[ClientStep.RUNNING], now_ns, self.pace)
            return ()
        if self.state is Stage.ARMING and self._at_step[ClientStep.WAITING] and not self.failures:
            return self._arm(self._phase.waves.second(self.clients), now_ns)
        self.state = Stage.ENDED if self.failures else FOLLOWING.get(self.state, self.state)
        return ()

    def _stop_servers(self, now_ns: int) -> tuple[Instruction, ...]:
        if self.state is not Stage.RUNNING or not self._phase.ends_servers(now_ns):
            return ()
        return tuple(Send(client=index, message={"type": "stop"}) for index in self._at(ClientStep.RUNNING))

    def _leases(self, now_ns: int) -> tuple[Instruction, ...]:
        """A lease for every client that has said hello, of a host whose clock is known."""
        if not self.clocks:
            return ()
        longest_ns = self.pace.lease_ns if self.state is Stage.RUNNING else self.pace.idle_lease_ns
        self._lease_due_ns = now_ns + longest_ns // 3
        alive = (index for index, one in enumerate(self.clients) if one.step not in (ClientStep.STARTED, ClientStep.LOST))
        return tuple(lease for index in alive for lease in self._lease(index, now_ns))

    def _lease(self, client: int, now_ns: int) -> tuple[Instruction, ...]:
        """Allow a client to live for a while from now; it is told until when in its own clock."""
        clock = self.clocks.get(self.hosts[client])
        if clock is None:
            return ()
        running = self.clients[client].step is ClientStep.RUNNING
        until_ns = now_ns + clock.offset_ns + (self.pace.lease_ns if running else self.pace.idle_lease_ns)
        return (Send(client=client, message={"type": "lease", "until_ns": until_ns}),)

    def _abandon(self, client: int, reason: str, now_ns: int) -> tuple[Instruction, ...]:
        return (Kill(client=client, reason=reason), *self.lose(client, reason, now_ns))

    def _at(self, *steps: ClientStep) -> list[int]:
        return [index for index, one in enumerate(self.clients) if one.step in steps]

    def _count_step(self, client: int, before: ClientStep) -> None:
        self._at_step[before] -= 1
        self._at_step[self.clients[client].step] += 1
        self._silence.named.pop(client, None)
