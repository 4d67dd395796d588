"""What the analysis makes of runs: estimates, cells, comparisons, dips, requirement results, effects. Values, no sentence."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from assay.frozen import dataclass, field
from assay.records.experiment import DesignKind, RequirementKind, Value
from assay.records.judgement import Bound, Limiter, VerdictState
from assay.records.run import Outcome


class Method(StrEnum):
    """How a figure and its interval are computed."""

    MEAN = "mean"
    """With a t interval."""
    GEOMETRIC_MEAN = "geometric mean"
    """With a t interval on logarithms."""
    MEDIAN = "median"
    """With an order-statistic interval."""
    BATCH_MEANS = "batch means"
    """The mean of a time series, with the t interval of its batch means."""
    PAIRED_GEOMETRIC = "paired geometric means"
    """The ratio of two arms, pair by pair of one block, with a t interval on logarithms."""
    PAIRED_PREPARATIONS = "paired preparations"
    """The same of the means of a duet's preparations, pair by pair."""
    SIGNED_RANKS = "signed ranks"
    """The typical ratio of pairs (Hodges and Lehmann), with the interval of Wilcoxon's test."""
    UNPAIRED_GEOMETRIC = "unpaired geometric means"
    """The same of arms that were measured apart, with Welch's t interval."""
    PAIRED_TOTALS = "paired totals"
    """The ratio of the arithmetic means, with Fieller's interval."""
    UNPAIRED_TOTALS = "unpaired totals"
    PAIRED_MEDIANS = "paired medians"
    """The median of the ratios, with an order-statistic interval."""
    UNPAIRED_MEDIANS = "unpaired medians"
    """The ratio of the medians, with a bootstrap (BCa) of runs."""
    NEIGHBOURS = "neighbours"
    """The ratio to the neighbours, interpolated by logarithm, pair by pair, with a t interval on logarithms."""
    EFFECT = "effect"
    """A contrast of a design with its blocks taken out, with a Welch-Satterthwaite t interval on logarithms."""
    SCALING_LAW = "scaling law"
    """The peak of Gunther's law, with the interval of resampled residuals."""
    HIGHEST_POINT = "highest point"
    """The number with the highest rate, between its neighbours that are below it beyond noise."""
    CROSSING_OF_RATIOS = "crossing of ratios"
    """Where ratios that are paired by block and joined by lines pass 1."""
    CROSSING_OF_MEANS = "crossing of means"
    """Where means that are joined by lines pass a level."""
    UTILISATION_LAW = "utilisation law"
    """Rate over used share, geometric mean with a t interval."""
    ASYMPTOTIC_BOUNDS = "asymptotic bounds"
    """Where two bounds meet, with Welch's t interval on logarithms."""
    SERVICE_DEMAND = "service demand"
    """Non-negative least squares of use over rates, with the interval of trials drawn again."""

    @property
    def paired(self) -> bool:
        """Whether two arms are compared pair by pair."""
        return self in (Method.PAIRED_GEOMETRIC, Method.PAIRED_PREPARATIONS, Method.PAIRED_TOTALS, Method.PAIRED_MEDIANS)

    @property
    def unpaired(self) -> bool:
        """Whether two arms are compared that were measured apart."""
        return self in (Method.UNPAIRED_GEOMETRIC, Method.UNPAIRED_TOTALS, Method.UNPAIRED_MEDIANS)


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A figure with the interval of what was measured; low and high are None where n is too small for one."""

    value: float
    low: float | None
    high: float | None
    confidence: float
    unit: str
    n: int
    method: Method
    range: Bound | None = None
    """The range of what is true, by the bounds of the runs (Imbens and Manski); None where no run has a bound, or one has none
    that it needs. An end that is None is open."""

    @property
    def sure(self) -> tuple[float | None, float | None]:
        """What a decision may rest on: the range of what is true where there is one, else the interval of what was measured."""
        return (self.low, self.high) if self.range is None else (self.range.low, self.range.high)


class ExclusionReason(StrEnum):
    """Why a run does not count."""

    OUTCOME = "outcome"
    """It did not finish."""
    REPEATED = "repeated"
    """A later attempt counts."""
    NO_FIGURE = "no figure"
    UNREADABLE = "unreadable"
    """Its evidence cannot be read."""
    NOT_POSITIVE = "not positive"
    """A rate or a time that is not above 0: no rule is needed to find it INVALID."""
    INVALID = "invalid"
    """Rules found it INVALID."""
    NOISE = "noise"
    """Noise disturbed it, and there are enough runs that none did."""
    NO_PARTNER = "no partner"
    """The run of the other arm in its block does not count."""


@dataclass(frozen=True, kw_only=True)
class Exclusion:
    """Why one run does not count, with what belongs to the reason."""

    reason: ExclusionReason
    outcome: Outcome | None = None
    error: str = ""
    """What ended the run, or what is wrong with its evidence, in the words of whoever refused it."""
    attempt: int | None = None
    """That counts, or came, instead."""
    value: float | None = None
    rules: Mapping[str, str] = field(default_factory=dict)
    """Id -> name of the rules that found it INVALID, or disturbed."""
    disturbed: bool = False
    """Whether it was disturbances alone, which leave what the figure is."""

    @property
    def invalid(self) -> bool:
        """Whether the run was measured and its figure cannot be believed."""
        return self.reason in (ExclusionReason.INVALID, ExclusionReason.NOT_POSITIVE)

    @property
    def spoils(self) -> bool:
        """Whether what struck the run could have struck those that count: all but noise, a repeat, and a stop by hand."""
        failed = self.attempt is None and self.outcome in (Outcome.FAILED, Outcome.PARTIAL)
        return (not self.disturbed and (self.invalid or failed)) or self.reason is ExclusionReason.UNREADABLE

    @property
    def measured(self) -> bool:
        """Whether the run has a figure that is left out for what rules found."""
        return self.invalid or self.reason is ExclusionReason.NOISE


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measure at one combination of levels."""

    measure: str
    levels: Mapping[str, Value]
    estimate: Estimate | None
    values: Mapping[str, float]
    """Run (`0007/1`) -> value, of the runs that count."""
    excluded: Mapping[str, Exclusion] = field(default_factory=dict)
    """Run -> why it does not count."""
    low: float | None = None
    high: float | None = None
    """Smallest and largest value."""
    unfiltered: Estimate | None = None
    """The estimate with the runs that are excluded as INVALID or for noise counted in; None where there are none."""
    verdict: VerdictState | None = None
    """The worst of the runs that count; worse where others are INVALID or failed, or the range is wide. None: not judged."""

    @property
    def survivors(self) -> bool:
        """Whether the runs that count are what others of the same combination left: those are INVALID, or did not finish."""
        return bool(self.values) and any(one.spoils for one in self.excluded.values())


