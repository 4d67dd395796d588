"""What one client of a trial may say when, and what it was last heard to be: the engine's protocol without I/O.

Every time is CLOCK_MONOTONIC of the controller, save what a client says of its own clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from assay.records import HostClock

Message = Mapping[str, object]


class Step(StrEnum):
    """Where one client is."""

    STARTED = "started"
    IDLE = "idle"
    ARMING = "arming"
    ARMED = "armed"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    """It said `error`; its process is still usable."""
    LOST = "lost"


@dataclass(frozen=True, kw_only=True)
class Send:
    """Say this to a client."""

    client: int
    message: Message


@dataclass(frozen=True, kw_only=True)
class Kill:
    """End a client's process; it is lost."""

    client: int
    reason: str


Instruction = Send | Kill


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A client's clock minus ours, and by how much that can be wrong (half the round trip)."""

    offset_ns: int
    error_ns: int

    @property
    def applied_ns(self) -> int:
        """The offset, 0 where it cannot be told from 0: a clock that is the same must not be moved by noise."""
        return self.offset_ns if abs(self.offset_ns) > self.error_ns else 0


@dataclass(kw_only=True)
class ClientState:
    """What is known of one client."""

    step: Step = Step.STARTED
    pid: int | None = None
    hello: Message | None = None
    address: str | None = None
    """Where other clients reach it, if its engine said so when it was armed: for servers among the clients."""
    probe: Probe | None = None
    """The best comparison of its clock with ours in this phase."""
    probes_left: int = 0
    asked_ns: int = 0
    go_ns: int = 0
    result: Message | None = None
    progress: Message | None = None
    failure: str | None = None

    @property
    def applied_ns(self) -> int:
        """What is added to a time of ours when this client is told it."""
        return self.probe.applied_ns if self.probe else 0


def take(client: ClientState, phase: str, message: Message, now_ns: int) -> bool:
    """Note what a client said; False where it must not say this now, or in this form."""
    said = message.get("type")
    note = NOTES.get(said) if isinstance(said, str) else None
    return note is not None and note(client, phase, message, now_ns)


def _hello(client: ClientState, _phase: str, message: Message, _now_ns: int) -> bool:
    pid = message.get("pid")
    if client.step is not Step.STARTED or not isinstance(pid, int):
        return False
    client.step, client.pid, client.hello = Step.IDLE, pid, message
    return True


def _armed(client: ClientState, phase: str, message: Message, _now_ns: int) -> bool:
    if client.step is not Step.ARMING or message.get("phase") != phase:
        return False
    address = message.get("address")
    client.step, client.address = Step.ARMED, address if isinstance(address, str) else None
    return True


def _clock(client: ClientState, _phase: str, message: Message, now_ns: int) -> bool:
    theirs = message.get("mono_ns")
    if not client.probes_left or not isinstance(theirs, int):
        return False
    client.probes_left -= 1
    seen = compare_clocks(client.asked_ns, theirs, now_ns)
    if client.probe is None or seen.error_ns < client.probe.error_ns:
        client.probe = seen
    return True


def _progress(client: ClientState, _phase: str, message: Message, _now_ns: int) -> bool:
    if client.step is Step.RUNNING:
        client.progress = message
    return True


def _result(client: ClientState, phase: str, message: Message, _now_ns: int) -> bool:
    if client.step is not Step.RUNNING or message.get("phase") != phase:
        return False
    client.step, client.result = Step.DONE, message
    return True


def _error(client: ClientState, _phase: str, message: Message, _now_ns: int) -> bool:
    # An engine that did not understand a request says so at any step.
    client.step, client.failure = Step.FAILED, error_text(message)
    return True


NOTES: Mapping[str, Callable[[ClientState, str, Message, int], bool]] = {
    "hello": _hello,
    "armed": _armed,
    "clock": _clock,
    "progress": _progress,
    "result": _result,
    "error": _error,
}


def compare_clocks(asked_ns: int, theirs_ns: int, answered_ns: int) -> Probe:
    """One ping-pong: their clock minus ours at the middle of the exchange, wrong by at most half the round trip."""
    trip = max(0, answered_ns - asked_ns)
    return Probe(offset_ns=theirs_ns - (asked_ns + trip // 2), error_ns=(trip + 1) // 2)


def error_text(message: Message) -> str:
    """What an engine's `error` says, in words."""
    path = message.get("path")
    where = f" {path}" if path else ""
    return f"{message.get('what', 'engine')}{where}: {message.get('message', 'no reason given')}"


def lease(index: int, client: ClientState, until_ns: int) -> Send:
    """Allow a client to live until then (our clock); it is told in its own."""
    return Send(client=index, message={"type": "lease", "until_ns": until_ns + client.applied_ns})


def clock_of(host: str, clients: Iterable[ClientState], t0_ns: int) -> HostClock | None:
    """The best comparison of a host's clock with ours by its clients; None where there is none."""
    probes = [client.probe for client in clients if client.probe is not None]
    best = min(probes, key=lambda probe: probe.error_ns, default=None)
    if best is None:
        return None
    return HostClock(host=host, offset_ns=best.offset_ns, error_ns=best.error_ns, t0_mono_ns=t0_ns + best.applied_ns)
