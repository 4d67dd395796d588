"""What is made of it: findings, verdicts, estimates, cells, comparisons, requirement results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.experiment import Claim, Regime, Value
from assay.records.run import Outcome


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
    QUALIFIES = "qualifies"
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
    DIFFERENCES = "differences"
    """What differs between two arms besides the factor."""

    @property
    def explains(self) -> bool:
        """Whether it says what a figure really is."""
        return self not in (Meaning.LINK_LIMIT, Meaning.QUOTA, Meaning.CARRY_OVER, Meaning.DIFFERENCES)

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
    short: str = ""
    """`interval too wide`: what it found, for lists of causes."""
    meaning: Meaning | None = None

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


@dataclass(frozen=True, kw_only=True)
class Label:
    """What a number really is, as values: `answer.wording.labels` puts it in words."""

    nature: Nature
    operation: str = ""
    regime: Regime | None = None
    """The claimed regime where it belongs to the name of the number: cold, warm or steady."""
    device: str | None = None
    """The lowest device that moved bytes of this direction, where the claim is about a device."""
    flushed: bool = False
    """Whether the clock includes the flush, and no drain worth naming came after it."""
    drain_ns: float | None = None
    """The drain that was charged."""
    undrained: float | None = None
    """The figure without that drain, in the unit of the verdict."""
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
        return replace(self, drain_ns=None, undrained=None, error=None)


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


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with its interval; low and high are None where n is too small for one."""

    value: float
    low: float | None
    high: float | None
    confidence: float
    unit: str
    n: int
    method: str


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measure at one combination of levels."""

    measure: str
    levels: Mapping[str, Value]
    estimate: Estimate | None
    values: Mapping[str, float]
    """Run (`0007/1`) -> value, of the runs that count."""
    excluded: Mapping[str, str] = field(default_factory=dict)
    """Run -> why it does not count."""
    low: float | None = None
    high: float | None = None
    """Smallest and largest value."""
    unfiltered: Estimate | None = None
    """The estimate with the runs that are excluded as INVALID counted in; None where there are none."""


class Conclusion(StrEnum):
    """The four answers of a comparison (STATISTICS 2.5)."""

    MATTERS = "different and matters"
    IMMATERIAL = "different but immaterial"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Ratio of candidate to baseline of one measure under fixed conditions."""

    measure: str
    factor: str
    baseline: Value
    candidate: Value
    within: Mapping[str, Value]
    ratio: Estimate | None
    conclusion: Conclusion
    statement: str
    matters_share: float
    detectable_share: float | None
    """Smallest difference that this many pairs with this spread could have seen (80 % power)."""
    provable_share: float | None
    """Smallest true difference that could be proved to matter."""
    interleaved: bool = True
    excluded: Mapping[str, str] = field(default_factory=dict)
    p_value: float | None = None
    adjusted_p_value: float | None = None
    adjusted_by: str = "Holm"
    """Whose procedure adjusted it."""
    looked_at: int | None = None
    """Contrasts of the experiment that were tested together; None where an older version did not say."""
    unfiltered: Estimate | None = None
    """The ratio with the runs that are excluded as INVALID counted in; None where there are none."""
    scale_up: Estimate | None = None
    """Share of so many times the rate that so many times the clients (or workers) gave; None where nothing is counted."""
    scale_up_limit: str | None = None
    """What was at its limit, so that `scale_up` is a lower bound for the software; None where nothing is known to be."""


@dataclass(frozen=True, kw_only=True)
class Trough:
    """A level of a numeric factor at which a measure is worse than at the levels on both sides, beyond noise."""

    measure: str
    levels: Mapping[str, Value]
    """Of the cell, those of all factors."""
    factor: str
    """Along which its neighbours lie."""
    neighbours: tuple[Value, Value]
    depth: Estimate
    """Ratio of the cell to what its neighbours give, interpolated; below 1, or above it where lower is better."""
    p_value: float
    adjusted_p_value: float
    statement: str


class ScalingKind(StrEnum):
    """What was asked of a curve over a number of clients, threads or requests."""

    LAW = "law"
    """How it grows, and where it peaks."""
    BREAK_EVEN = "break-even"
    """Where one arm stops being better than the other."""
    SATURATION = "saturation"
    """Where a share of a resource is used up."""
    KNEE = "knee"
    """Where what one alone does, times their number, meets what a resource allows."""
    OBJECTIVE = "objective"
    """Up to where a required bound is kept."""


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """One answer about a measure over a count."""

    kind: ScalingKind
    measure: str
    factor: str
    """What is counted: `clients`."""
    within: Mapping[str, Value]
    """The levels of the other factors."""
    at: Estimate | None
    """The count of the peak, the break-even or the saturation; None where there is none in the measured range."""
    lowest: float
    highest: float
    """The measured range."""
    statement: str
    about: str = ""
    """What is used up or bounds (`16 MB/s read from loop1`), or the requirement that is kept; empty for other kinds."""


class RequirementState(StrEnum):
    """Whether a requirement holds."""

    MET = "met"
    NOT_MET = "not met"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class RequirementResult:
    """One requirement at one combination of levels."""

    measure: str
    text: str
    levels: Mapping[str, Value]
    estimate: Estimate | None
    state: RequirementState
    verdict: VerdictState
