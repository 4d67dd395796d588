"""What happened: places, phases, clients, runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.coherence import CoherenceEnd
from assay.records.directory import DirectoryEnd
from assay.records.drill import DrillEnd
from assay.records.evidence import Direction
from assay.records.experiment import WorkSide
from assay.records.network import NetEnd
from assay.records.place import Place
from assay.records.plan import Trial


class CacheState(StrEnum):
    """In which state the caches are put before a phase."""

    COLD = "cold"
    WARM = "warm"
    UNCHANGED = "unchanged"


class Role(StrEnum):
    """What a client is for in its phase."""

    SERVER = "server"
    LOAD = "load"
    READER = "reader"
    WRITER = "writer"


class HostRole(StrEnum):
    """What a host is in a run: one that the load comes from, or the one that the target is on."""

    LOAD = "load"
    TARGET = "target"


class StopRule(StrEnum):
    """What ends a phase."""

    WORK = "work"
    TIME = "time"
    STEADY = "steady"
    """When five rounds did not differ, or the time allowed was over."""


CHANGING = {
    *("create", "write", "append", "overwrite", "truncate", "rename", "unlink", "rmdir", "mkdir", "link", "symlink", "fsync"),
    *("flush", "put", "setattr", "chmod", "discard", "add", "modify", "modrdn", "delete", "import", "random_write", "make"),
}
"""Operations that change what they find, whatever direction a workload gives them."""
LOOKING = {"file", "walk", "list", "stat", "open", "close", "locate", "rewind"}
"""The operations on metadata that change nothing."""


@dataclass(frozen=True, kw_only=True)
class PhasePlan:
    """One phase as the workload wants it: which operations, from which cache state, with which engine settings.

    `settings` maps a client's index to the engine's config for that client (docs/engine-protocol.md, without the envelope).
    """

    name: str
    operations: tuple[str, ...]
    directions: Mapping[str, Direction]
    measured: bool = True
    cache: CacheState = CacheState.UNCHANGED
    stop: StopRule = StopRule.WORK
    settings: tuple[Mapping[str, object], ...] = ()
    roles: tuple[Role, ...] = ()
    """What each client is for; empty = all are the load. Servers come last, so that the numbers of the load begin at 0.

    `{server.address}` in the texts of a load's settings becomes the address of its server.
    """
    data_files: tuple[str, ...] = ()
    """Absolute paths of the files that this phase reads or writes (empty for metadata phases)."""
    data_share: float = 1.0
    """The part of all files that is in `data_files`, less than 1 for a large tree."""
    flush_in_clock: bool = False
    """True where the workload's own flush is inside the measured time."""
    engine: str | None = None
    """Which engine does it, where it is not the workload's own: a layout."""
    tree: str | None = None
    """A directory all of whose files this phase reads; the fleet looks which they are and names some as `data_files`."""
    within: Mapping[str, str] = field(default_factory=dict)
    """Operation -> the one whose time contains its own: a record that is read while its file is open."""
    is_drained: bool = True
    """Whether its end is flushed and timed; False where its flush is a phase of its own."""
    is_first: bool = True
    """Whether quiet is waited for before it, which flushes; False for a phase that goes on with the former one's data."""

    @property
    def changes(self) -> tuple[str, ...]:
        """Its operations that change what is on the target, by name, by direction or by what the engine is told to do."""
        told = (str(name) for one in self.settings if (name := one.get("operation")) in CHANGING)
        return tuple(dict.fromkeys((*(name for name in self.operations if self._changes(name)), *told)))

    def _changes(self, operation: str) -> bool:
        way = self.directions.get(operation)
        moves = way in (Direction.WRITE, Direction.FLUSH, Direction.DISCARD)
        return moves or operation in CHANGING or (way is Direction.METADATA and operation not in LOOKING)

    def role(self, client: int) -> Role:
        """What a client is for."""
        return self.roles[client] if self.roles else Role.LOAD


@dataclass(frozen=True, kw_only=True)
class Unfinished:
    """Operations of one client that were under way when its phase ended, and were given up without an answer."""

    count: int
    from_ns: int
    """When the first of them began."""
    waited_ns: int
    """The sum of their waits until they were given up, each at least its latency."""
    longest_ns: int

    def waited_until(self, at_ns: int) -> int:
        """The sum of their waits up to a time; all were given up at one time."""
        return max(0, self.waited_ns - self.count * max(0, self.from_ns + self.longest_ns - at_ns))


