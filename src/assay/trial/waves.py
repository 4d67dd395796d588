"""In which order the clients of a phase are armed: its servers first, then the load with the servers' addresses. No I/O."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from assay.records import Role
from assay.trial.protocol import ClientState, ClientStep, Message
from assay.trial.silence import WaitLimits

ADDRESS = "{server.address}"
"""In the texts of a load's settings: replaced by the address that the arming of its server returned."""


@dataclass(frozen=True, kw_only=True)
class Waves:
    """So many clients of one phase. `roles` are by client; without roles all are the load, in one wave."""

    count: int = 0
    roles: Sequence[Role] = ()
    servers: tuple[int, ...] = field(init=False)
    """The clients that are armed first, and end last."""

    def __post_init__(self) -> None:
        if self.roles and len(self.roles) != self.count:
            raise ValueError(f"found {len(self.roles)} roles; expected {self.count}, one a client")
        servers = tuple(client for client, role in enumerate(self.roles) if role is Role.SERVER)
        if servers and len(servers) == len(self.roles):
            raise ValueError("found servers alone; expected a client with another role")
        object.__setattr__(self, "servers", servers)

    def role(self, client: int) -> Role:
        """What a client is for."""
        return self.roles[client] if self.roles else Role.LOAD

    def first(self) -> Mapping[int, str | None]:
        """The clients that are armed at once, without an address: the servers, or all where there are none."""
        return dict.fromkeys(self.servers or range(self.count))

    def second(self, clients: Sequence[ClientState]) -> Mapping[int, str | None]:
        """The rest, each with the address of its server: load client i has server i modulo their number."""
        rest = (client for client in range(self.count) if client not in self.servers)
        return {client: clients[self.servers[place % len(self.servers)]].address for place, client in enumerate(rest)}


@dataclass(kw_only=True)
class PhaseTimes:
    """The phase that is armed or runs, and when what of it is over; on the controller's clock."""

    name: str = ""
    deadline_ns: int = 0
    limit_ns: int = 0
    look_due_ns: int = 0
    stopping: bool = False
    configs: Sequence[Message] = ()
    """By client."""
    waves: Waves = field(default_factory=Waves)
    servers_due_ns: int | None = None
    """When its servers have to stop; None before the last of its load has ended."""

    def await_servers(self, clients: Sequence[ClientState], running: int, now_ns: int, pace: WaitLimits) -> None:
        """Where nobody else runs: they end by themselves when they have read all, or a while later because they must."""
        left = sum(clients[index].step is ClientStep.RUNNING for index in self.waves.servers)
        if left == running and self.servers_due_ns is None:
            self.servers_due_ns = now_ns + pace.follow_ns
            self.deadline_ns = self.servers_due_ns + pace.stop_ns

    def ends_servers(self, now_ns: int) -> bool:
        """Whether the servers have to stop now; once."""
        if self.servers_due_ns is None or now_ns < self.servers_due_ns:
            return False
        self.servers_due_ns = self.deadline_ns + 1
        return True


def addressed(config: Message, address: str | None) -> Message:
    """A config with the address of its server, where it has one."""
    return config if address is None else {name: filled(value, address) for name, value in config.items()}


def filled(value: object, address: str) -> object:
    """A value with the address in all its texts."""
    if isinstance(value, str):
        return value.replace(ADDRESS, address)
    if isinstance(value, Mapping):
        return {name: filled(item, address) for name, item in value.items()}
    return [filled(item, address) for item in value] if isinstance(value, list | tuple) else value
