"""The plugs: targets, workloads, observers, rules and parsers are records of plain functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from assay.catalogue.cases import About
from assay.catalogue.host import LINUX, Host, Process
from assay.catalogue.knobs import Knob
from assay.catalogue.pace import Pace
from assay.frozen import dataclass, field
from assay.records import (
    Action,
    Endpoint,
    EndpointKind,
    Fact,
    Finding,
    Meaning,
    PhasePlan,
    Place,
    Reading,
    Scope,
    Series,
    Severity,
    Snapshot,
    Subject,
    Tier,
    Trial,
    Value,
    WorkSide,
)


class Undo(Protocol):
    """The ledger as a target sees it: write down how to undo something BEFORE doing it."""

    def add(self, kind: str, **details: str) -> None:
        """Write it down.

        Kinds: `directory` (path, marker), `mount` (path, device), `loop` (device, image), `throttle` (file, device),
        `cgroup` (path), `file` and `own_file` (path, marker), `process` (pid, start_ticks), `family` (token: the value of
        FAMILY in the environment of all that was started), `command` (argv as JSON), `setting` (path, value, back_path, back)."""
        ...

    def undo(self, kind: str, **details: str) -> None:
        """Undo one entry now and strike it out."""
        ...


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a target is given: the knobs, a private scratch directory, the ledger, the path of the engine, each of its host."""

    name: str
    knobs: Mapping[str, Value]
    scratch: str
    undo: Undo
    trial: Trial | None = None
    paths: Mapping[str, Mapping[str, Value]] = field(default_factory=dict)
    engine: str = ""
    needs_bytes: int = 0
    """Bytes that the workloads will write to it (the sum of Workload.space); `check` compares it with what is free."""
    beneath: Place | None = None
    """The prepared target that it stands on (knob `on`); None where it stands on none, and in `check` before a trial."""
    beside: int = 0
    """Which of the two it is that a duet prepares at once, 0 or 1: each has a state of its own."""
    own_entries: Mapping[str, int] = field(default_factory=dict)
    """Entries with which a directory of ours is filled besides its population (Workload.own_entries)."""


class Mounts(StrEnum):
    """Who must see what a target mounts."""

    NONE = "none"
    """It mounts nothing."""
    LAB = "lab"
    """The lab and what it starts: in a mount namespace of its own nobody can copy the mount."""
    HOST = "host"
    """Perhaps a server outside the lab, and the command that undoes the mount after the lab was killed."""


