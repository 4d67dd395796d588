"""Finds arms whose runs form two groups, so that their mean describes no run.

The rule applies the dip test of Hartigan and Hartigan to the logarithms of each arm's values (2.5 % for each arm). The split
with the smallest sum of squares gives the modes.
Modes further apart than the smallest relevant effect qualify the comparison. The bound spans the combinations of the modes.
Fewer than `least_runs` runs in each arm are n/a. Closer modes change no decision.
The interval of the mean remains valid for two modes; the mean itself describes no run.
Normal noise fails in 2 to 3 % of comparisons with 5 to 10 runs per arm. Two equal groups 6 standard deviations apart are found
in 39 % with 6 runs, 52 % with 10 and 81 % with 20.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from assay import measures
from assay.catalogue import ComparisonCase, Rule
from assay.measures.text import level as level_text
from assay.records import Bound, Finding, Scope, Severity, State, Value
from assay.rulekit import pairs
from assay.rulekit.findings import found
from assay.statistics.dip_test import Modes, has_several_modes, modes

ARMS = ("baseline", "candidate")


def applies(case: ComparisonCase) -> str | None:
    """Comparisons of positive figures with enough runs to show two modes."""
    if any(value <= 0 for value in pairs.values(case).values()):
        return "a figure is 0, so ratios are undefined"
    least = int(case.thresholds["least_runs"])
    if all(len(logarithms(case, level)) < least for level in (case.comparison.baseline, case.comparison.candidate)):
        return f"fewer than {least} runs per arm cannot show two modes"
    return None


def check(case: ComparisonCase) -> Finding:
    """Fail where the runs of an arm have two modes further apart than what matters."""
    arms = {level: logarithms(case, level) for level in (case.comparison.baseline, case.comparison.candidate)}
    least, apart = int(case.thresholds["least_runs"]), case.comparison.matters_share
    split = {level: groups for level, logs in arms.items() if (groups := two(logs, least, apart)) is not None}
    observed = {f"{which}_runs": float(len(logs)) for which, logs in zip(ARMS, arms.values(), strict=True)}
    if not split:
        text = f"One mode per arm, or modes less than {measures.percent(apart)} apart."
        return found(RULE, case, State.PASS, text, observed=observed)
    for which, level in zip(ARMS, arms, strict=True):
        if (groups := split.get(level)) is not None:
            observed |= {f"{which}_low": math.exp(groups.low), f"{which}_high": math.exp(groups.high)}
            observed[f"{which}_upper_share"] = groups.upper_share
    groups_by_arm = "; ".join(groups_of(case, level, groups) for level, groups in split.items())
    return found(
        RULE,
        case,
        State.FAIL,
        f"The mean describes no run: {groups_by_arm}.",
        observed=observed,
        bound=bound(case, arms, split),
        relabel="runs in two groups",
    )


def logarithms(case: ComparisonCase, level: Value) -> list[float]:
    """The logarithms of one arm's values."""
    return [math.log(value) for value in pairs.arm(case, level, pairs.values(case)).values()]


def two(logs: list[float], least: int, apart: float) -> Modes | None:
    """The two modes of an arm, where it has them and they are further apart than this share."""
    if len(logs) < least or not has_several_modes(logs):
        return None
    groups = modes(logs)
    return groups if math.expm1(groups.high - groups.low) > apart else None


def groups_of(case: ComparisonCase, level: Value, groups: Modes) -> str:
    """`the 5 runs of xfs are in two groups, 3 near 100 MB/s and 2 near 140 MB/s`: of so few a share would say too much."""
    kind = measures.figure_kind(case.measure.figure)
    low, high = (
        measures.with_unit(math.exp(centre), kind.unit) if kind else f"{math.exp(centre):.3g}"
        for centre in (groups.low, groups.high)
    )
    runs = len(logarithms(case, level))
    upper = round(groups.upper_share * runs)
    arm = level_text(case.experiment, case.comparison.factor, level)
    return f"the {runs} runs of {arm} form two groups, {runs - upper} near {low} and {upper} near {high}"


def bound(case: ComparisonCase, arms: Mapping[Value, list[float]], split: Mapping[Value, Modes]) -> Bound | None:
    """The ratio between the modes that are furthest apart and nearest: what single runs of the two arms show."""
    ends = {}
    for level, logs in arms.items():
        if not logs:
            return None
        centre = sum(logs) / len(logs)
        ends[level] = (split[level].low, split[level].high) if level in split else (centre, centre)
    first, second = ends[case.comparison.baseline], ends[case.comparison.candidate]
    return Bound(low=math.exp(second[0] - first[1]), high=math.exp(second[1] - first[0]), unit="ratio")


RULE = Rule(
    id="S03",
    name="multimodal",
    scope=Scope.COMPARISON,
    severity=Severity.QUALIFIES,
    part="statistics",
    short="runs in two groups",
    applies=applies,
    check=check,
    wrong="Half of the runs take 100 ms and half 140 ms, depending on the memory node, the layout or the path. The text "
    '"120 ms, plus or minus 14" describes no run, and a second experiment finds 110 or 130. The hidden factor matters more '
    "than the compared one, and remains hidden.",
    alternatives=(
        "Two kinds of work in one figure (reads and writes). Measure each by itself.",
        "One or two outliers do not count as a mode. S08 names them.",
        "A drift in one step: the groups are early and late runs (S04).",
    ),
    advice="Report the modes with their shares instead of a mean. Find the common property of one group: layout, memory node, "
    "boot, a limit that comes and goes. Make it a factor, or fix it.",
    sources=(
        "Hartigan and Hartigan, Annals of Statistics 13 (1985) 70: the dip test of unimodality",
        "Hoefler and Belli, SC 2015: scientific benchmarking of parallel computing systems",
        "Maricq et al., OSDI 2018: Taming performance variability",
    ),
)
