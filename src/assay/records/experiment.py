"""What the user asks: experiment, factors, measures, claims, requirements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType

from assay.frozen import dataclass, field
from assay.records.events import Event
from assay.records.observe import ObserveSpec
from assay.records.price import Price

Scalar = str | int | float | bool | None
Value = Scalar | tuple["Value", ...]
"""A knob's value after reading: quantities are integers in their base unit (bytes, ns, per second)."""

EMPTY: Mapping[str, Value] = MappingProxyType({})


class WorkSide(StrEnum):
    """Where a workload works: through a target's server, or at one of the two things that the server stands on."""

    CLIENT = "client"
    """As a client of the target."""
    PATH = "path"
    """Between the memory of both ends, over the path that the clients use."""
    SERVER = "server"
    """In the server's own data, without a client."""


class Tier(StrEnum):
    """Which layer a figure is said to measure."""

    CLIENT_CACHE = "client-cache"
    SERVER_CACHE = "server-cache"
    DEVICE = "device"
    AS_IS = "as-is"


class Durability(StrEnum):
    """What the writes of a figure are said to survive."""

    NONE = "none"
    ACKED = "acked"
    STABLE_MEDIA = "stable-media"


class Load(StrEnum):
    """How the load is said to be offered."""

    CLOSED = "closed"
    OPEN = "open"


class Regime(StrEnum):
    """In which state of caches and of the device a figure is said to be taken."""

    COLD = "cold"
    WARM = "warm"
    STEADY = "steady"
    BURST = "burst"


class Path(StrEnum):
    """Which way the bytes are said to have gone."""

    LOCAL = "local"
    LOOPBACK = "loopback"
    WIRE = "wire"
    EMULATED = "emulated"
    """A path that the lab makes itself: stated rate, delay, queue and loss."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What a measure is said to be; a part that is None is not claimed and not judged (tier: as-is)."""

    tier: Tier = Tier.AS_IS
    durability: Durability | None = None
    load: Load | None = None
    regime: Regime | None = None
    path: Path | None = None


class Summary(StrEnum):
    """What stands for the runs of an arm."""

    GEOMETRIC = "geometric mean"
    TOTAL = "total"
    """The arithmetic mean: what it came to in all."""
    MEDIAN = "median"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """WORKLOAD.OPERATION.FIGURE, chosen before the run, and what is claimed of it.

    FIGURE is one of the names in `assay.measures.FIGURES`; an observed figure starts with `@HOST.`.
    """

    workload: str
    operation: str
    figure: str
    claim: Claim = Claim()
    summary: Summary | None = None
    """None: by its unit, totals for shares and counts, else the geometric mean."""
    unit: str | None = None
    """Of a figure that a command of `[observe]` gives: its base unit; None of all figures that the lab knows itself."""
    primary: bool = False
    """Whether the file says that the experiment decides by it."""

    @property
    def name(self) -> str:
        """The path as it stands in the experiment file."""
        return f"{self.workload}.{self.operation}.{self.figure}"


class Change(StrEnum):
    """Who changes a factor's level."""

    AUTOMATIC = "automatic"
    MANUAL = "manual"


@dataclass(frozen=True, kw_only=True)
class Factor:
    """What differs between trials: a reserved name (target, workload, clients, hosts), a knob's path or a free name."""

    path: str
    levels: tuple[Value, ...]
    change: Change = Change.AUTOMATIC
    returns: int = 0
    """For a manual factor: how many further sittings at the first level, to see drift."""
    names: tuple[str, ...] = ()
    """What the file calls the levels, in their order; empty for a level without a name, and as a whole where none has one."""

    def name_of(self, level: Value) -> str:
        """Give the name of a level; empty where it has none."""
        alike = (name for name, one in zip(self.names, self.levels, strict=True) if one == level and type(one) is type(level))
        return next(alike, "") if self.names else ""


ADDRESS = "{address}"
"""In the command of a host by exec: its address."""


@dataclass(frozen=True, kw_only=True)
class HostSpec:
    """One machine that takes part; `local` is always there."""

    name: str
    via: str = "local"
    address: str | None = None
    """As ssh takes it: `[USER@]HOST[:PORT]`, or a name of ssh's own configuration."""
    control: str | None = None
    """Another address, for our own connection; None: `address`."""
    group: str | None = None
    """The line of the file that it comes from, where that names several: `c` for `c.1`."""
    load: bool = False
    """Whether load may come from it."""
    engine: bool = False
    """Whether the load engine may be placed there; where it may not, one shell looks and acts."""
    cluster: str | None = None
    """With dask: what starts the workers (`local`, `ssh`, `slurm`, `pbs`, `lsf`, `kubernetes`, `gateway`)."""
    scheduler: str | None = None
    """With dask: the address of a scheduler that runs already (`tls://...`)."""
    options: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    """With dask: what the cluster takes (`queue`, ...). With snmp: the file of the secret, the ports of `[limits]`. With exec:
    the words of the command."""