@dataclass(frozen=True, kw_only=True)
class Late:
    """Operations of one client that came to their end after the end of its time; its totals have them, too."""

    count: int
    bytes: int
    from_ns: int
    """When the client was last seen to complete one before that."""


@dataclass(frozen=True, kw_only=True)
class OperationTotal:
    """What one client did of one operation in one phase, as the engine counted it."""

    operation: str
    count: int
    bytes: int
    errors: int
    busy_ns: int
    """Sum of all latencies."""
    first_ns: int
    last_ns: int
    """First start and last completion."""
    sampled_count: int = 0
    sampled_ns: int = 0
    """Every 64th operation stamped twice, independently of the rate: for Little's law (L07)."""
    unfinished: Unfinished | None = None
    """None where all came to their end."""
    late: Late | None = None
    """None where none was seen to end after the time, and in runs of before it was looked for."""


@dataclass(frozen=True, kw_only=True)
class EngineCost:
    """What the load generator itself used in a phase; None where the machine does not tell."""

    cpu_user_ns: int
    cpu_system_ns: int
    user_instructions: int | None = None
    kernel_instructions: int | None = None
    user_cycles: int | None = None
    kernel_cycles: int | None = None
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    minor_faults: int = 0
    major_faults: int = 0


@dataclass(frozen=True, kw_only=True)
class LoadTotal:
    """What an open loop fell behind by; a client of a closed loop has none."""

    late: int
    """Operations that began more than the knob `late` after they were due."""
    unstarted: int
    """Operations that were due before the end of the phase's time and never began."""
    backlog_max_ns: int
    """The longest that an operation was waiting to begin."""


@dataclass(frozen=True, kw_only=True)
class QueueTotal:
    """How requests went through io_uring, over all workers of a client; without io_uring there is none."""

    depth: int
    """Requests that could be in flight at once."""
    registered: bool
    """Whether files and buffers were registered with the kernel."""
    punted: bool
    """Whether threads of the kernel did requests, because the target cannot do them without waiting."""
    punted_threads: int
    submissions: int
    """Calls that submitted requests and waited for completions."""


class ErrorSpace(StrEnum):
    """Whose numbers error codes are."""

    ERRNO = "errno"
    LDAP = "ldap"


@dataclass(frozen=True, kw_only=True)
class EngineError:
    """One way in which operations failed, and how often."""

    operation: str
    code: int
    count: int
    path: str
    space: ErrorSpace = ErrorSpace.ERRNO
    what: str | None = None
    """`verify` where a record was read and is not what was written there; of LDAP the name of the result code, or of what was
    wrong with an answer; None where a call failed."""


@dataclass(frozen=True, kw_only=True)
class Printed:
    """What an external command printed, of which its figures are read."""

    stdout: str
    stderr: str
    cut: bool
    """Whether it was more, of which only the end was kept."""


@dataclass(frozen=True, kw_only=True)
class Client:
    """One client process in one phase."""

    index: int
    host: str
    pid: int
    role: Role
    workers: int
    armed_ns: int
    started_ns: int
    """When it really woke up."""
    first_ns: int
    last_ns: int
    stopped_by: str
    operations: tuple[OperationTotal, ...]
    cost: EngineCost | None
    clock_source: str = "CLOCK_MONOTONIC"
    stamp_ns: int | None = None
    """What one reading of that clock cost; None in runs of before it was measured."""
    own_ns: int | None = None
    """What the engine does around each operation (two stamps, the histogram, the sums), with warm caches."""
    load: LoadTotal | None = None
    queue: QueueTotal | None = None
    errors: tuple[EngineError, ...] = ()
    net: NetEnd | None = None
    """Of an end of connections; None of the other engines."""
    directory: DirectoryEnd | None = None
    """Of a load on a directory server."""
    coherence: CoherenceEnd | None = None
    """Of the reader of a coherence phase."""
    drill: DrillEnd | None = None
    """Of records that were appended or looked for."""
    printed: Printed | None = None
    """Of an external command; None for our own engines, and in runs of before it was kept."""
    ends_ns: int | None = None
    """When time was to end its work; None where an amount did, and in runs of before it was kept."""

    @property
    def until_ns(self) -> int:
        """Until when it was at work: its last completion, or the end of its time where that is later."""
        return self.until(self.last_ns)

    def until(self, last_ns: int) -> int:
        """Until when it did what was last completed then: what does not end has its time, too."""
        ended = self.ends_ns if self.stopped_by == "time" and self.ends_ns is not None else last_ns
        return max(last_ns, ended)

    @property
    def places(self) -> int:
        """Operations that could be in flight at once: one a worker, or as many as its queue or connections have room for."""
        if self.directory is not None:
            return self.directory.places
        return self.workers if self.queue is None else self.queue.depth


