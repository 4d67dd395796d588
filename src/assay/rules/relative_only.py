"""Finds comparisons of numbers that are relative already, or have no unit: a ratio of them says nothing of its own.

Evidence: the unit of the figure, and for a number that a regular expression reads in a foreign tool's output, the expression:
`([0-9.]+)x faster` reads how the tool stands to a baseline of its own, which is not in the notebook. Every comparison of figures
with a unit has its absolute values beside it.
"""

from __future__ import annotations

import re

from assay import measures
from assay.catalogue import Case, ComparisonCase, Rule
from assay.measures.levels import level as level_text
from assay.records import Finding, Scope, Severity, State, Value
from assay.rulekit import pairs
from assay.rulekit.findings import found, shortened
from assay.units import Unit

WORDS = "faster|slower|speed-?ups?|times|ratio|relative|normali[sz]ed|index|score"
RELATIVE = re.compile(rf"\)[ ?*+\\s]*[x×%](?!\w)|\b({WORDS})\b", re.IGNORECASE)
"""What stands in an expression that reads a number which is relative to another."""
ALTERNATIVES = (
    "A share that is meant as one (of cache hits, of errors): name the figure so, and what it is a share of.",
    "A count of things that the tool names elsewhere: give it a unit, or another expression.",
)
ADVICE = (
    "Read the absolute number with its unit from the tool's output, and let Assay make the ratio: then its baseline, version and "
    "spread are in the notebook."
)


def applies(case: Case) -> str | None:
    """Comparisons of runs that count."""
    if not isinstance(case, ComparisonCase):
        return "it judges comparisons"
    return None if case.baseline and case.candidate else "no run of one arm counts"


def check(case: Case) -> Finding:
    """A note where the figure has no unit or is a ratio already; else the absolute values that the ratio stands on."""
    assert isinstance(case, ComparisonCase)
    kind, read = measures.figure_kind(case.measure.figure), expression(case)
    absolute = "; ".join(told(case, level) for level in (case.comparison.baseline, case.comparison.candidate))
    relative = read is not None and RELATIVE.search(read) is not None
    if not relative and kind is not None and kind.unit is not Unit.NONE:
        return found(RULE, case, State.PASS, f"The ratio stands on {absolute}.")
    why = f"The number that `{shortened(read or '')}` reads is relative already" if relative else "The figure has no unit"
    return found(
        RULE,
        case,
        State.FAIL,
        f"{why} ({absolute}): to what, in what version, and how far its own baseline scattered is not in the notebook.",
        relabel="a ratio of relative numbers" if relative else "a ratio of numbers without a unit",
    )


def expression(case: ComparisonCase) -> str | None:
    """The regular expression that reads the number; None where it is not read so, or has a unit."""
    levels, name = case.baseline[0][0].trial.levels, case.measure.workload
    knobs: dict[str, Value] = dict(next((spec.knobs for spec in case.experiment.workloads if spec.name == name), {}))
    knobs |= {path.removeprefix(f"{name}."): level for path, level in levels.items() if path.startswith(f"{name}.")}
    pattern = knobs.get("pattern")
    return str(pattern) if knobs.get("parse") == "regex" and pattern is not None and not knobs.get("unit") else None


def told(case: ComparisonCase, level: Value) -> str:
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
    needs=(),
    applies=applies,
    check=check,
    alternatives=ALTERNATIVES,
    advice=ADVICE,
    sources=(
        "Hoefler and Belli, SC 2015: scientific benchmarking, rule 1: a speedup needs its base in absolute numbers",
        "Heiser: systems benchmarking crimes, on relative numbers only and on no proper baseline",
    ),
)