ON = "on"
"""The knob by which a target stands on another one."""


@dataclass(frozen=True, kw_only=True)
class TargetSpec:
    """A target as named in the file: its kind and its knobs (flattened by dots, quantities resolved)."""

    name: str
    kind: str
    knobs: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    host: str = "local"
    price: Price | None = None
    """What the whole system costs; None where the file does not say it. It changes no figure."""


@dataclass(frozen=True, kw_only=True)
class PathSpec:
    """A path between two ends as named in the file: its knobs (`rate`, `up.rate`), resolved."""

    name: str
    knobs: Mapping[str, Value] = field(default_factory=lambda: EMPTY)


MACHINE = "machine"
"""What paths of factors begin with that set the machines themselves."""


@dataclass(frozen=True, kw_only=True)
class MachineSpec:
    """Settings of the machines that take part (`[machine]`), for each trial: knob -> value, None where nothing is set."""

    knobs: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    hosts: tuple[str, ...] = ()
    """The hosts that are set; none named: all of the load and of the targets."""


@dataclass(frozen=True, kw_only=True)
class WorkloadSpec:
    """A workload as named in the file."""

    name: str
    kind: str
    knobs: Mapping[str, Value] = field(default_factory=lambda: EMPTY)
    hosts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    side: WorkSide = WorkSide.CLIENT


class RequirementKind(StrEnum):
    """How a requirement is put."""

    AT_MOST = "<="
    AT_LEAST = ">="
    NOT_WORSE_THAN = "not worse than"


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """`<= 50 ms`, `>= 100 MB/s` (bound in the measure's base unit) or `not worse than 5 %` (bound as a share)."""

    measure: str
    kind: RequirementKind
    bound: float
    text: str


class DesignKind(StrEnum):
    """Which combinations of levels a block holds, where the effect of each factor is asked for."""

    ONE_AT_A_TIME = "one-at-a-time"
    """The baseline, and each other level alone."""
    FULL = "full"
    """Every combination."""
    FRACTIONAL = "fractional"
    """A regular 2^(k-p) fraction."""
    SCREENING = "screening"
    """A design of Plackett and Burman."""
    DUET = "duet"
    """No design of several factors: two levels of one take turns (experiment/duet.py); `Experiment.slices` has it."""


class Pairs(StrEnum):
    """Which levels of the compared factor are held against each other."""

    BASELINE = "baseline"
    """Each later level against the first one."""
    ALL = "all"
    """Each level against each earlier one."""


@dataclass(frozen=True, kw_only=True)
class Precision:
    """Repeat until the half width of the 95 % interval of every contrast is at most this share."""

    half_width_share: float
    most: int | None = None
    """Blocks at most; None where the file names no bound."""


