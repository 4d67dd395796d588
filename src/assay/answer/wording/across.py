"""What two notebooks have not in common, in words."""

from __future__ import annotations

from assay.analysis.across import Names, Unlike, UnlikeKind
from assay.measures.text import levels
from assay.records import Experiment


def unlike(experiment: Experiment, one: Unlike, names: Names) -> str:
    """Name one difference; `names`: what baseline and candidate are called."""
    if one.kind is UnlikeKind.CLAIM:
        return f"measure {one.name}: different claims in {names[0]} and {names[1]}, not compared"
    if one.kind is UnlikeKind.SETTING:
        baseline, candidate = (text or "not set" for text in one.texts)
        return f"{one.name}: {baseline} in {names[0]}, {candidate} in {names[1]}"
    name = f"measure {one.name}" if one.kind is UnlikeKind.MEASURE else levels(experiment, one.levels) or "all trials"
    return f"{name}: only in {one.only}"