@dataclass(frozen=True, kw_only=True)
class TargetEvent:
    """Something that an event of a workload does to a target, and what takes it back after its time."""

    do: Callable[[Host, Setting, Place], None]
    back: Callable[[Host, Setting, Place], None]
    untested: str
    """What it does not test, in words that follow "not tested:"."""
    unsuited: Callable[[Mapping[str, Value]], tuple[str, str] | None] = lambda knobs: None
    """Why nothing would be measured after it with these knobs, in words that follow "which", and what to set instead."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A system under test. `install` runs once per experiment, `prepare` before each trial, `remove` at the end."""

    name: str
    knobs: tuple[Knob, ...]
    endpoint: EndpointKind
    check: Callable[[Host, Setting], tuple[str, ...]]
    """What is wrong with these knobs on this host (empty = nothing); touches, changes nothing."""
    prepare: Callable[[Host, Setting], Place]
    drop_caches: Callable[[Host, Place], None]
    """Make everything of this place cold (drop, remount); what is not possible raises RefusedError."""
    facts: Callable[[Host, Place], tuple[tuple[str, str], ...]]
    """Key and value pairs for the fingerprint."""
    teardown: Callable[[Host, Setting, Place], None]
    """Undo `prepare`."""
    attach: Callable[[Host, Setting, Place, int], Endpoint] = lambda *given: Endpoint(
        kind=given[2].kind, address=given[2].address
    )
    """The endpoint of one client (its index), by default the place: called on its host, with scratch and ledger of that host."""
    detach: Callable[[Host, Setting, Endpoint], None] = lambda host, setting, endpoint: None
    """Undo `attach` of one client on its host."""
    flush: Callable[[Host, Endpoint], int | None] = lambda host, endpoint: None
    """Have a client's own program hand on what it holds back; what the kernel holds back was flushed before.

    Gives how long (ns) ago the program had been seen done, if it was at it already when it was asked: its work then began with
    the last operation. None of a program that held nothing, and where the return is the end."""
    install: Callable[[Host, Setting], None] = lambda host, setting: None
    """Make what all trials share."""
    remove: Callable[[Host, Setting], None] = lambda host, setting: None
    """Undo `install`."""
    lacks: Callable[[Host, Mapping[str, Value]], tuple[str, ...]] = lambda host, knobs: ()
    """The part of `check` that no other knob changes: what this host lacks. Knobs with mistakes have their defaults."""
    limits: Callable[[Mapping[str, Value]], tuple[str, ...]] = lambda knobs: ()
    """Which of the limits are declared by these knobs, in words."""
    exchange_times: Callable[[Mapping[str, Value]], float] = lambda knobs: 1.0
    """How many requests its client makes for an operation on a file where sshfs makes one."""
    seconds: Callable[[Mapping[str, Value]], tuple[float, float]] = lambda knobs: (0.0, 0.0)
    """A guess for plans: how long `install` takes, and how long `prepare` and `teardown` of each trial take together."""
    side_by_side: bool = False
    """Whether two of it can be prepared at once, each with a state of its own: then a duet may take turns on them."""
    read_only: bool = False
    """Whether it belongs to others and is only read: workloads that write are refused."""
    mounts: Mounts = Mounts.NONE
    mounts_each: Callable[[Mapping[str, Value]], bool] = lambda knobs: False
    """Whether each client gets a mount of its own with these knobs: then two clients on one host have two caches."""
    one_client: Callable[[Mapping[str, Value]], tuple[str, str] | None] = lambda knobs: None
    """Why all mounts of one host are one client to the server with these knobs, which need not be told of its own changes.

    In words that follow "which" or "whose", and what is expected instead; None where each mount is a client."""
    paths: Callable[[Mapping[str, Value]], tuple[str, ...]] = lambda knobs: ()
    """Which paths of the experiment it uses with these knobs."""
    sides: tuple[WorkSide, ...] = (WorkSide.CLIENT,)
    """Where workloads may work; the path needs both namespaces in the place, the server's side its data at the address."""
    events: Mapping[Action, TargetEvent] = field(default_factory=dict)
    """What an event may do to it."""
    devices: Callable[[Host, Place], tuple[str, ...]] = lambda host, place: place.devices
    """The devices that it is on now, where an event may have put it on other ones."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """What a workload is asked to lay out: its knobs, the endpoints of its clients, a seed."""

    workload: str
    knobs: Mapping[str, Value]
    endpoints: tuple[Endpoint, ...]
    seed: int
    token: str = ""
    """A random word of this trial that both ends of a connection know; empty where the order only asks for phases."""
    memory: str = ""
    """A directory of ours in memory on the hosts of the load (Workload.memory); empty where there is none."""


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What is done to a target: an engine's phases, or an external command's.

    `operations` names what it can report for these knobs, with the default figure of each: these are the measures
    where the file names none. `phases` is pure. `engine` is the engine's name (`bulk`, `metadata`, `null`) or None
    for external commands, which have a `parse` from (knobs, stdout, elapsed_ns) to {OPERATION.FIGURE: value}.
    """

    name: str
    knobs: tuple[Knob, ...]
    accepts: tuple[EndpointKind, ...]
    operations: Callable[[Mapping[str, Value]], Mapping[str, str]]
    phases: Callable[[Order], tuple[PhasePlan, ...]]
    check: Callable[[Mapping[str, Value]], tuple[str, ...]] = lambda knobs: ()
    """Mistakes between knobs (empty = none)."""
    engine: str | None = None
    servers: Callable[[Mapping[str, Value]], int] = lambda knobs: 0
    """How many clients with the role of a server it has besides, on the target's host."""
    parse: Callable[[Mapping[str, Value], str, int], Mapping[str, float]] | None = None
    mounts: int = 0
    """How many clients it has, each with a mount of its own of one server, on one host; 0: any number, wherever they work."""
    lacks: Callable[[Mapping[str, Value]], Mapping[str, str]] = lambda knobs: {}
    """Figures that it can never give with these knobs -> why not."""
    again: Callable[[Mapping[str, Value]], str | None] = lambda knobs: "it changes what the next slice would begin with"
    """Why its measured phases cannot run again and again on one preparation, whose unmeasured phases ran once; None if so."""
    only_reads: Callable[[Mapping[str, Value]], bool] = lambda knobs: False
    """Whether with these knobs nothing on the target is written, made, renamed or removed, a layout included."""
    inputs: Callable[[Mapping[str, Value]], Mapping[str, str]] = lambda knobs: {}
    """Knob -> the content of the file that it names and that decides what is done, recorded as a fact with each trial."""
    space: Callable[[Mapping[str, Value]], int] = lambda knobs: 0
    """Bytes of space that it needs on the target."""
    memory: Callable[[Mapping[str, Value]], int] = lambda knobs: 0
    """Bytes of files that all its clients together hold in memory, in a directory that each load host is given."""
    tools: Callable[[Mapping[str, Value]], tuple[str, ...]] = lambda knobs: ()
    """Programs that its knobs name and that every load host must have."""
    own_entries: Callable[[Mapping[str, Value]], Mapping[str, int]] = lambda knobs: {}
    """First letter of a name -> how many such entries it renames or deletes: a directory of ours is filled with them."""
    seconds: Callable[[Mapping[str, Value], Pace], float] = lambda knobs, pace: 10.0
    """A guess of how long its engines work, layout included, and how long it takes to remove what they made."""
    nouns: Mapping[str, str] = field(default_factory=dict)
    """Operation -> its plural in answers (`random reads`); an operation without one keeps its bare name."""
    lookups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Operation that only reads metadata -> the operations whose objects it looks up; none where it reads names alone."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What an observer made of its snapshots of one phase (or, for facts, of one trial edge)."""

    readings: tuple[Reading, ...] = ()
    series: tuple[Series, ...] = ()
    facts: tuple[Fact, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    """Evidence key -> why this observer could not have it; the trial adds host and phase."""


class ObserverScope(StrEnum):
    """When an observer looks."""

    PHASE = "phase"
    """At the edges of each phase (quiet, armed, last, drained), and every `every_s` between."""
    TRIAL = "trial"
    """Once before the first and once after the last phase."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A kind of evidence in words, and what a machine must allow for it."""

    keys: str
    """A pattern of evidence keys, written out in the module: it is looked for in its text."""
    words: str
    way: str


class Watch(StrEnum):
    """When `assay stat` runs an observer that nobody asked for."""

    ALWAYS = "always"
    KEPT = "kept"
    """Where the run is kept, to be compared with others."""
    PASSING = "passing"
    """Where the run is not kept."""
    SERVER = "server"
    """Where the command is a client of a server."""


OWN_CPU_NS = "own_cpu_ns"


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A program that runs beside each phase for an observer: started before the first edge, ended after the last one."""

    argv: Callable[[Host, Subject], tuple[str, ...]]
    """The program that watches this subject; raises EvidenceError where that cannot be said."""
    read: Callable[[Host, Process], Mapping[str, object]]
    """What it has counted until now, added to what the observer reads; the first answer says that it watches.

    `OWN_CPU_NS` in it is the CPU time that it has used itself.
    """
    spare: Callable[[Process, int], None] | None = None
    """Tells it to do nothing for so many ns; None: there is nothing that it does by itself."""


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
    beside: Beside | None = None
    """What has to run all the time for it; it then looks at the edges of phases."""
    sources: tuple[Source, ...] = ()
    """Its evidence in words; of several patterns that fit a key the longest counts."""
    watch: Watch | None = None
    """When `assay stat` runs it without being asked."""
    alone: bool = False
    """Whether a look takes long, as it runs a command: on a far host it shares no look with others."""
    systems: tuple[str, ...] = (LINUX,)
    """The systems whose counters it reads, as uname(1) names them; empty where it looks at every host."""
    on_request: bool = False
    """Whether it looks only where an experiment names it (`observers = ["*", "tracepoints"]`)."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Judges one part of a claim by evidence; returns exactly one finding.

    `check` and `applies` take the case of the rule's scope: TrialCase, ComparisonCase or ExperimentCase.
    """

    id: str
    name: str
    scope: Scope
    severity: Severity
    part: str
    check: Callable[[Any], Finding]
    applies: Callable[[Any], str | None] = lambda case: None
    """Why the rule says nothing of a case (n/a), or None where it applies."""
    needs: tuple[str, ...] = ()
    """Evidence keys as in Observer.gives, without which the rule is unverified."""
    reads: tuple[str, ...] = ()
    """Evidence keys that it looks at where they are there, whether it needs them or not: its findings name their sources."""
    about: About = About.EACH_LOAD_HOST
    """Whose evidence it is given: of each load host apart the worst finding counts. Of no account beyond trials."""
    of_requests: bool = False
    """Whether a rule of storage also judges requests to a server, whose storage it sees."""
    short: str = ""
    """What its failure is in a list of causes (`interval too wide`); empty = its name."""
    meaning: Meaning | None = None
    """What the stages after the audit do with its findings beside counting them."""
    wrong: str = ""
    """The mistake that it finds, as a story for its page."""
    alternatives: tuple[str, ...] = ()
    """What else could cause the same signal, and how to tell."""
    advice: str = ""
    at_shell: str = ""
    """What to do under `assay stat`, where the advice names what only an experiment has; empty = the advice."""
    ask: str = ""
    """What to ask whoever published a figure (`assay check`), where arithmetic alone can apply the rule."""
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ParsedNumber:
    """A number in base units, and half a unit of its last digit in the same unit."""

    value: float
    half: float

    def times(self, size: float) -> ParsedNumber:
        """Convert to a unit that is smaller by this factor."""
        return ParsedNumber(value=self.value * size, half=self.half * size)


@dataclass(frozen=True, kw_only=True)
class Parser:
    """What an external tool says it measured: text in, {OPERATION.FIGURE: value in base units} out; EvidenceError."""

    name: str
    recognises: Callable[[Sequence[str], str], bool]
    """(argv, output) -> whether this is that tool's."""
    read: Callable[[str], Mapping[str, ParsedNumber]]
    runs: Callable[[str], Sequence[str]] = lambda output: (output,)
    """The texts of the runs in an output, in order, each of which `read` reads by itself."""
    tier: Callable[[Sequence[str]], Tier | None] = lambda argv: None
    """The layer that its figures are taken for with these arguments: a claim by default; None where that is no storage."""
    operations: Callable[[Sequence[str]], tuple[str, ...]] = lambda argv: ()
    """Which operations these arguments are about where the output alone does not say it (dd to /dev/null: read); empty = all."""
    result_file: Callable[[Sequence[str]], str | None] = lambda argv: None
    """The file into which these arguments have the result written, to be read instead of the output; None = the output."""
    programs: tuple[str, ...] = ()
    """What the tool's program is called; empty = the parser's name up to its first underscore."""
    direct: str = ""
    """The argument with which the tool reads past the page cache."""
    count: Callable[[Sequence[str]], float | None] = lambda argv: None
    """How many operations of each kind these arguments ask for, of tools whose report does not always tell; None = unknown."""
    broken: str = ""
    """A regular expression of what it prints, often on its other stream, where its figures are not of work that was done."""
    clock_ns: int = 0
    """The step of the clock from which the tool reckons its rates; 0 = finer than what it prints."""
    flush: str = ""
    """The argument with which it flushes before it ends."""
    trap: Callable[[Sequence[str]], str | None] = lambda argv: None
    """Why these arguments let the tool move nothing, in a sentence; None where they do not."""

    def parse(self, output: str) -> dict[str, float]:
        """Return the figures alone."""
        return {key: number.value for key, number in self.read(output).items()}

    def resolution(self, output: str) -> dict[str, float]:
        """Return half a unit of each figure's last printed digit."""
        return {key: number.half for key, number in self.read(output).items()}
