"""All comparisons that are tested: a difference must also hold among all of its family.

The measures that an experiment decides by, its first one unless the file names others, are the primary family: 5 % over their
comparisons alone, by Dunnett's or by Holm's procedure. All other measures are secondary: among their comparisons false
discoveries are held at 5 % (Benjamini and Yekutieli), so that what is looked at besides takes nothing from what is decided.

Dunnett where several candidates stand against one baseline in the same complete blocks and spread alike, under each
condition and for each measure: one variance for all arms gives more degrees of freedom than each pair has. The families
of different conditions and measures are then held together by Bonferroni. Holm everywhere else, so where every two levels
are held against each other: it asks nothing of blocks, spreads or baselines. Which of the two does not depend on who is ahead.
No adjusted p-value is below that of the pairs themselves.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist

from assay.frozen import dataclass
from assay.records import Adjustment, Change, Comparison, Conclusion, Factor, Summary
from assay.rulekit.contrasts import differs
from assay.statistics.contrast import Contrast
from assay.statistics.significance import (
    LEVEL,
    MOST_NEEDED,
    POWER,
    alike,
    benjamini_yekutieli,
    dunnett,
    false_discovery_factor,
    holm,
    noncentrality,
)

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


def corrected(found: Sequence[Tested], is_primary: Callable[[str], bool]) -> tuple[Comparison, ...]:
    """The comparisons with adjusted p-values; a difference that the adjustment takes away is not claimed.

    `is_primary` tells of a measure's name whether the experiment decides by it.
    """
    tested = [one for one in found if one.comparison.p_value is not None]
    primary = [one for one in tested if is_primary(one.comparison.measure)]
    secondary = [one for one in tested if not is_primary(one.comparison.measure)]
    families = list(families_of(primary).values())
    by_dunnett = bool(families) and all(map(fits, families))
    adjusted = {**(of_families(families) if by_dunnett else of_all(primary)), **of_others(secondary)}
    first = (Adjustment.DUNNETT if by_dunnett else Adjustment.HOLM, len(primary))
    kinds = {True: first, False: (Adjustment.BENJAMINI, len(secondary))}
    return tuple(
        replace(
            one.comparison,
            conclusion=demoted(one.comparison.conclusion, adjusted.get(id(one))),
            adjusted_p_value=adjusted.get(id(one)),
            adjusted_by=kinds[is_primary(one.comparison.measure)][0],
            tested=kinds[is_primary(one.comparison.measure)][1],
            secondary=not is_primary(one.comparison.measure),
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
    against_one = len({one.comparison.baseline for one in family}) == 1
    whole = all(one.candidate.keys() == one.baseline.keys() == first.baseline.keys() for one in family)
    mixed = (
        first.summary is Summary.GEOMETRIC
        and first.factor.change is Change.AUTOMATIC
        and all(one.comparison.interleaved and one.comparison.ratio is not None for one in family)
        and all(one.comparison.ratio is None or one.comparison.ratio.range is None for one in family)
    )
    return len(family) >= LEAST_CANDIDATES and against_one and whole and mixed and alike(*values(family))


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


def of_others(tested: Sequence[Tested]) -> Mapping[int, float]:
    """Identity of each secondary one -> its p-value among all of these."""
    p_values = [one.comparison.p_value or 0.0 for one in tested]
    return dict(zip(map(id, tested), benjamini_yekutieli(p_values), strict=True))


def demoted(conclusion: Conclusion, adjusted: float | None) -> Conclusion:
    """What is left of a conclusion: no difference is claimed that its adjusted p-value does not support."""
    less = {Conclusion.MATTERS: Conclusion.UNDECIDED, Conclusion.IMMATERIAL: Conclusion.EQUIVALENT}
    return conclusion if adjusted is None or adjusted <= LEVEL else less.get(conclusion, conclusion)


def with_effects(comparison: Comparison, contrasts: Sequence[Contrast]) -> Comparison:
    """The comparison with the effect it could detect and the one it could prove to matter (80 % power).

    Among several that are tested a difference is detected by the strictest level of their procedure, where no other one differs.
    """
    if comparison.ratio is None or comparison.ratio.low is None:
        return comparison
    widest = max(contrasts, key=lambda found: found.standard_error)
    freedom = max(1, round(widest.degrees))
    tests = max(1, comparison.tested or 1)
    strictest = LEVEL / (tests * (false_discovery_factor(tests) if comparison.secondary else 1))
    alone, among = (shown_in_errors(freedom, level) * widest.standard_error for level in (LEVEL, strictest))
    return replace(
        comparison,
        detectable_share=math.expm1(among),
        provable_share=math.expm1(max(among, math.log1p(comparison.matters_share) + alone)),
        needed=needed(comparison, widest, strictest) if comparison.conclusion is Conclusion.UNDECIDED else None,
        needed_as_seen=needed_as_seen(comparison, widest, strictest),
    )


def needed(comparison: Comparison, widest: Contrast, strictest: float) -> int | None:
    """Blocks in all until a difference that matters is shown; of one that is shown, until it is known whether it matters."""
    margin = math.log1p(comparison.matters_share)
    if not differs(comparison):
        return blocks_to_detect(widest, margin, strictest)
    return blocks_to_detect(widest, abs(abs(widest.difference) - margin), LEVEL)


def needed_as_seen(comparison: Comparison, widest: Contrast, strictest: float) -> int | None:
    """Blocks in all until a difference is shown that is as large as the one seen; else None."""
    seen = abs(widest.difference)
    is_open = comparison.conclusion is Conclusion.UNDECIDED and not differs(comparison)
    return blocks_to_detect(widest, seen, strictest) if is_open and seen > math.log1p(comparison.matters_share) else None


def blocks_to_detect(contrast: Contrast, wanted: float, level: float) -> int | None:
    """After how many blocks in all a difference of logarithms is shown with 80 % power, by the spread so far.

    None beyond `MOST_NEEDED`, and where the spread is 0 or nothing is wanted.
    """
    if wanted <= 0 or contrast.standard_error <= 0 or contrast.n < 2:
        return None
    one, each = contrast.standard_error * math.sqrt(contrast.n), contrast.degrees / (contrast.n - 1)
    many = NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(POWER)  # of many blocks: with few it takes some more
    first = max(2, math.ceil((many * one / wanted) ** 2))

    def enough(blocks: int) -> bool:
        return shown_in_errors(max(1, round((blocks - 1) * each)), level) * one <= wanted * math.sqrt(blocks)

    return next(filter(enough, range(first, MOST_NEEDED + 1)), None)


@functools.cache
def shown_in_errors(freedom: int, level: float) -> float:
    """How many standard errors a difference must have to be shown at a level with 80 % power, by so many degrees of freedom."""
    return noncentrality(freedom, level=level, power=POWER)
