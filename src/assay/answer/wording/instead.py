"""What stands in for the figure of runs of which none counts: what was corrected, else between which bounds it lies."""

from __future__ import annotations

from collections.abc import Sequence

from assay import measures
from assay.records import Verdict


def instead(verdicts: Sequence[Verdict]) -> str:
    """`corrected 1.2 GB/s`: what runs that do not count really did, as far as a rule could say so; else between which bounds."""
    right = [verdict for verdict in verdicts if verdict.corrected is not None and verdict.corrected != verdict.value]
    if right:
        found = sorted((verdict.corrected or 0.0, verdict.unit) for verdict in right)
        return "corrected " + " to ".join(dict.fromkeys(measures.with_unit(*end) for end in (found[0], found[-1])))
    bounds = [verdict.bound for verdict in verdicts if verdict.bound]
    lows = [bound.low for bound in bounds if bound.low is not None]
    highs = [bound.high for bound in bounds if bound.high is not None]
    low = f"at least {measures.with_unit(min(lows), bounds[0].unit)}" if lows and len(lows) == len(bounds) else ""
    high = f"at most {measures.with_unit(max(highs), bounds[0].unit)}" if highs and len(highs) == len(bounds) else ""
    return " and ".join(end for end in (low, high) if end)