class Conclusion(StrEnum):
    """The four answers of a comparison (STATISTICS 2.5)."""

    MATTERS = "different and matters"
    IMMATERIAL = "different but immaterial"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"


class Adjustment(StrEnum):
    """Whose procedure adjusts the p-values of several comparisons."""

    HOLM = "Holm"
    DUNNETT = "Dunnett"
    HSU = "Hsu"
    BENJAMINI = "Benjamini-Yekutieli"


@dataclass(frozen=True, kw_only=True)
class TimeDifference:
    """Where the time of two arms differs: what a state took of each operation, MB or run, candidate less baseline, by pairs."""

    state: str
    process: str
    """The process that was in it most; empty where several were."""
    baseline_ns: float
    candidate_ns: float
    """Means over the pairs."""
    difference_ns: float
    low_ns: float
    high_ns: float
    """95 % interval."""
    whole_ns: float
    """What all states together differ by."""
    n: int
    """Pairs."""
    each: str = "operation"
    """What the times are of: `operation`, `MB`, or `run` where a tool told neither how many nor at what rate."""


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
    matters_share: float
    detectable_share: float | None
    """Smallest difference that this many pairs with this spread could have seen (80 % power)."""
    provable_share: float | None
    """Smallest true difference that could be proved to matter."""
    needed: int | None = None
    """Blocks in all after which a difference that matters is shown (80 % power), by this spread; None of what is decided."""
    needed_as_seen: int | None = None
    """The same for a difference as large as the one seen, where that would matter and is not shown."""
    of_every_pair: bool = False
    """Whether every two levels are held against each other, so that the baseline may be any earlier level."""
    interleaved: bool = True
    baseline_sittings: int = 1
    """Of arms that were measured apart: so many sittings of the baseline, each of whose intervals the ratio's one holds."""
    excluded: Mapping[str, Exclusion] = field(default_factory=dict)
    p_value: float | None = None
    adjusted_p_value: float | None = None
    adjusted_by: Adjustment = Adjustment.HOLM
    tested: int | None = None
    """Comparisons of the experiment that were tested together; None where an older version did not count them."""
    secondary: bool = False
    """Whether it is of a measure that the experiment does not decide by: false discoveries are held at 5 % among all of these."""
    unfiltered: Estimate | None = None
    """The ratio with the runs that are excluded as INVALID or for noise counted in; None where there are none."""
    typical: Estimate | None = None
    """The ratio of the typical pair, which few disturbed pairs do not move; None of few pairs, and where nothing is paired."""
    parallel_efficiency: Estimate | None = None
    """The ratio of the rates over the ratio of the clients (or workers); None where the factor counts nothing."""
    limiter: Limiter | None = None
    """What the larger load reached, so that the efficiency is not that of the software; None where nothing is known to be."""
    has_zero: bool = False
    """Whether both arms have runs that count and there is no ratio, since a value of them is not above 0."""
    time: TimeDifference | None = None
    """The part of the time that differs most; None where none surely does, or nobody looked."""

    @property
    def id(self) -> str:
        """`comparison:MEASURE:CANDIDATE[/BASELINE][:FACTOR=LEVEL,...]`: the subject of its verdict and findings."""
        within = ",".join(f"{path}={level}" for path, level in self.within.items())
        arms = f"{self.candidate}/{self.baseline}" if self.of_every_pair else str(self.candidate)
        return f"comparison:{self.measure}:{arms}" + (f":{within}" if within else "")


