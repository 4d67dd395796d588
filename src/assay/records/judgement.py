"""What the audit makes of it: findings and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.evidence import Direction
from assay.records.experiment import Claim, Regime
from assay.records.run import HostRole, Outcome


class Scope(StrEnum):
    """What a rule is shown."""

    TRIAL = "trial"
    COMPARISON = "comparison"
    EXPERIMENT = "experiment"


class State(StrEnum):
    """What a rule says."""

    PASS = "pass"
    FAIL = "fail"
    UNVERIFIED = "unverified"
    NOT_APPLICABLE = "n/a"


class Severity(StrEnum):
    """What a failure does to the claim."""

    INVALIDATES = "invalidates"
    """The figure is not what is claimed. Never of noise, which changes a figure and leaves what it is."""
    QUALIFIES = "qualifies"
    """The figure may be another: BOUNDED with a bound, else TAINTED."""
    NOTES = "notes"


class Meaning(StrEnum):
    """What a finding tells the stages after the audit; explanations of a figure come first, in the order in which they speak."""

    UNFINISHED = "unfinished"
    HOLES = "holes"
    REDUCED = "reduced"
    """Compressed, deduplicated or zeros."""
    PAGE_CACHE = "page cache"
    OWN_WRITES = "own writes"
    CLIENT_CACHE = "client cache"
    SERVER_CACHE = "server cache"
    LOWER_CACHE = "lower cache"
    METADATA_CACHE = "metadata cache"
    NEVER_WRITTEN = "never written"
    NOT_FLUSHED = "not flushed"
    DIRTY = "dirty"
    EARLY_REPLY = "early reply"
    LINK_LIMIT = "link limit"
    """A declared limit or a link, reached where the rule passes."""
    QUOTA = "quota"
    CARRY_OVER = "carry-over"
    """Work of an earlier trial was still going on."""
    PAUSE = "pause"
    """For a long time nothing was done, and that time is in the figure."""
    UNEQUAL = "unequal"
    """One stream among several got far less than its share."""
    CONTRADICTORY = "contradictory"
    """Readings that cannot all be true."""
    ONE_MACHINE = "one machine"
    """Both ends of a network are on it."""
    FAILURES = "failures"
    """Operations that failed, or were not answered by what they asked for."""
    DIFFERENCES = "differences"
    """What differs between two arms besides the factor."""

    @property
    def explains(self) -> bool:
        """Whether it says what a figure really is."""
        limits = (Meaning.LINK_LIMIT, Meaning.QUOTA, Meaning.ONE_MACHINE, Meaning.FAILURES)
        courses = (Meaning.CARRY_OVER, Meaning.PAUSE, Meaning.UNEQUAL)
        return self not in (*limits, *courses, Meaning.CONTRADICTORY, Meaning.DIFFERENCES)

    @property
    def is_limiter(self) -> bool:
        """Whether it names what limits the figure."""
        return self in (Meaning.LINK_LIMIT, Meaning.QUOTA)


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Between which values the true figure lies, where a rule can say so."""

    low: float | None
    high: float | None
    unit: str

    def is_wider(self, factor: float) -> bool:
        """Whether its ends are further apart than a factor; one that is open on a side is a limit, and never is."""
        return self.low is not None and self.high is not None and self.high > max(0.0, self.low) * factor

    def is_far_from(self, value: float | None, factor: float) -> bool:
        """Whether a measured value lies outside, and by more than a factor."""
        if value is None:
            return False
        return (self.high is not None and value > factor * self.high) or (self.low is not None and factor * value < self.low)


class LimiterKind(StrEnum):
    """What kind of limit a figure reached."""

    RATE = "rate"
    """So many bytes or requests a second, of a device or a link."""
    CPU_QUOTA = "CPU quota"
    """Of a control group, which was stopped for it."""
    CPU_COUNT = "CPU count"
    """Fewer CPUs than threads that want to work at the same time."""


