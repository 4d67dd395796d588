"""What each factor does to a measure: effects as ratios, on the evidence of a designed experiment."""

from __future__ import annotations

from collections.abc import Mapping

from assay.frozen import dataclass, field
from assay.records.estimates import Conclusion, Estimate, Exclusion
from assay.records.experiment import DesignKind, Value
from assay.records.judgement import VerdictState


@dataclass(frozen=True, kw_only=True)
class Step:
    """A factor that leaves its baseline for another level."""

    factor: str
    baseline: Value
    level: Value


@dataclass(frozen=True, kw_only=True)
class FactorEffect:
    """What one step does to a measure; of two steps: how many times larger the ratio of the one is where the other is taken."""

    steps: tuple[Step, ...]
    """One: the effect of a factor. Two: an interaction."""
    mixed_with: tuple[tuple[Step, ...], ...]
    """Effects that the design cannot tell from it: the ratio is their product."""
    ratio: Estimate | None
    """None where it cannot be told: a combination has no run that counts, or a value is 0."""
    conclusion: Conclusion
    p_value: float | None
    adjusted_p_value: float | None
    """By Holm, among all effects on all measures of the experiment."""
    within: tuple[float, float] | None
    """Of an interaction that is mixed with no other: the first factor's ratio at the second's baseline, and at its level."""
    detectable_share: float | None
    """Smallest effect that so many runs with this spread could have seen (80 % power)."""


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """One measure against every factor of a designed experiment."""

    measure: str
    design: DesignKind
    effects: tuple[FactorEffect, ...]
    """The largest first: of factors, then of pairs."""
    matters_share: float
    tested: int
    """Effects that were tested together, over all measures."""
    verdict: VerdictState
    """The worst of the runs that count."""
    excluded: Mapping[str, Exclusion] = field(default_factory=dict)
    """Run -> why it does not count."""
    empty: Mapping[str, Value] | None = None
    """The levels of the first combination without a run that counts; None where each has one."""
