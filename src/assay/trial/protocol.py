"""What one client of a trial may say when, and what it was last heard to be: the engine's protocol without I/O.

Every time is CLOCK_MONOTONIC of the controller, save what a client says of its own clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from assay.records import Role

Message = Mapping[str, object]


class ClientStep(StrEnum):
    """Where one client is."""

    STARTED = "started"
    IDLE = "idle"
    WAITING = "waiting"
    """It is armed as soon as the servers of its phase are."""
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


@dataclass(kw_only=True)
class ClientState:
    """What is known of one client."""

    step: ClientStep = ClientStep.STARTED
    role: Role = Role.LOAD
    """What it is for in this phase."""
    pid: int | None = None
    hello: Message | None = None
    address: str | None = None
    """Where other clients reach it, if its engine said so when it was armed: for servers among the clients."""
    offset_ns: int = 0
    """Its host's clock minus ours, as it was known when the phase was started: it was told its times by that."""
    ours: bool = False
    """Whether it is on our own machine, and its clock is ours."""
    go_ns: int = 0
    """When it was to start, on our clock."""
    told_ns: int | None = None
    """When it had read that, on its own clock; None as long as it has not confirmed it."""
    progress: Message | None = None

    def own(self, at_ns: int) -> int:
        """A time of ours on its clock."""
        return at_ns + self.offset_ns


def take(client: ClientState, phase: str, message: Message) -> bool:
    """Note what a client said; False where it must not say this now, or in this form."""
    said = message.get("type")
    note = NOTES.get(said) if isinstance(said, str) else None
    return note is not None and note(client, phase, message)


def _hello(client: ClientState, _phase: str, message: Message) -> bool:
    pid = message.get("pid")
    if client.step is not ClientStep.STARTED or not isinstance(pid, int):
        return False
    client.step, client.pid, client.hello = ClientStep.IDLE, pid, message
    return True


def _armed(client: ClientState, phase: str, message: Message) -> bool:
    if client.step is not ClientStep.ARMING or message.get("phase") != phase:
        return False
    address = message.get("address")
    client.step, client.address = ClientStep.ARMED, address if isinstance(address, str) else None
    return True


def _start_known(client: ClientState, phase: str, message: Message) -> bool:
    told_ns = message.get("mono_ns")
    if client.step is not ClientStep.RUNNING or message.get("phase") != phase or not isinstance(told_ns, int):
        return False
    client.told_ns = told_ns
    return True


def _progress(client: ClientState, _phase: str, message: Message) -> bool:
    if client.step is ClientStep.RUNNING:
        client.progress = message
    return True


def _result(client: ClientState, phase: str, message: Message) -> bool:
    if client.step is not ClientStep.RUNNING or message.get("phase") != phase:
        return False
    client.step = ClientStep.DONE
    return True


def _error(client: ClientState, _phase: str, _message: Message) -> bool:
    # An engine that did not understand a request says so at any step.
    client.step = ClientStep.FAILED
    return True


NOTES: Mapping[str, Callable[[ClientState, str, Message], bool]] = {
    "hello": _hello,
    "armed": _armed,
    "told": _start_known,
    "progress": _progress,
    "result": _result,
    "error": _error,
}


OTHER_VERSION = "The load engine is of another version than Assay. Run `make build`."


def error_text(message: Message) -> str:
    """What an engine's `error` says, in words; an engine that does not know a field of a request is of another version."""
    path = message.get("path")
    where = f" {path}" if path else ""
    text = str(message.get("message", "no reason given"))
    remedy = f". {OTHER_VERSION}" if text.startswith(("unknown field", "unknown variant", "missing field")) else ""
    return f"{message.get('what', 'engine')}{where}: {text}{remedy}"


def completed(progress: Message) -> int:
    """All operations that a client has completed, of whatever name."""
    found = progress.get("operations")
    return sum(one["count"] for one in found.values()) if isinstance(found, Mapping) else 0
