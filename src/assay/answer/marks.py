"""Records in words that a reader without the manual understands: measures, claims, levels, verdicts."""

from __future__ import annotations

from collections.abc import Mapping

from assay import measures
from assay.answer.wording.names import figure, measure, operation
from assay.measures.text import level, levels
from assay.records import Claim, Conclusion, RequirementState, Tier, VerdictState

__all__ = [
    "CONCLUSION_CLASS",
    "HOLLOW",
    "MEANING",
    "NOT_COUNTED",
    "REQUIREMENT_MARKS",
    "SHAPES",
    "bound",
    "claim",
    "count",
    "figure",
    "level",
    "levels",
    "lower_is_better",
    "measure",
    "operation",
]

MEANING: Mapping[VerdictState, str] = {
    VerdictState.SOUND: "the figure is what it claims to be",
    VerdictState.BOUNDED: "the true figure lies within the given bounds",
    VerdictState.UNVERIFIED: "evidence is missing",
    VerdictState.TAINTED: "something disturbed the figure",
    VerdictState.INVALID: "the figure is not what it claims to be",
}
"""From best to worst, as shown."""

SHAPES: Mapping[VerdictState, str] = {
    VerdictState.SOUND: "M0,-1A1,1,0,1,1,0,1A1,1,0,1,1,0,-1Z",
    VerdictState.BOUNDED: "M0,-1.15L1.15,0L0,1.15L-1.15,0Z",
    VerdictState.UNVERIFIED: "M0,-1A1,1,0,1,1,0,1A1,1,0,1,1,0,-1Z",
    VerdictState.TAINTED: "M0,-1.1L1.1,0.9L-1.1,0.9Z",
    VerdictState.INVALID: "M-0.9,-0.9L0.9,0.9M0.9,-0.9L-0.9,0.9",
}
"""One path per state, in a square from -1 to 1; the same in badges and charts."""

NOT_COUNTED = "M-0.95,-0.95H0.95V0.95H-0.95ZM-0.95,0.95L0.95,-0.95"
"""The mark of a run that does not count, whatever its verdict: a square that is struck out."""

HOLLOW = frozenset({VerdictState.UNVERIFIED, VerdictState.TAINTED, VerdictState.INVALID})
"""States whose mark is drawn as an outline: doubtful at a glance, without colour."""

REQUIREMENT_MARKS: Mapping[RequirementState, str] = {
    RequirementState.MET: "✓",
    RequirementState.NOT_MET: "✗",
    RequirementState.UNDECIDED: "?",
}

CONCLUSION_CLASS: Mapping[Conclusion, str] = {
    Conclusion.MATTERS: "matters",
    Conclusion.IMMATERIAL: "immaterial",
    Conclusion.EQUIVALENT: "equivalent",
    Conclusion.UNDECIDED: "undecided",
}


def lower_is_better(name: str) -> bool:
    """Whether a smaller figure is the better one; figures that the lab does not know count as better when higher."""
    kind = measures.figure_kind(name.rpartition(".")[2] if "@" not in name else name[name.index("@") :])
    return kind is not None and kind.better is measures.Better.LOWER


def claim(one: Claim) -> str:
    """What the number is said to be; the parts that are not claimed are left out."""
    parts = [
        "as is" if one.tier is Tier.AS_IS else f"{one.tier.value} figure",
        *(part.value for part in (one.regime, one.durability, one.load, one.path) if part is not None),
    ]
    return ", ".join(parts)


def bound(text: str) -> str:
    """A requirement as it is printed: `≤ 50 ms`."""
    return text.replace("<=", "≤").replace(">=", "≥")


def count(number: int, noun: str) -> str:
    """`1 run`, `3 runs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
