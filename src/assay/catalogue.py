"""The plugs and how they are found: one file an entry, its constant on the last line is the registration.

A catalogue is a plural folder (`targets`, `workloads`, `observers`, `rules`, `parsers`). Every module in it ends with one
upper-case constant named TARGET, WORKLOAD, OBSERVER, RULE or PARSER. `names` lists modules without importing them;
`find` imports exactly one. Nothing else imports a plug.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, Protocol, overload

from assay.errors import UsageError
from assay.records import (
    Claim,
    Comparison,
    Endpoint,
    EndpointKind,
    Experiment,
    Fact,
    Finding,
    Measure,
    Observations,
    Phase,
    PhasePlan,
    Place,
    Plan,
    Reading,
    Run,
    Scope,
    Series,
    Severity,
    Snapshot,
    Subject,
    Trial,
    Value,
    Verdict,
)
from assay.units import Unit as Unit

# ---------------------------------------------------------------------------------------------- hosts


@dataclass(frozen=True, kw_only=True)
class Completed:
    """A command that has ended."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    wall_ns: int


class Process(Protocol):
    """A running command with line-wise standard input and output."""

    pid: int

    def send(self, line: str) -> None: ...
    def receive(self, timeout_s: float) -> str | None:
        """The next line; None when the output has ended. Raises TimeoutError."""
        ...

    def kill(self) -> None: ...
    def wait(self, timeout_s: float | None = None) -> int: ...


@dataclass(frozen=True, kw_only=True)
class CacheStat:
    """cachestat(2) of a whole file, in pages, with the page size and the file's size."""

    cached: int
    dirty: int
    writeback: int
    evicted: int
    recently_evicted: int
    page_bytes: int
    file_bytes: int


@dataclass(frozen=True, kw_only=True)
class Extents:
    """FIEMAP and stat of a file: bytes by kind."""

    file_bytes: int
    allocated_bytes: int
    """st_blocks x 512."""
    mapped_bytes: int
    unwritten_bytes: int
    hole_bytes: int
    encoded_bytes: int
    extents: int


class Syscalls(Protocol):
    """System calls that no shell offers; only on hosts where Assay itself runs."""

    def cachestat(self, path: str) -> CacheStat: ...
    def fiemap(self, path: str) -> Extents: ...
    def drop_file(self, path: str) -> None:
        """fsync, then posix_fadvise(DONTNEED) of the whole file."""
        ...

    def syncfs(self, path: str) -> int:
        """Flush the file system that holds path; returns how long it took (ns)."""
        ...


class Host(Protocol):
    """The only door to a machine. Methods are synchronous; `syscalls` is None where Assay is not installed."""

    name: str
    syscalls: Syscalls | None

    def run(
        self,
        argv: Sequence[str],
        *,
        check: bool = True,
        input_text: str | None = None,
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | None = None,
    ) -> Completed:
        """Run to the end. With check, a status other than 0 raises TrialError with the command and its stderr."""
        ...

    def spawn(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None) -> Process: ...
    def read(self, path: str) -> str:
        """Text of a (proc, sys or other small) file. Raises OSError."""
        ...

    def write(self, path: str, text: str) -> None: ...
    def list(self, path: str) -> tuple[str, ...]:
        """Names in a directory, sorted; empty where there is none."""
        ...

    def exists(self, path: str) -> bool: ...
    def real_path(self, path: str) -> str: ...
    def is_root(self) -> bool: ...
    def monotonic_ns(self) -> int: ...


# ---------------------------------------------------------------------------------------------- knobs


class KnobKind(StrEnum):
    """What a knob takes."""

    TEXT = "text"
    CHOICE = "choice"
    INTEGER = "integer"
    QUANTITY = "quantity"
    SWITCH = "switch"
    TEXTS = "texts"
    """A list of texts (operations, argv, mount options)."""
    PATH = "path"
    CPUS = "cpus"
    """A count or a list of CPU numbers."""


@dataclass(frozen=True, kw_only=True)
class Knob:
    """One setting of a target or workload: what it takes, its default, its help in one line."""

    name: str
    kind: KnobKind
    help: str
    default: Value = None
    required: bool = False
    unit: Unit = Unit.NONE
    choices: tuple[str, ...] = ()
    """For CHOICE, and for each item of TEXTS where not empty."""
    low: int | None = None
    high: int | None = None


PLACEMENT = (
    Knob(name="cpus", kind=KnobKind.CPUS, help="CPUs to run on: a count or a list of numbers"),
    Knob(name="memory", kind=KnobKind.QUANTITY, unit=Unit.BYTES, help="memory limit of the cgroup it runs in"),
)
"""Knobs that every workload and target has."""

