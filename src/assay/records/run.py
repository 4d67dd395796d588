"""What happened: places, phases, clients, runs."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.evidence import Direction
from assay.records.experiment import Trial
from assay.records.place import Place


class CacheState(StrEnum):
    """In which state the caches are put before a phase."""

    COLD = "cold"
    WARM = "warm"
    UNCHANGED = "unchanged"


class StopRule(StrEnum):
    """What ends a phase."""

    WORK = "work"
    TIME = "time"
    STEADY = "steady"
    """When five rounds did not differ, or the time allowed was over."""


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
    data_files: tuple[str, ...] = ()
    """Absolute paths of the files that this phase reads or writes (empty for metadata phases)."""
    flush_in_clock: bool = False
    """True where the workload's own flush is inside the measured time."""
    engine: str | None = None
    """Which engine does it, where it is not the workload's own: a layout."""
    tree: str | None = None
    """A directory all of whose files this phase reads; the fleet looks which they are and names some as `data_files`."""
    within: Mapping[str, str] = field(default_factory=dict)
    """Operation -> the one whose time contains its own: a record that is read while its file is open."""


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


@dataclass(frozen=True, kw_only=True)
class EngineError:
    """One way in which operations failed, and how often."""

    operation: str
    errno: int
    count: int
    path: str
    what: str | None = None
    """`verify` where a record was read and is not what was written there; None where a call failed."""


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
    role: str
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
    printed: Printed | None = None
    """Of an external command; None for our own engines, and in runs of before it was kept."""


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
class Phase:
    """One phase as it happened."""

    name: str
    workload: str
    measured: bool
    operations: tuple[str, ...]
    directions: Mapping[str, Direction]
    cache_asked: CacheState
    cache_proved: CacheState | None
    cached_share_before: float | None
    """Share of the data files' pages resident before the clock started (cachestat), None where not known."""
    start_ns: int
    """T, relative to T0."""
    end_ns: int
    """Last completion of the last client."""
    stop: StopRule
    flush_in_clock: bool
    drain_ns: int | None
    """How long syncfs took right after the last operation, None where it was not called."""
    clients: tuple[Client, ...]
    data_files: tuple[str, ...] = ()
    quiesce_ns: int = 0
    quiet: bool | None = None
    """Whether the wait for quiet ended quiet (W07)."""
    values: Mapping[str, float] = field(default_factory=dict)
    """OPERATION.FIGURE -> value as reported by an external tool; empty for the own engines."""
    steady: SteadyState | None = None
    """None where the phase had another end than a steady state."""
    within: Mapping[str, str] = field(default_factory=dict)
    """Operation -> the one whose time contains its own."""
    due_ns: int | None = None
    """When the schedule of an open loop ended, which began at T; None for closed loops and where an amount ended it."""


@dataclass(frozen=True, kw_only=True)
class HostClock:
    """A host's CLOCK_MONOTONIC against the controller's: offset, its error bound, and T0 in its own clock."""

    host: str
    offset_ns: int
    error_ns: int
    t0_mono_ns: int


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

    @property
    def id(self) -> str:
        """`0007/1`: trial and attempt."""
        return f"{self.trial.id:04d}/{self.attempt}"
