"""A comparison in a sentence that needs no statistics to be read: who is better, by how much, how sure."""

from __future__ import annotations

import math

from assay.answer.wording import names
from assay.frozen import dataclass
from assay.measures.figures import Better, figure_kind
from assay.measures.text import with_unit
from assay.records import Cell, Comparison, Conclusion, Estimate
from assay.units import Unit, percent

LEVEL = 0.05
"""A difference whose p-value, adjusted for all that were looked at, is above it is not claimed."""
WIDE = 10.0
"""High over low from which on an interval bears no more than two digits of each."""
LEAST_PAIRS = 3
"""Fewer pairs give no interval."""
LEAST_OF = {"order-statistic": 6, "bootstrap": 20}
"""By the method of an estimate: medians ask for more."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The parts of the sentence; `str()` joins them."""

    said: str
    """`xfs is slower`."""
    size: str
    """`0.61 times the rate of ext4`, `1.00 times` where no difference is claimed; empty where there is no ratio."""
    sure: str
    """`95 % interval 0.54 to 0.68`; empty where there is none."""
    note: str
    """What could not be seen, or why nothing was decided; empty where all is said."""

    def __str__(self) -> str:
        sure = f" ({self.sure})" if self.sure else ""
        return f"{self.said}: {self.size}{sure}".rstrip(": ") + (f"; {self.note}" if self.note else "")


def answer(one: Comparison, figure: str) -> Answer:
    """What a comparison says of the figure with this name (`ops_per_s`)."""
    return Answer(said=said(one, figure), size=size(one, figure), sure=sure(one), note=note(one))


def said(one: Comparison, figure: str) -> str:
    """The conclusion."""
    candidate, baseline = candidate_of(one), names.level(one.baseline)
    if one.conclusion is Conclusion.EQUIVALENT:
        return f"{candidate} and {baseline} are equivalent"
    better = f"{candidate} is {direction(one, figure)}"
    if one.conclusion is Conclusion.UNDECIDED:
        return f"{better}, whether it matters is undecided" if differs(one) else f"{candidate} against {baseline} is undecided"
    return f"{better}, too little to matter" if one.conclusion is Conclusion.IMMATERIAL else better


def candidate_of(one: Comparison) -> str:
    """`xfs`; a number alone says little: `clients = 2`."""
    level = names.level(one.candidate)
    return f"{one.factor.rpartition('.')[2]} = {level}" if isinstance(one.candidate, int | float) else level


def differs(one: Comparison) -> bool:
    """Whether there is a difference, of whatever size."""
    ratio = one.ratio
    if ratio is None or ratio.low is None or ratio.high is None or taken_away(one):
        return False
    return ratio.low > 1 or ratio.high < 1


def taken_away(one: Comparison) -> bool:
    """Whether the difference is none any more among all that were looked at."""
    return one.adjusted_p_value is not None and one.p_value is not None and one.p_value <= LEVEL < one.adjusted_p_value


def direction(one: Comparison, figure: str) -> str:
    """`faster`, `slower`, `better` or `worse`; `higher` or `lower` where the figure has no better side."""
    kind = figure_kind(figure)
    above = one.ratio is not None and one.ratio.value > 1
    if kind is None:
        return "higher" if above else "lower"
    good = above == (kind.better is Better.HIGHER)
    if kind.unit in (Unit.PER_S, Unit.BYTES_PER_S, Unit.NANOSECONDS) and figure != "cpu_ns_per_op":
        return "faster" if good else "slower"
    return "better" if good else "worse"


def size(one: Comparison, figure: str) -> str:
    """The ratio in words, bare where no difference is claimed; empty where there is none."""
    return "" if one.ratio is None else sized(one, figure, digits(one.ratio)[0])