@dataclass(frozen=True, kw_only=True)
class SteadyState:
    """How a phase ended that was to run until it was steady."""

    reached: bool
    """False where the longest time allowed was over before five rounds were alike."""
    round_ns: int
    rounds: int
    """Whole rounds that all clients had run when it ended."""
    from_ns: int | None = None
    to_ns: int | None = None
    """The five steady rounds, relative to T0; None where there were none."""
    at_ns: int | None = None
    """When all clients were told to stop."""


@dataclass(frozen=True, kw_only=True)
class HostClock:
    """A host's CLOCK_MONOTONIC against the controller's: offset, its error bound, and T0 in its own clock.

    For a phase the bound is valid at every time of it, if the clock's rate stays within 10 ppm of its mean over the phase.
    """

    host: str
    offset_ns: int
    error_ns: int
    t0_mono_ns: int
    drift_ppm: float | None = None
    """Its rate against the controller's clock; None where known no better than 200 ppm, and in runs of before it was kept."""


@dataclass(frozen=True, kw_only=True)
class PhaseHost:
    """What a phase found on one host and did to it: caches before it, the wait for quiet, the drain after it, the clock."""

    host: str
    cache_proved: CacheState | None = None
    """None where the state is neither cold nor warm, or cannot be seen."""
    cached_share_before: float | None = None
    """Share of the data files' pages resident before the clock started (cachestat), None where not known."""
    new_files: bool | None = None
    """Whether no data file existed before the phase (True), or all did (False); None where neither, or without data files."""
    not_cold: str | None = None
    """Why the caches could not be made cold where that was asked for."""
    server_cached_before: float | None = None
    """Share of the pages of the server's data files on this host that were resident before the clock; None where not known."""
    quiesce_ns: int = 0
    quiet: bool | None = None
    """Whether the wait for quiet ended quiet (W07)."""
    drain_ns: int | None = None
    """How long syncfs took right after the last operation, None where it was not called."""
    clients_drain_ns: int | None = None
    """The slowest client of a server on this host: how long its mount took; None where it has none of its own."""
    server_drain_ns: int | None = None
    """Until the server's storage was clean, after what the clients had held back; None where both ends are not on this host."""
    clock: HostClock | None = None
    """By the comparisons before and after the phase; None where none was made."""
    mounts_cpu_ns: int | None = None
    """CPU time of the programs that are the clients' mounts on this host (FUSE), drain included; None where there are none."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """One phase as it happened."""

    name: str
    workload: str
    measured: bool
    operations: tuple[str, ...]
    directions: Mapping[str, Direction]
    cache_asked: CacheState
    hosts: tuple[PhaseHost, ...]
    """The hosts that took part: those of the load and that of the target."""
    start_ns: int
    """T, relative to T0."""
    end_ns: int
    """Until when the last client was at work."""
    stop: StopRule
    flush_in_clock: bool
    clients: tuple[Client, ...]
    """Those of the load: whatever sums over the clients of a phase is about the load alone."""
    data_files: tuple[str, ...] = ()
    values: Mapping[str, float] = field(default_factory=dict)
    """OPERATION.FIGURE -> value as reported by an external tool; empty for the own engines."""
    steady: SteadyState | None = None
    """None where the phase had another end than a steady state."""
    within: Mapping[str, str] = field(default_factory=dict)
    """Operation -> the one whose time contains its own."""
    due_ns: int | None = None
    """When the schedule of an open loop ended, which began at T; None for closed loops and where an amount ended it."""
    servers: tuple[Client, ...] = ()
    """The clients that answered the load: the other end of its connections, on the target's host."""
    side: WorkSide = WorkSide.CLIENT
    """Where its workload worked."""

    @property
    def lasted_ns(self) -> int:
        """How long its clock ran."""
        return self.end_ns - self.start_ns

    @property
    def drain_ns(self) -> int | None:
        """The longest drain of any host; None where none was drained."""
        return max((one.drain_ns for one in self.hosts if one.drain_ns is not None), default=None)

    @property
    def quiesce_ns(self) -> int:
        """The longest wait for quiet."""
        return max((one.quiesce_ns for one in self.hosts), default=0)

    @property
    def quiet(self) -> bool | None:
        """Whether every host was quiet at the end of the wait; None where it is not known of any."""
        known = [one.quiet for one in self.hosts if one.quiet is not None]
        return all(known) if known else None

    @property
    def cache_proved(self) -> CacheState | None:
        """The state that the caches of every client and server were in; None where they differ or one is not known."""
        states = {one.cache_proved for one in self.hosts if self._has_clients(one) or one.server_cached_before is not None}
        return states.pop() if len(states) == 1 else None

    def _has_clients(self, host: PhaseHost) -> bool:
        load = self.load_hosts
        return host.host in load or not load

    @property
    def cached_share_before(self) -> float | None:
        """The largest share of the data files in memory before the clock, for warm caches the smallest; None if unknown."""
        shares = [one.cached_share_before for one in self.hosts if self._has_clients(one)]
        known = [share for share in shares if share is not None]
        worst = min if self.cache_asked is CacheState.WARM else max
        return worst(known) if known and len(known) == len(shares) else None

    @property
    def mounts_cpu_ns(self) -> int | None:
        """CPU time of the programs that are its clients' mounts; None where no client has such a program."""
        known = [one.mounts_cpu_ns for one in self.hosts if one.mounts_cpu_ns is not None]
        return sum(known) if known else None

    @property
    def not_cold(self) -> str | None:
        """Why the caches of a host could not be made cold where that was asked for; None where they could."""
        return next((one.not_cold for one in self.hosts if one.not_cold is not None), None)

    @property
    def load_hosts(self) -> tuple[str, ...]:
        """The hosts of its clients, in the order of these."""
        return tuple(dict.fromkeys(client.host for client in self.clients))

    def on_host(self, host: str | None) -> PhaseHost | None:
        """What was found on one host and done to it; None where it did not take part."""
        return next((one for one in self.hosts if one.host == host), None)

    def on(self, *hosts: str) -> Phase:
        """The same phase with the clients of these hosts alone, and what was done to these; servers stay."""
        if {client.host for client in self.clients} | {one.host for one in self.hosts} <= set(hosts):
            return self
        return replace(
            self,
            clients=tuple(one for one in self.clients if one.host in hosts),
            hosts=tuple(one for one in self.hosts if one.host in hosts),
        )