TIMING = (
    Knob(
        name="start_delay",
        kind=KnobKind.QUANTITY,
        unit=Unit.NANOSECONDS,
        help="client N starts N times this after the others (for controls)",
    ),
    Knob(
        name="quiesce",
        kind=KnobKind.QUANTITY,
        unit=Unit.NANOSECONDS,
        help="longest wait for quiet before each phase; 0 = neither flush nor wait (for controls)",
    ),
)
"""Knobs that every workload has and the fleet carries out."""

# ---------------------------------------------------------------------------------------------- plugs


class Undo(Protocol):
    """The ledger as a target sees it: write down how to undo something BEFORE doing it."""

    def add(self, kind: str, **details: str) -> None:
        """Write it down.

        Kinds: `directory` (path, marker), `mount` (path, device), `loop` (device, image), `throttle` (file, device), `cgroup` (path),
        `file` (path, marker), `process` (pid, start_ticks), `command` (argv as JSON)."""
        ...

    def undo(self, kind: str, **details: str) -> None:
        """Undo one entry now and strike it out."""
        ...


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a target is given: the resolved knobs, a private scratch directory of the experiment, the ledger."""

    name: str
    knobs: Mapping[str, Value]
    scratch: str
    undo: Undo
    trial: Trial | None = None
    needs_bytes: int = 0
    """Bytes that the workloads will write to it (the sum of Workload.space); `check` compares it with what is free."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A system under test. `install` runs once per experiment, `prepare` before each trial, `remove` at the end."""

    name: str
    knobs: tuple[Knob, ...]
    endpoint: EndpointKind
    check: Callable[[Host, Setting], tuple[str, ...]]
    """What is wrong with these knobs on this host (empty = nothing); touches, changes nothing."""
    install: Callable[[Host, Setting], None]
    prepare: Callable[[Host, Setting], Place]
    attach: Callable[[Host, Place, int], Endpoint]
    """The endpoint of one client (its index); called on the client's host."""
    chill: Callable[[Host, Place], None]
    """Make everything of this place cold (drop, remount); what is not possible raises RefusedError."""
    facts: Callable[[Host, Place], tuple[tuple[str, str], ...]]
    """Key and value pairs for the fingerprint."""
    detach: Callable[[Host, Place, Endpoint], None]
    teardown: Callable[[Host, Setting, Place], None]
    remove: Callable[[Host, Setting], None]
    limits: Callable[[Mapping[str, Value]], tuple[str, ...]] = lambda knobs: ()
    """Which of the limits are declared by these knobs, in words."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a workload is asked to lay out: its knobs, the endpoints of its clients, a seed."""

    workload: str
    knobs: Mapping[str, Value]
    endpoints: tuple[Endpoint, ...]
    seed: int


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is done to a target: an engine's phases, or a foreign command's.

    `operations` names what it can report for these knobs, with the default figure of each: these are the measures
    where the file names none. `phases` is pure. `engine` is the engine's name (`bulk`, `metadata`, `null`) or None
    for foreign commands, which have a `parse` from (knobs, stdout, elapsed_ns) to {OPERATION.FIGURE: value}.
    """

    name: str
    knobs: tuple[Knob, ...]
    accepts: tuple[EndpointKind, ...]
    operations: Callable[[Mapping[str, Value]], Mapping[str, str]]
    phases: Callable[[Order], tuple[PhasePlan, ...]]
    check: Callable[[Mapping[str, Value]], tuple[str, ...]] = lambda knobs: ()
    """Mistakes between knobs (empty = none)."""
    engine: str | None = None
    parse: Callable[[Mapping[str, Value], str, int], Mapping[str, float]] | None = None
    space: Callable[[Mapping[str, Value]], int] = lambda knobs: 0
    """Bytes of space that it needs on the target."""
    seconds: Callable[[Mapping[str, Value]], float] = lambda knobs: 10.0
    """A guess of how long it runs, for plans without history."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What an observer made of its snapshots of one phase (or, for facts, of one trial edge)."""

    readings: tuple[Reading, ...] = ()
    series: tuple[Series, ...] = ()
    facts: tuple[Fact, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Evidence key -> why this observer could not have it; the fleet merges it into Observations.missing."""


class ObserverScope(StrEnum):
    """When an observer looks."""

    PHASE = "phase"
    """At the edges of each phase (quiet, armed, last, drained), and every `every_s` between."""
    TRIAL = "trial"
    """Once before the first and once after the last phase."""


@dataclass(frozen=True, kw_only=True)
class Observer:
    """Watches one layer of one host. `read` touches and interprets nothing; `parse` is pure.

    `gives` are evidence keys: `L2.read`, `L9.flush` (rung.direction), `page_cache.dirty_bytes` (layer.metric),
    `fact:kernel.version` or `fact:*`.
    """

    name: str
    gives: tuple[str, ...]
    cost: str
    available: Callable[[Host], str | None]
    """None, or the reason why it cannot look at this host."""
    read: Callable[[Host, Subject], Mapping[str, object]]
    parse: Callable[[str, str, Sequence[Snapshot], Subject], Evidence]
    """(host name, phase name, snapshots in order of time, subject) -> evidence."""
    every_s: float | None = None
    scope: ObserverScope = ObserverScope.PHASE


@dataclass(frozen=True, kw_only=True)
class TrialCase:
    """One measure of one run, as the trial rules see it."""

    subject: str
    experiment: Experiment
    run: Run
    phase: Phase
    measure: Measure
    claim: Claim
    value: float | None
    observations: Observations
    thresholds: Mapping[str, float]
    siblings: Mapping[str, float] = field(default_factory=dict)
    """Measure name -> value of the other measures of the same run (L08)."""


@dataclass(frozen=True, kw_only=True)
class ComparisonCase:
    """One comparison with the runs of both arms, as the comparison rules see it."""

    subject: str
    experiment: Experiment
    plan: Plan
    comparison: Comparison
    measure: Measure
    claim: Claim
    baseline: tuple[tuple[Run, Observations], ...]
    candidate: tuple[tuple[Run, Observations], ...]
    verdicts: Mapping[str, Verdict]
    """Run (`0007/1`) -> verdict of this measure in that run."""
    thresholds: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class ExperimentCase:
    """The whole experiment, as the experiment rules see it."""

    subject: str
    experiment: Experiment
    plan: Plan
    runs: tuple[tuple[Run, Observations], ...]
    thresholds: Mapping[str, float]


Case = TrialCase | ComparisonCase | ExperimentCase


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Judges one part of a claim by evidence; returns exactly one finding.

    `needs` are evidence keys as in Observer.gives; `applies` says in a word why not (n/a), or None where it does.
    """

    id: str
    name: str
    scope: Scope
    severity: Severity
    part: str
    needs: tuple[str, ...]
    applies: Callable[[Case], str | None]
    check: Callable[[Case], Finding]
    alternatives: tuple[str, ...] = ()
    """What else could cause the same signal, and how to tell."""
    advice: str = ""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Parser:
    """What a foreign tool says it measured: text in, {OPERATION.FIGURE: value in base units} out; EvidenceError."""

    name: str
    recognises: Callable[[Sequence[str], str], bool]
    """(argv, output) -> whether this is that tool's."""
    parse: Callable[[str], Mapping[str, float]]


Plug = Target | Workload | Observer | Rule | Parser
Kind = Literal["targets", "workloads", "observers", "rules", "parsers"]
CONSTANTS: Mapping[Kind, str] = {
    "targets": "TARGET",
    "workloads": "WORKLOAD",
    "observers": "OBSERVER",
    "rules": "RULE",
    "parsers": "PARSER",
}


def names(kind: Kind) -> tuple[str, ...]:
    """The entries of a catalogue, sorted; imports none of them."""
    package = importlib.import_module(f"assay.{kind}")
    return tuple(sorted(module.name for module in pkgutil.iter_modules(package.__path__)))


@overload
def find(kind: Literal["targets"], name: str) -> Target: ...
@overload
def find(kind: Literal["workloads"], name: str) -> Workload: ...
@overload
def find(kind: Literal["observers"], name: str) -> Observer: ...
@overload
def find(kind: Literal["rules"], name: str) -> Rule: ...
@overload
def find(kind: Literal["parsers"], name: str) -> Parser: ...
def find(kind: Kind, name: str) -> Plug:
    """Import one entry. Raises UsageError naming the entries that exist."""
    if name not in names(kind):
        raise UsageError(f"found {kind[:-1]} {name!r}; expected one of: {', '.join(names(kind))}")
    module = importlib.import_module(f"assay.{kind}.{name}")
    plug: Plug = getattr(module, CONSTANTS[kind])
    return plug


def help_of(kind: Kind, name: str) -> str:
    """The first line of the entry's docstring."""
    module = importlib.import_module(f"assay.{kind}.{name}")
    return (module.__doc__ or "").strip().splitlines()[0]