@dataclass(frozen=True, kw_only=True)
class Limiter:
    """A limit that a figure reached: of what, how much, and whether the experiment declares it."""

    kind: LimiterKind
    name: str
    """Of the device, link or control group; empty for a number of CPUs."""
    declared: bool
    amount: float | None = None
    unit: str = ""
    direction: Direction | None = None
    stops: int | None = None
    """How often a control group was stopped, and for which share of the time."""
    stopped_share: float | None = None


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one rule says about one subject."""

    subject: str
    """`run:0007/1:spool.create.ops_per_s`, `comparison:MEASURE:LEVEL` or `experiment`."""
    phase: str | None
    rule: str
    name: str
    state: State
    severity: Severity
    part: str
    """Part of the claim: tier, durability, load, regime, path, window, evidence, statistics, comparability, noise."""
    statement: str
    observed: Mapping[str, float | str | None] = field(default_factory=dict)
    threshold: Mapping[str, float | str | None] = field(default_factory=dict)
    bound: Bound | None = None
    relabel: str | None = None
    """What the number is instead, without a figure of this run: equal for runs that failed in the same way."""
    detail: str | None = None
    """The figures of this run that belong to the relabel."""
    evidence: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    advice: str | None = None
    host: str | None = None
    """The host that it is about; None where it is about several, or none."""
    role: HostRole | None = None
    """What that host is in the run, or those hosts are."""
    short: str = ""
    """`interval too wide`: what it found, for lists of causes."""
    meaning: Meaning | None = None
    limiter: Limiter | None = None
    """The limit that was reached, of rules that look for one."""
    observers: tuple[str, ...] = ()
    """Observers that give missing evidence of it and that run on request alone: `assay stat --observe NAME`."""

    @property
    def counts(self) -> bool:
        """Whether it failed and is more than a note."""
        return self.state is State.FAIL and self.severity is not Severity.NOTES

    @property
    def is_disturbance(self) -> bool:
        """Whether it is about the platform and leaves what the figure is: noise, or work of an earlier trial."""
        return self.part == "noise" or self.meaning is Meaning.CARRY_OVER


class VerdictState(StrEnum):
    """How far a number can be trusted; the order of the members is from worst to best, first match wins."""

    INVALID = "INVALID"
    TAINTED = "TAINTED"
    UNVERIFIED = "UNVERIFIED"
    BOUNDED = "BOUNDED"
    SOUND = "SOUND"


def worst(states: Iterable[VerdictState]) -> VerdictState:
    """The worst of the states; SOUND where there is none."""
    order = list(VerdictState)
    return min(states, key=order.index, default=VerdictState.SOUND)


class Nature(StrEnum):
    """What a number is, by the evidence."""

    NO_FIGURE = "no figure"
    """The run or the phase that should have given it is not there."""
    OTHER = "other than claimed"
    """Failed findings (`Label.because`) give its nature."""
    AS_SEEN = "as seen by the client"
    """No layer below the application confirms it, or none had to."""
    UNVERIFIED = "unverified"
    """As seen by the client: what was claimed beyond that lacks evidence (`Label.lacking`)."""
    STABLE_MEDIA = "on stable media"
    CLIENT_CACHE = "from the client's page cache"
    SERVER_CACHE = "from the server's cache"
    DEVICE_READ = "served by the device"
    DEVICE_WRITE = "taken by the device"
    COMPARISON = "comparison"


class Circumstance(StrEnum):
    """What an operation met, where that changes its figure several times over."""

    NEW_FILE = "new file"
    OVERWRITE = "overwrite"
    DISCARD = "with discard"
    NO_DISCARD = "without discard"


@dataclass(frozen=True, kw_only=True)
class Label:
    """What a number really is, as values: `answer.wording.labels` puts it in words."""

    nature: Nature
    operation: str = ""
    regime: Regime | None = None
    """The claimed regime where it belongs to the name of the number: cold, warm or steady."""
    circumstance: Circumstance | None = None
    """Of writes whether their files were new, of removals of data whether the mount discards their blocks."""
    device: str | None = None
    """The lowest device that moved bytes of this direction, where the claim is about a device."""
    flushed: bool = False
    """Whether the clock includes the flush, and no drain worth naming came after it."""
    drain_ns: float | None = None
    """The drain that was charged."""
    flush_ns: float = 0.0
    """The flush inside the clock, after the last operation, that was charged with it."""
    flushes: int = 0
    """How many flushes there were inside the clock."""
    undrained: float | None = None
    """The figure without drain and flush, in the unit of the verdict."""
    because: tuple[str, ...] = ()
    """Rules whose failed findings say what the number is instead, the most important first."""
    noted: str | None = None
    """The rule of a note that adds to an as-seen figure."""
    lacking: tuple[str, ...] = ()
    """Required rules without evidence."""
    limited_by: str | None = None
    """The rule whose passed finding names the limiter."""
    disturbed_by: str | None = None
    """The rule whose failed finding names a disturbance by the platform."""
    outcome: Outcome | None = None
    """How the run ended, where there is no figure."""
    error: str | None = None
    runs: tuple[tuple[VerdictState, int], ...] = ()
    """Of a comparison: how many of its runs have each verdict, from the worst."""

    @property
    def general(self) -> Label:
        """The label without what only one run's figures say: equal for runs that measured the same thing."""
        return replace(self, drain_ns=None, flush_ns=0.0, flushes=0, undrained=None, error=None)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The audit's word on one measure of a run, one comparison or one requirement."""

    subject: str
    """`run:0007/1:MEASURE` or `comparison:MEASURE:LEVEL`: what its findings are about."""
    run: str | None = None
    """`0007/1`; None of a comparison."""
    measure: str = ""
    claim: Claim
    value: float | None
    unit: str
    corrected: float | None
    """The figure with the drain charged or the cache share taken out, where a rule could compute it."""
    state: VerdictState
    label: Label
    """What the number really is."""
    bound: Bound | None
    findings: tuple[Finding, ...]

    @property
    def shown(self) -> VerdictState:
        """The state as it is shown: a figure that was only disturbed is TAINTED and never INVALID."""
        held = [one for one in self.findings if one.counts]
        disturbed = self.state is VerdictState.INVALID and held and all(one.is_disturbance for one in held)
        return VerdictState.TAINTED if disturbed else self.state

    @property
    def noise(self) -> tuple[Finding, ...]:
        """Failed findings of noise that count."""
        return tuple(one for one in self.findings if one.part == "noise" and one.counts)
