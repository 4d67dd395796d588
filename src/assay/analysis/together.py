"""All comparisons that are tested: a difference must also hold among all of them, by Dunnett's or by Holm's procedure.

Dunnett where several candidates stand against one baseline in the same complete blocks and spread alike, under each
condition and for each measure: one variance for all arms gives more degrees of freedom than each pair has. The families
of different conditions and measures are then held together by Bonferroni. Holm everywhere else: it asks nothing of blocks or
spreads. Which of the two does not depend on who is ahead. No adjusted p-value is below that of the pairs themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from assay.records import Adjustment, Change, Comparison, Conclusion, Factor, Summary
from assay.statistics.contrast import Contrast
from assay.statistics.significance import LEVEL, alike, dunnett, holm

LEAST_CANDIDATES = 2
Key = tuple[int, int]
"""Sitting and block."""


@dataclass(frozen=True, kw_only=True)
class Tested:
    """One comparison with the values of its arms by block."""

    comparison: Comparison
    factor: Factor
    baseline: Mapping[Key, float]
    candidate: Mapping[Key, float]
    summary: Summary = Summary.GEOMETRIC
    contrasts: Sequence[Contrast] = ()


def corrected(found: Sequence[Tested]) -> tuple[Comparison, ...]:
    """The comparisons with adjusted p-values; a difference that the adjustment takes away is not claimed."""
    tested = [one for one in found if one.comparison.p_value is not None]
    families = list(families_of(tested).values())
    by_dunnett = bool(families) and all(map(fits, families))
    adjusted = of_families(families) if by_dunnett else of_all(tested)
    return tuple(
        replace(
            one.comparison,
            conclusion=demoted(one.comparison.conclusion, adjusted.get(id(one))),
            adjusted_p_value=adjusted.get(id(one)),
            adjusted_by=Adjustment.DUNNETT if by_dunnett else Adjustment.HOLM,
            tested=len(tested),
        )
        for one in found
    )


def families_of(tested: Sequence[Tested]) -> Mapping[tuple[object, ...], list[Tested]]:
    """Measure and conditions -> the candidates that stand against one baseline."""
    found: dict[tuple[object, ...], list[Tested]] = {}
    for one in tested:
        found.setdefault((one.comparison.measure, *sorted(one.comparison.within.items())), []).append(one)
    return found


def fits(family: Sequence[Tested]) -> bool:
    """Whether Dunnett's procedure fits: several candidates, mixed in time, every block whole, spreads alike."""
    first = family[0]
    whole = all(one.candidate.keys() == one.baseline.keys() == first.baseline.keys() for one in family)
    mixed = (
        first.summary is Summary.GEOMETRIC
        and first.factor.change is Change.AUTOMATIC
        and all(one.comparison.interleaved for one in family)
    )
    return len(family) >= LEAST_CANDIDATES and whole and mixed and alike(*values(family))


def values(family: Sequence[Tested]) -> tuple[list[float], list[list[float]]]:
    """The baseline's and the candidates' values in the order of the blocks."""
    blocks = sorted(family[0].baseline)
    return [family[0].baseline[key] for key in blocks], [[one.candidate[key] for key in blocks] for one in family]


def of_families(families: Sequence[Sequence[Tested]]) -> Mapping[int, float]:
    """Identity of each -> its p-value among the candidates of its family, times the number of families."""
    return {
        id(one): max(min(1.0, len(families) * p), one.comparison.p_value or 0.0)
        for family in families
        for one, p in zip(family, dunnett(*values(family)), strict=True)
    }


def of_all(tested: Sequence[Tested]) -> Mapping[int, float]:
    """Identity of each -> its p-value after Holm over all."""
    return dict(zip(map(id, tested), holm([one.comparison.p_value or 0.0 for one in tested]), strict=True))


def demoted(conclusion: Conclusion, adjusted: float | None) -> Conclusion:
    """What is left of a conclusion: no difference is claimed that its adjusted p-value does not support."""
    less = {Conclusion.MATTERS: Conclusion.UNDECIDED, Conclusion.IMMATERIAL: Conclusion.EQUIVALENT}
    return conclusion if adjusted is None or adjusted <= LEVEL else less.get(conclusion, conclusion)