@dataclass(frozen=True, kw_only=True)
class Rank:
    """A level of the compared factor among all of them."""

    level: Value
    estimate: Estimate
    may_be_best: bool
    """Whether it is not ruled out as the best (Hsu); always so where nothing could be tested."""


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """The levels of the compared factor by one measure under fixed conditions, the best first."""

    measure: str
    factor: str
    within: Mapping[str, Value]
    ranks: tuple[Rank, ...]
    ahead: Comparison
    """The best against the second best."""

    @property
    def leaders(self) -> tuple[Value, ...]:
        """The levels that could be the best, the best first; none where no level is ruled out."""
        found = tuple(one.level for one in self.ranks if one.may_be_best)
        return found if len(found) < len(self.ranks) else ()

    @property
    def enough(self) -> tuple[Value, Value] | None:
        """Of numbers the smallest that could be the best, and the largest of all; None where no larger one could be as good."""
        every = [one.level for one in self.ranks if isinstance(one.level, int | float) and not isinstance(one.level, bool)]
        leading = [level for level in every if level in self.leaders]
        if len(every) < len(self.ranks) or len(leading) < 2:
            return None
        return min(leading), max(every)


@dataclass(frozen=True, kw_only=True)
class Dip:
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


class RequirementState(StrEnum):
    """Whether a requirement holds."""

    MET = "met"
    NOT_MET = "not met"
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class RequirementResult:
    """One requirement at one combination of levels."""

    measure: str
    kind: RequirementKind
    text: str
    """As the file has it: `<= 50 ms`."""
    levels: Mapping[str, Value]
    estimate: Estimate | None
    state: RequirementState
    verdict: VerdictState


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
