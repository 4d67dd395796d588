"""Methods, exclusions and limiters in words."""

from __future__ import annotations

from collections.abc import Mapping

from assay.measures import percent, with_unit
from assay.records import DesignKind, Exclusion, ExclusionReason, Limiter, LimiterKind, Method

METHODS: Mapping[Method, str] = {
    Method.MEAN: "mean, t interval",
    Method.GEOMETRIC_MEAN: "geometric mean, t interval on logarithms",
    Method.MEDIAN: "median, order-statistic interval",
    Method.BATCH_MEANS: "mean, t interval of batch means",
    Method.PAIRED_GEOMETRIC: "paired by block, t interval on logarithms",
    Method.UNPAIRED_GEOMETRIC: "unpaired, Welch's t interval on logarithms",
    Method.PAIRED_TOTALS: "paired by block, ratio of totals, Fieller's interval",
    Method.UNPAIRED_TOTALS: "unpaired, ratio of totals, Fieller's interval",
    Method.PAIRED_MEDIANS: "paired by block, median of the ratios, order-statistic interval",
    Method.UNPAIRED_MEDIANS: "unpaired, ratio of medians, bootstrap (BCa) of runs",
    Method.NEIGHBOURS: "paired by block, neighbours interpolated by logarithm, t interval on logarithms",
    Method.EFFECT: "blocks removed, Welch-Satterthwaite t interval on logarithms",
    Method.SCALING_LAW: "Gunther's law, resampled residuals",
    Method.HIGHEST_POINT: "highest measured rate, between lower neighbours",
    Method.CROSSING_OF_RATIOS: "ratios paired by block, linear interpolation",
    Method.CROSSING_OF_MEANS: "means, linear interpolation",
    Method.UTILISATION_LAW: "utilisation law, geometric mean with t interval",
    Method.ASYMPTOTIC_BOUNDS: "asymptotic bounds, Welch's t interval on logarithms",
    Method.SERVICE_DEMAND: "non-negative least squares over mixes, bootstrap of trials",
}
DESIGNS: Mapping[DesignKind, str] = {
    DesignKind.ONE_AT_A_TIME: "other factors at their baseline",
    DesignKind.FULL: "mean over all levels of the other factors",
    DesignKind.FRACTIONAL: "mean over the fraction's levels of the other factors",
    DesignKind.SCREENING: "mean over the screened levels of the other factors",
}
"""What the other factors of a design are when an effect is estimated."""


def method(one: Method) -> str:
    """Describe how a figure and its interval are computed."""
    return METHODS[one]


def exclusion(one: Exclusion) -> str:
    """Describe why a run does not count."""
    if one.reason is ExclusionReason.OUTCOME:
        return ": ".join(part for part in (one.outcome.value if one.outcome else "", one.error) if part)
    if one.reason is ExclusionReason.REPEATED:
        return f"repeated as attempt {one.attempt}"
    if one.reason is ExclusionReason.NOT_POSITIVE:
        return f"INVALID: figure {one.value:g}, must be above 0"
    if one.reason is ExclusionReason.INVALID:
        rules = ", ".join(f"{name} ({rule})" for rule, name in one.rules.items())
        return f"INVALID: {rules}" if rules else "INVALID"
    others = {
        ExclusionReason.UNREADABLE: one.error or "evidence unreadable",
        ExclusionReason.NO_PARTNER: "no valid run of the other arm in its block",
    }
    return others.get(one.reason, "no figure")


def limiter(one: Limiter) -> str:
    """Name a limit that was reached: `limited by the declared 50 MB/s of loop0`."""
    declared = "declared " if one.declared else ""
    if one.kind is LimiterKind.RATE:
        return f"limited by the {declared}{with_unit(one.amount or 0.0, one.unit)} of {one.name}"
    if one.kind is LimiterKind.CPU_QUOTA:
        stopped = f" ({one.stops:,} stops, {percent(one.stopped_share or 0.0)} of the time)" if one.stops else ""
        return f"limited by the {declared}CPU quota of control group {one.name}{stopped}"
    return f"limited by {one.amount:g} {'CPU' if one.amount == 1 else 'CPUs'}"