@dataclass(frozen=True, kw_only=True)
class SoakSpec:
    """A load for hours, in pieces of which each is a trial, until its time is over or something goes wrong."""

    duration_ns: int
    piece_ns: int
    kernel_error: bool = True
    """Whether it stops at the first error in the kernel's log."""
    verification: bool = True
    """Whether it stops at the first record that is not what was written."""
    least_rate_share: float | None = None
    """It stops where a rate is below this share of that of the first piece; None where rates do not matter."""

    @property
    def pieces(self) -> int:
        """How many pieces its time has."""
        return -(-self.duration_ns // self.piece_ns)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A question, what varies, what stays constant, what is measured and how often."""

    title: str
    question: str
    targets: tuple[TargetSpec, ...]
    workloads: tuple[WorkloadSpec, ...]
    factors: tuple[Factor, ...]
    measures: tuple[Measure, ...]
    requirements: tuple[Requirement, ...] = ()
    compare: str | None = None
    pairs: Pairs = Pairs.BASELINE
    design: DesignKind | None = None
    """None: every combination, and no effects are estimated."""
    resolution: int | None = None
    """The least resolution of a fraction that is asked for; None where the file says nothing."""
    slices: int | None = None
    """How often each of two levels has its turn in one preparation, of a duet; None: each trial prepares its own target."""
    matters_share: float = 0.05
    bound_factor: float | None = None
    """How far apart the bounds of a BOUNDED figure are at most; None: as limits.toml has it."""
    repeats: int | Precision | None = None
    budget_ns: int | None = None
    seed: int = 1
    hosts: tuple[HostSpec, ...] = (HostSpec(name="local"),)
    limits: Mapping[str, str] = field(default_factory=dict)
    implied: tuple[str, ...] = ()
    """Facts that are said to follow from the compared factor: keys, or how keys begin with a `*` at the end (C01, C05)."""
    observers: tuple[str, ...] | None = None
    """Names of the observers to use; None = all that the catalogue has and the machine allows."""
    observe: tuple[ObserveSpec, ...] = ()
    paths: tuple[PathSpec, ...] = ()
    """Commands that watch hosts beside the observers."""
    soak: SoakSpec | None = None
    machine: MachineSpec | None = None
    """None where neither the file nor a factor sets anything of a machine."""
    digest: str = ""
    """SHA-256 of the canonical form (experiment/digest.py)."""

    def watched_hosts(self) -> tuple[str, ...]:
        """The hosts of `[observe]` and of figures that begin with `@HOST.`."""
        figures = tuple(measure.figure for measure in self.measures if measure.figure.startswith("@"))
        seen = {name for spec in self.observe for name in spec.hosts}
        return tuple(
            one.name for one in self.hosts if one.name in seen or any(figure.startswith(f"@{one.name}.") for figure in figures)
        )

    def beneath(self, spec: TargetSpec) -> tuple[str, ...]:
        """The targets that a target stands on (its knob `on`), with any level."""
        levels = next((factor.levels for factor in self.factors if factor.path == f"{spec.name}.{ON}"), (spec.knobs.get(ON),))
        return tuple(str(level) for level in levels if level)

    def compared_measures(self) -> tuple[Measure, ...]:
        """The measures that the question is about: a workload below the clients is a measured limit, unless it is required.

        Where no workload of clients is measured, all of them are.
        """
        below = {one.name for one in self.workloads if one.side is not WorkSide.CLIENT}
        required = {one.measure for one in self.requirements}
        asked = tuple(one for one in self.measures if one.workload not in below or one.name in required)
        return asked if any(one.workload not in below for one in asked) else self.measures

    def decides_by(self, name: str) -> bool:
        """Whether a measure is primary: the file says so, or it is the first one and the file says so of none."""
        named = [one.name for one in self.measures if one.primary]
        return name in (named or [one.name for one in self.compared_measures()[:1]])

    @property
    def first_target(self) -> TargetSpec | None:
        """The target of trials whose levels name none: the first one that no other stands on."""
        below = {name for spec in self.targets for name in self.beneath(spec)}
        return next((spec for spec in self.targets if spec.name not in below), next(iter(self.targets), None))

    def used_targets(self) -> tuple[TargetSpec, ...]:
        """The targets that the factor `target` names, else the first, and those that they stand on: no other is prepared."""
        wanted = next((list(factor.levels) for factor in self.factors if factor.path == "target"), None)
        if wanted is None:
            wanted = [self.first_target.name] if self.first_target else []
        for spec in (one for _ in self.targets for one in self.targets):  # as deep as there are targets
            if spec.name in wanted:
                wanted += [name for name in self.beneath(spec) if name not in wanted]
        return tuple(spec for spec in self.targets if spec.name in wanted)

    def load_hosts(self, workload: WorkloadSpec, levels: Mapping[str, Value] = EMPTY) -> tuple[str, ...]:
        """Names of the hosts that a workload's load comes from at these levels; client i is on host i mod their number."""
        return load_hosts(self.hosts, workload.hosts.get("load", ()), levels.get("hosts"))

    def clients(self, workload: WorkloadSpec, levels: Mapping[str, Value] = EMPTY) -> int:
        """How many clients a workload has at these levels, over all its hosts: one on each where the file gives no number."""
        count = levels.get("clients", workload.knobs.get("clients"))
        return count if isinstance(count, int) else len(self.load_hosts(workload, levels))

    def baselines(self, factor: Factor, level: Value) -> tuple[Value, ...]:
        """The levels that a level of the compared factor is held against."""
        earlier = factor.levels[: factor.levels.index(level)]
        return earlier if self.pairs is Pairs.ALL else earlier[:1]

    def implies(self, key: str) -> bool:
        """Whether the file says that this fact follows from the compared factor."""
        return any(key == one or (one.endswith("*") and key.startswith(one[:-1])) for one in self.implied)


def load_hosts(hosts: Iterable[HostSpec], named: tuple[str, ...], count: Value = None) -> tuple[str, ...]:
    """The hosts that are named, else all that may load, else `local`; with a count the first so many of them."""
    chosen = named or tuple(host.name for host in hosts if host.load) or ("local",)
    return chosen[:count] if isinstance(count, int) else chosen