def sized(one: Comparison, figure: str, times: str) -> str:
    """So many times what: `0.61 times the rate of ext4`, `it takes 0.41 times as long as ext4`."""
    if one.conclusion in (Conclusion.EQUIVALENT, Conclusion.UNDECIDED):
        return f"{times} times"
    kind, baseline = figure_kind(figure), names.level(one.baseline)
    if kind is not None and kind.unit is Unit.NANOSECONDS and figure != "cpu_ns_per_op":
        return f"it takes {times} times as long as {baseline}"
    nouns = {Unit.PER_S: "rate", Unit.BYTES_PER_S: "throughput"}
    noun = nouns.get(kind.unit, names.figure(figure)) if kind else names.figure(figure)
    return f"{times} times the {noun} of {baseline}"


def sure(one: Comparison) -> str:
    """The interval, with what matters where that is the point of the conclusion."""
    ratio = one.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return ""
    _, low, high = digits(ratio)
    text = f"{percent(ratio.confidence)} interval {low} to {high}"
    if one.conclusion not in (Conclusion.EQUIVALENT, Conclusion.IMMATERIAL):
        return text
    if reaches_beyond(one):
        return f"{text}; the 90 % one, which decides this, lies within the {percent(one.matters_share)} that would matter"
    return f"{text}; {percent(one.matters_share)} would matter"


def reaches_beyond(one: Comparison) -> bool:
    """Whether the 95 % interval holds differences that would matter: two one-sided tests at 5 % look at the 90 % interval."""
    ratio, margin = one.ratio, 1 + one.matters_share
    return ratio is not None and ((ratio.low or 0.0) < 1 / margin or (ratio.high or math.inf) > margin)


def note(one: Comparison) -> str:
    """Why nothing was decided and what could have been seen, and the ratio with the runs that rules excluded; else empty."""
    return "; ".join(filter(None, (undecided_for(one), unfiltered(one))))


def unfiltered(one: Comparison) -> str:
    """The ratio with INVALID runs counted in; empty where there are none."""
    if one.unfiltered is None:
        return ""
    value, low, high = digits(one.unfiltered)
    return f"with the INVALID runs counted in {value} times" + (f" ({low} to {high})" if low else "")


def left_out(cell: Cell) -> str:
    """`1 of 5 runs do not count; with the INVALID ones 990/s (950/s to 1,030/s)`; empty where all count."""
    if not cell.excluded:
        return ""
    counted = f"{len(cell.excluded)} of {len(cell.excluded) + len(cell.values)} runs do not count"
    one = cell.unfiltered
    if one is None or cell.estimate is None:
        return counted
    span = "" if one.low is None or one.high is None else f" ({with_unit(one.low, one.unit)} to {with_unit(one.high, one.unit)})"
    return f"{counted}; with the INVALID ones {with_unit(one.value, one.unit)}{span}"


def undecided_for(one: Comparison) -> str:
    """Why nothing was decided and what could have been seen; empty for a conclusion."""
    if one.adjusted_p_value is not None and taken_away(one):
        every = f"all {one.looked_at}" if one.looked_at else "all"
        tested = f"{one.adjusted_by} p = {one.adjusted_p_value:.2g}"
        return f"a difference is not established among {every} that were looked at ({tested})"
    if one.conclusion is not Conclusion.UNDECIDED:
        return ""
    return missing(one) if one.ratio is None else undecided(one, one.ratio)


def undecided(one: Comparison, ratio: Estimate) -> str:
    """Why a ratio decides nothing."""
    if ratio.low is None or ratio.high is None:
        return no_interval(ratio)
    if differs(one):
        return f"more than {percent(one.matters_share)} would matter"
    return unseen(one.detectable_share)


def no_interval(ratio: Estimate) -> str:
    """Why a ratio has no interval: too few runs for its kind of interval, or a mean that could be 0."""
    what = "run of an arm" if ratio.method.startswith("unpaired") else "pair of runs"
    counted = f"1 {what}" if ratio.n == 1 else f"{ratio.n} {what.replace(' ', 's ', 1)}"
    least = next((number for kind, number in LEAST_OF.items() if kind in ratio.method), LEAST_PAIRS)
    if ratio.n >= least:
        return "no interval, for by their spread the mean of an arm could be 0"
    return f"{counted}, fewer than {least} give no interval"