class Outcome(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    PARTIAL = "partial"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, kw_only=True)
class Run:
    """What happened when a trial was executed."""

    trial: Trial
    attempt: int
    outcome: Outcome
    started_utc: str
    ended_utc: str
    hosts: tuple[HostClock, ...]
    places: tuple[Place, ...]
    phases: tuple[Phase, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    started_late: bool = False
    """Whether it is partial since a client started late, which is noise of the platform, and for nothing else."""

    @property
    def target_host(self) -> str | None:
        """The host that the target is on; None where none was prepared."""
        return next((place.host for place in self.places), None)

    @property
    def target_hosts(self) -> tuple[str, ...]:
        """The hosts of the target: that of its place, and those of further nodes of its server."""
        nodes = (node for place in self.places if place.server for node in place.server.nodes)
        return tuple(dict.fromkeys((*(place.host for place in self.places), *(node.host for node in nodes))))

    @property
    def load_hosts(self) -> tuple[str, ...]:
        """The hosts of its clients in all phases, in the order of these."""
        return tuple(dict.fromkeys(host for phase in self.phases for host in phase.load_hosts))

    @property
    def host_names(self) -> tuple[str, ...]:
        """The hosts that took part: those of the target first, then those of the load, then any other."""
        return tuple(
            dict.fromkeys((*self.target_hosts, *self.load_hosts, *(one.host for phase in self.phases for one in phase.hosts)))
        )

    @property
    def is_spread(self) -> bool:
        """Whether more than one host took part."""
        return len(self.host_names) > 1

    def on(self, *hosts: str) -> Run:
        """The same run with the phases of these hosts alone."""
        phases = tuple(phase.on(*hosts) for phase in self.phases)
        same = all(one is other for one, other in zip(phases, self.phases, strict=True))
        return self if same else replace(self, phases=phases)

    @property
    def id(self) -> str:
        """`0007/1`: trial and attempt."""
        return f"{self.trial.id:04d}/{self.attempt}"
