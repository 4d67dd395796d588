"""What the audit makes of it: findings and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.evidence import Direction
from assay.records.experiment import Claim


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


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Between which values the true figure lies, where a rule can say so."""

    low: float | None
    high: float | None
    unit: str


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
    evidence: tuple[str, ...] = ()
    alternatives: tuple[str, ...] = ()
    advice: str | None = None
    limiter: Limiter | None = None
    """The limit that was reached, of rules that look for one."""


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


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The audit's word on one measure of a run, one comparison or one requirement."""

    subject: str
    claim: Claim
    value: float | None
    unit: str
    corrected: float | None
    """The figure with the drain charged or the cache share taken out, where a rule could compute it."""
    state: VerdictState
    label: str
    """What the number really is, in words."""
    bound: Bound | None
    findings: tuple[Finding, ...]