def unseen(limit: float | None) -> str:
    """The difference that is seen in 80 of 100 such experiments: a smaller one less often, but not never."""
    if limit is None or not math.isfinite(limit):
        return "too few runs"
    least = percent(limit) if limit < 1 else f"a factor of {1 + limit:.2g}"
    return f"a difference under {least} may have been missed"


def missing(one: Comparison) -> str:
    """Why there is no ratio."""
    if one.excluded:
        runs = "1 run excluded" if len(one.excluded) == 1 else f"{len(one.excluded)} runs excluded"
        return f"no ratio, for no runs of both count ({runs})"
    return "no ratio, for no runs of both count or a value is 0"


def scale_up(one: Comparison) -> str:
    """`scale-up 85 % of 2 clients over 1 (95 % interval 83 % to 87 %); a lower bound: ...`; empty where nothing is counted."""
    share, counted = one.scale_up, counts(one)
    if share is None or not counted:
        return ""
    bound = "a lower bound" if is_more(one) else "an upper bound"
    notes = (
        "" if share.low is None else f"{percent(share.confidence)} interval {spanned(share)}",
        f"{bound}: {one.scale_up_limit}" if one.scale_up_limit else "",
    )
    note = "; ".join(filter(None, notes))
    return f"scale-up {round_percent(share.value)} of {counted}" + (f" ({note})" if note else "")


def counts(one: Comparison) -> str:
    """`2 clients over 1`, `depth 8 over 1`; empty where the levels are no counts."""
    if not isinstance(one.candidate, int) or not isinstance(one.baseline, int):
        return ""
    noun = one.factor.rpartition(".")[2]
    many = noun if one.candidate != 1 else noun.removesuffix("s")
    return (
        f"{one.candidate:,} {many} over {one.baseline:,}"
        if noun.endswith("s")
        else f"{noun} {one.candidate:,} over {one.baseline:,}"
    )


def is_more(one: Comparison) -> bool:
    """Whether the candidate is the larger count."""
    return isinstance(one.candidate, int) and isinstance(one.baseline, int) and one.candidate > one.baseline


def spanned(share: Estimate) -> str:
    """`83 % to 87 %`."""
    return f"{round_percent(share.low or 0.0)} to {round_percent(share.high or 0.0)}"


def round_percent(share: float) -> str:
    """`85 %`: without decimals from 10 % on."""
    return f"{100 * share:.0f} %" if share >= 0.1 else percent(share)


def digits(ratio: Estimate) -> tuple[str, str, str]:
    """Ratio, low and high with as many decimals as the interval bears: two, three where it is narrow.

    Where the ends are so far apart that one of them needs more decimals than the other has digits, two digits of each.
    """
    ends = [end for end in (ratio.value, ratio.low, ratio.high) if end is not None]
    if ratio.low is not None and ratio.high is not None and ratio.high > WIDE * ratio.low > 0:
        value, low, high = (two_digits(end) for end in (ratio.value, ratio.low, ratio.high))
        return value, low, high
    places = decimals(min(ends), max(ends) - min(ends) if ratio.low is not None else 1.0)
    value, low, high = (decimal(end, places) for end in (ratio.value, ratio.low, ratio.high))
    return value, low, high


def two_digits(value: float) -> str:
    """`0.052`, `1.6`, `30`, `1,200`."""
    places = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{places}f}" if value < 100 else f"{float(f'{value:.2g}'):,.0f}"


def decimal(value: float | None, places: int) -> str:
    """The number with so many decimals, two at most from 2 on; empty where there is none."""
    return "" if value is None else f"{value:,.{min(places, 2) if value >= 2 else places}f}"


def decimals(smallest: float, width: float) -> int:
    """Digits behind the point: two significant ones of the smallest end at least."""
    if smallest >= 10:
        return 1 if smallest < 100 else 0
    if 0 < smallest < 0.1:
        return min(6, 1 - math.floor(math.log10(smallest)))
    return 3 if width < 0.03 else 2
