"""Finds comparisons of numbers that are already relative or have no unit: their ratio means nothing alone.

The rule reads the unit of the figure. For a number that a regular expression reads, it reads the expression. The words `x`, `%`,
`faster`, `speedup`, `times`, `ratio`, `relative`, `normalised`, `index` or `score` mark a relative number.
It is always a note, since the ratio may be right. Otherwise the rule passes and gives the absolute values of the arms.
An expression without such a word counts as absolute.
"""

from __future__ import annotations

import re

from assay import measures
from assay.catalogue import ComparisonCase, Rule
from assay.measures.text import level as level_text
from assay.records import Finding, Scope, Severity, State, Value
from assay.rulekit import pairs
from assay.rulekit.findings import found, shortened
from assay.units import Unit

WORDS = "faster|slower|speed-?ups?|times|ratio|relative|normali[sz]ed|index|score"
RELATIVE = re.compile(rf"\)[ ?*+\\s]*[x×%](?!\w)|\b({WORDS})\b", re.IGNORECASE)
"""What stands in an expression that reads a number which is relative to another."""


def applies(case: ComparisonCase) -> str | None:
    """Comparisons of runs that count."""
    return None if case.baseline and case.candidate else "one arm has no valid run"


def check(case: ComparisonCase) -> Finding:
    """A note where the figure has no unit or is a ratio already; else the absolute values that the ratio stands on."""
    kind, read = measures.figure_kind(case.measure.figure), expression(case)
    absolute = "; ".join(values_of(case, level) for level in (case.comparison.baseline, case.comparison.candidate))
    relative = read is not None and RELATIVE.search(read) is not None
    if not relative and kind is not None and kind.unit is not Unit.NONE:
        return found(RULE, case, State.PASS, f"Absolute values: {absolute}.")
    why = f"`{shortened(read or '')}` reads a relative number" if relative else "The figure has no unit"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{why} ({absolute}): its base, version and spread are not in the notebook.",
        relabel="a ratio of relative numbers" if relative else "a ratio of numbers without a unit",
    )


def expression(case: ComparisonCase) -> str | None:
    """The regular expression that reads the number; None where it is not read so, or has a unit."""
    levels, name = case.baseline[0][0].trial.levels, case.measure.workload
    knobs: dict[str, Value] = dict(next((spec.knobs for spec in case.experiment.workloads if spec.name == name), {}))
    knobs |= {path.removeprefix(f"{name}."): level for path, level in levels.items() if path.startswith(f"{name}.")}
    pattern = knobs.get("pattern")
    return str(pattern) if knobs.get("parse") == "regex" and pattern is not None and not knobs.get("unit") else None


def values_of(case: ComparisonCase, level: Value) -> str:
    """`98.2 MB/s to 103 MB/s of ext4 (5 runs)`."""
    values = list(pairs.arm(case, level, pairs.values(case)).values())
    kind = measures.figure_kind(case.measure.figure)
    ends = [measures.with_unit(end, kind.unit) if kind else f"{end:.4g}" for end in dict.fromkeys((min(values), max(values)))]
    arm = level_text(case.experiment, case.comparison.factor, level)
    return f"{' to '.join(ends)} of {arm} ({len(values)} run{'s' * (len(values) != 1)})"


RULE = Rule(
    id="S12",
    name="relative-only",
    scope=Scope.COMPARISON,
    severity=Severity.NOTES,
    part="statistics",
    applies=applies,
    check=check,
    wrong='"1.8 times faster" than which version, on which machine, and 1.8 ms against 1 ms or 18 hours against 10? A tool '
    "that prints its speed against a baseline of its own hides the baseline, its spread and its age. Two such numbers compared "
    "give a ratio of ratios.",
    alternatives=(
        "A share by design (of cache hits, of errors). Name the figure so, and the quantity that it is a share of.",
        "A count whose unit the tool names elsewhere. Give it a unit, or use another expression.",
    ),
    advice="Read the absolute number with its unit from the tool's output, and let Assay compute the ratio. Then baseline, "
    "version and spread are in the notebook.",
    sources=(
        "Hoefler and Belli, SC 2015: scientific benchmarking, rule 1: a speedup needs its base in absolute numbers",
        "Heiser: systems benchmarking crimes, on relative numbers only and on no proper baseline",
    ),
)
