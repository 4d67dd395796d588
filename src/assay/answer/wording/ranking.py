"""The levels that were compared, in words: the value of each, which is best, by how much, and what is in doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from assay.analysis.cells import measure_of
from assay.answer import marks
from assay.answer.scales import show
from assay.answer.wording import comparison
from assay.measures import digits
from assay.measures.text import level, levels
from assay.records import Conclusion, Estimate, Experiment, Ranking, Value
from assay.rulekit.contrasts import lost_by_adjustment

MOST_VALUES = 8
"""So many values are listed; of more the first ones and the last."""
FIRST = 5
LONGEST = 32
"""Characters of the names of two levels that are given once more with their values."""
NAME = re.compile(r"[A-Za-z][\w.+-]*")
"""What can stand before a number without a colon."""
Valued = tuple[Value, Estimate]
"""A level with its figure."""


def sentence(experiment: Experiment, one: Ranking) -> str:
    """`lz4 0.68 s, zstd 1.3 s, gzip 8.4 s (5 runs each); lz4 is fastest, it takes 0.51 times as long as zstd (...)`."""
    where = levels(experiment, one.within)
    found = [(rank.level, rank.estimate) for rank in one.ranks]
    text = "; ".join(filter(None, (values(experiment, one.factor, found), winner(experiment, one), knee(experiment, one))))
    return f"at {where}: {text}" if where else text


def values(experiment: Experiment, factor: str, found: Sequence[Valued]) -> str:
    """`lz4 0.68 s, zstd 1.3 s (5 runs each)`; of numbers in their order `depth 1: 100/s, 2: 190/s`.

    Empty of one level, and of two whose names are long: the comparison names them, too.
    """
    names = [level(experiment, factor, at) for at, _ in found]
    if len(found) < 2 or (len(found) == 2 and max(map(len, names)) > LONGEST):
        return ""
    is_plain = all(NAME.fullmatch(name) for name in names)
    shown = [f"{name}{' ' if is_plain else ': '}{show(one.value, one.unit)}" for name, (_, one) in zip(names, found, strict=True)]
    if is_count([at for at, _ in found]):
        shown = [text for _, text in sorted(zip(found, shown, strict=True), key=lambda one: number(one[0][0]))]
        shown[0] = f"{factor.rpartition('.')[2]} {shown[0]}"
    if len(shown) > MOST_VALUES:
        shown = [*shown[:FIRST], f"{len(shown) - FIRST - 1} more", f"to {shown[-1]}"]
    runs = {one.n for _, one in found}
    each = (
        f" ({runs.pop()} {'runs' if experiment.slices is None else 'preparations'} each)"
        if len(runs) == 1 and 1 not in runs
        else ""
    )
    return ("; " if any("," in name for name in names) else ", ").join(shown) + each


def is_count(found: Sequence[Value]) -> bool:
    """Whether all levels are numbers."""
    return all(isinstance(at, int | float) and not isinstance(at, bool) for at in found)


def winner(experiment: Experiment, one: Ranking) -> str:
    """Name the best and by how much it is ahead of the second, or those between which nothing is decided."""
    first, second = (comparison.level_of(experiment, one.factor, rank.level) for rank in one.ranks[:2])
    best = comparison.superlative(measure_of(experiment, one.measure).figure)
    ahead, inside = one.ahead, comparison.interval(one.ahead)
    interval = f" ({inside})" if inside else ""
    # The interval of the pair alone would say what is not shown among all.
    if lost_by_adjustment(ahead) and ahead.conclusion is Conclusion.UNDECIDED:
        interval = f" (not shown among {len(one.ranks)}, p = {ahead.adjusted_p_value:.2g} by {ahead.adjusted_by.value})"
    if ahead.ratio is None:
        return ""
    if len(one.leaders) != 1:
        names = leading(experiment, one)
        who = f"{names} lead, and which of them is {best} is undecided" if names else f"which is {best} is undecided"
        if one.enough is not None and len(one.leaders) > 2:
            return who
        if ahead.conclusion is Conclusion.EQUIVALENT and len(one.leaders) == 2:
            return f"{names} lead and are equivalent{interval}"
        if ahead.conclusion is Conclusion.EQUIVALENT:
            return f"{who}; {first} and {second} are equivalent{interval}"
        return f"{who}: {first} against {second} {digits(ahead.ratio)[0]} times{interval}{comparison.needed(ahead)}"
    if ahead.conclusion is Conclusion.MATTERS:
        return f"{first} is {best}, {comparison.size(experiment, ahead)}{interval}"
    doubt = {
        Conclusion.IMMATERIAL: "too little to matter",
        Conclusion.EQUIVALENT: "equivalent",
        Conclusion.UNDECIDED: "whether it matters is undecided",
    }[ahead.conclusion]
    return f"{first} is {best}; {digits(ahead.ratio)[0]} times against {second}, {doubt}{interval}"


def leading(experiment: Experiment, one: Ranking) -> str:
    """Name the levels that could be the best: `xfs and btrfs`, `depth = 4, 16 and 64`; empty where none is behind."""
    found = [(rank.level, rank.estimate) for rank in one.ranks if rank.level in one.leaders]
    if not found:
        return ""
    if not is_count([at for at, _ in found]):
        return marks.listed([level(experiment, one.factor, at) for at, _ in found])
    numbers = [level(experiment, one.factor, at) for at, _ in sorted(found, key=lambda one: number(one[0]))]
    return f"{one.factor.rpartition('.')[2]} = {marks.listed(numbers)}"


def number(at: Value) -> float:
    """A level that is a number, to sort by."""
    return float(at) if isinstance(at, int | float) else 0.0


def knee(experiment: Experiment, one: Ranking) -> str:
    """Name the smallest number that could be the best, where larger ones could be so, too; else empty."""
    if one.enough is None:
        return ""
    return f"nothing more is shown to be gained above {comparison.level_of(experiment, one.factor, one.enough[0])}"
