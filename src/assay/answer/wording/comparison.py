"""A comparison in a sentence that needs no statistics to be read: who is better, by how much, how sure."""

from __future__ import annotations

from collections.abc import Sequence

from assay import measures
from assay.analysis.across import Names, Unlike, UnlikeKind
from assay.analysis.cells import measure_of
from assay.answer import marks
from assay.answer.headlines import is_above, is_better
from assay.answer.scales import show_truth
from assay.frozen import dataclass
from assay.measures import difference, digits, percent
from assay.measures.figures import figure_kind
from assay.measures.text import level, levels
from assay.records import Cell, Comparison, Conclusion, Dip, Estimate, Experiment, Method, Pairs, Value
from assay.rulekit.contrasts import differs, least, lost_by_adjustment, reaches_beyond
from assay.rulekit.pairs import NOTEBOOK
from assay.units import MOST_SHARE, Unit


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """The parts of the sentence; `str()` joins them."""

    claim: str
    """`xfs is slower`."""
    size: str
    """`0.61 times the rate of ext4`, `1.00 times` where no difference is claimed; empty where there is no ratio."""
    interval: str
    """`95 % interval 0.54 to 0.68`; empty where there is none."""
    note: str
    """What could not be seen, or why nothing was decided; empty where all is said."""
    where: str = ""
    """`at clients = 4`, of a line that gives its conditions."""
    unfiltered: str = ""
    """The ratio that includes INVALID runs, where it is not part of the note."""

    def __str__(self) -> str:
        size = " ".join(filter(None, (self.size, self.where)))
        interval = f" ({self.interval})" if self.interval else ""
        return "; ".join(filter(None, (f"{self.claim}: {size}{interval}".rstrip(": "), self.note, self.unfiltered)))


def sentence(experiment: Experiment, one: Comparison) -> Sentence:
    """Put a comparison in words, without its measure and conditions."""
    return Sentence(claim=claim(experiment, one), size=size(experiment, one), interval=interval(one), note=note(one))


def refused(experiment: Experiment, one: Comparison, why: str, where: str) -> Sentence:
    """Say that two arms cannot be compared by this measure: no ratio, for it would be read."""
    arms = f"{candidate_of(experiment, one)} against {level(experiment, one.factor, one.baseline)}"
    return Sentence(claim=f"{arms} is no comparison: {why}", size="", interval="", note="", where=where)


def statement(experiment: Experiment, one: Comparison) -> str:
    """Put a comparison in one sentence with its measure and conditions, and what its design cannot exclude."""
    measure = marks.measure(measure_of(experiment, one.measure))
    where = ", ".join(part for part in (measure, levels(experiment, one.within)) if part)
    parts = (f"{where}: {sentence(experiment, one)}", sittings(one), efficiency(one))
    return "; ".join(filter(None, parts))


def sittings(one: Comparison) -> str:
    """Say what arms that were measured apart cannot exclude; empty where they were interleaved."""
    if one.ratio is None or one.ratio.low is None or not one.ratio.method.unpaired:
        return ""
    if one.factor == NOTEBOOK:
        return "not interleaved: any other change between the two notebooks would look the same"
    if one.baseline_sittings < 2:
        return "not interleaved: a drift between the sittings would look the same (`returns = 1` would show it)"
    return "not interleaved: the interval covers the comparison with each baseline sitting"


def claim(experiment: Experiment, one: Comparison) -> str:
    """State the conclusion."""
    candidate, baseline = candidate_of(experiment, one), level(experiment, one.factor, one.baseline)
    if one.conclusion is Conclusion.EQUIVALENT:
        return f"{candidate} and {baseline} are equivalent"
    better = f"{candidate} is {direction(one, measure_of(experiment, one.measure).figure)}"
    if one.conclusion is Conclusion.UNDECIDED:
        return f"{better}, whether it matters is undecided" if differs(one) else f"{candidate} against {baseline} is undecided"
    return f"{better}, too little to matter" if one.conclusion is Conclusion.IMMATERIAL else better


def candidate_of(experiment: Experiment, one: Comparison) -> str:
    """Name the candidate: `xfs`; a number alone says little: `clients = 2`."""
    return level_of(experiment, one.factor, one.candidate)


def arms_of(experiment: Experiment, one: Comparison) -> str:
    """Name the candidate, with its baseline where each level is held against each."""
    against = f" against {level_of(experiment, one.factor, one.baseline)}" if experiment.pairs is Pairs.ALL else ""
    return f"{candidate_of(experiment, one)}{against}"


def level_of(experiment: Experiment, factor: str, value: Value) -> str:
    """Name a level: `xfs`; a number alone says little: `clients = 2`."""
    name = level(experiment, factor, value)
    return f"{factor.rpartition('.')[2]} = {name}" if isinstance(value, int | float) else name


RATES = {Unit.PER_S: "rate", Unit.BYTES_PER_S: "throughput"}
"""Units of rates, and what a ratio of them is one of."""


def is_time(figure: str) -> bool:
    """Whether a figure is how long the work takes; CPU time and pauses are times, too, but less of them is not faster."""
    return figure == "elapsed_ns" or figure.startswith("latency_")


def is_speed(figure: str) -> bool:
    """Whether the better of two figures is the faster one."""
    kind = figure_kind(figure)
    return is_time(figure) or (kind is not None and kind.unit in RATES)


def superlative(figure: str) -> str:
    """`fastest` of rates and times, else `best`."""
    return "fastest" if is_speed(figure) else "best"


def direction(one: Comparison, figure: str) -> str:
    """`faster`, `slower`, `better` or `worse`; `higher` or `lower` where the figure has no better side."""
    good = is_better(one, figure)
    if good is None:
        return "higher" if is_above(one) else "lower"
    if is_speed(figure):
        return "faster" if good else "slower"
    return "better" if good else "worse"


def size(experiment: Experiment, one: Comparison) -> str:
    """Give the ratio, bare where no difference is claimed; empty where there is none."""
    return "" if one.ratio is None else sized(experiment, one, digits(one.ratio)[0])


def sized(experiment: Experiment, one: Comparison, times: str) -> str:
    """Say of what so many times are: `0.61 times the rate of ext4`, `it takes 0.41 times as long as ext4`."""
    if one.conclusion in (Conclusion.EQUIVALENT, Conclusion.UNDECIDED):
        return f"{times} times"
    figure, baseline = measure_of(experiment, one.measure).figure, level(experiment, one.factor, one.baseline)
    if is_time(figure):
        return f"it takes {times} times as long as {baseline}"
    kind = figure_kind(figure)
    noun = RATES.get(kind.unit) if kind else None
    return f"{times} times the {noun or marks.figure(figure)} of {baseline}"


def interval(one: Comparison) -> str:
    """Give the interval, with the margin where the conclusion depends on it, and the range of what is true; empty without one."""
    ratio = one.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return ""
    _, low, high = digits(ratio)
    text = "; ".join(filter(None, (f"{percent(ratio.confidence)} interval {low} to {high}", show_truth(ratio))))
    if one.conclusion not in (Conclusion.EQUIVALENT, Conclusion.IMMATERIAL):
        return text
    margin = f"±{percent(one.matters_share)}"
    return f"{text}; 90 % interval within {margin}, TOST" if reaches_beyond(one) else f"{text}; margin {margin}"


def note(one: Comparison) -> str:
    """Say why nothing was decided, and give the ratio with the runs that rules excluded; empty where all is said."""
    return "; ".join(filter(None, (undecided_for(one), unfiltered(one))))


def unfiltered(one: Comparison) -> str:
    """Give the ratio that includes the runs that rules excluded; empty where there are none."""
    if one.unfiltered is None:
        return ""
    value, low, high = digits(one.unfiltered)
    return f"including excluded runs: {value} times" + (f" ({low} to {high})" if low else "")


def left_out(cell: Cell) -> str:
    """`1 of 5 runs excluded; including excluded runs: 990/s (950/s to 1,030/s)`; empty where all count.

    Runs that others left behind: `1 of 3 runs; 2 INVALID (G04)`."""
    if not cell.excluded:
        return ""
    counted = survivors([cell]) or f"{len(cell.excluded)} of {len(cell.excluded) + len(cell.values)} runs excluded"
    one = cell.unfiltered
    if one is None or cell.estimate is None:
        return counted
    value, *ends = (None if end is None else measures.with_unit(end, one.unit) for end in (one.value, one.low, one.high))
    return f"{counted}; including excluded runs: {value}" + (f" ({ends[0]} to {ends[1]})" if None not in ends else "")


def survivors(cells: Sequence[Cell]) -> str:
    """`1 of 3 runs; 2 INVALID (G04)`: what is left of the runs of cells of which some are spoiled; empty where none is."""
    mine = [cell for cell in cells if cell.survivors]
    spoiled = [one for cell in mine for one in cell.excluded.values() if one.spoils]
    if not spoiled:
        return ""
    counted = sum(len(cell.values) for cell in mine)
    rules = dict.fromkeys(rule for one in spoiled if one.invalid for rule in one.rules)
    invalid, unfinished = (sum(one.invalid for one in spoiled), sum(one.outcome is not None for one in spoiled))
    unreadable, named = len(spoiled) - invalid - unfinished, f" ({', '.join(rules)})" if rules else ""
    parts = (
        f"{invalid:,} INVALID{named}" if invalid else "",
        f"{unfinished:,} failed" if unfinished else "",
        f"{unreadable:,} unreadable" if unreadable else "",
    )
    return f"{counted:,} of {counted + len(spoiled):,} runs; {', '.join(part for part in parts if part)}"


def undecided_for(one: Comparison) -> str:
    """Say why nothing was decided and which difference would have been seen; empty for a conclusion."""
    undecided = one.conclusion is Conclusion.UNDECIDED
    if undecided and one.ratio is not None and (one.ratio.low is None or one.ratio.high is None):
        return no_interval(one.ratio)
    if one.adjusted_p_value is not None and lost_by_adjustment(one):
        tests = f", {one.tested} tests" if one.tested else ""
        return f"not significant after {one.adjusted_by.value} correction (p = {one.adjusted_p_value:.2g}{tests})"
    if not undecided:
        return ""
    if one.ratio is None:
        return missing(one)
    why = f"smallest relevant difference: {percent(one.matters_share)}" if differs(one) else unseen(one.detectable_share)
    return f"{why}{typical(one) or needed(one)}"


def typical(one: Comparison) -> str:
    """`; of the typical pair 1.10 times (95 % interval 1.08 to 1.13, signed ranks)`: what disturbed pairs hid; else empty.

    Nothing of several comparisons that were tested together: its interval is that of one.
    """
    found = one.typical
    if found is None or found.low is None or found.high is None or (one.tested or 1) > 1 or found.low <= 1 <= found.high:
        return ""
    value, low, high = digits(found)
    return f"; of the typical pair {value} times ({percent(found.confidence)} interval {low} to {high}, signed ranks)"


def needed(one: Comparison) -> str:
    """`; about 14 runs each (9 more) would show 5 %`: how many decide, by the spread so far; empty where nobody knows.

    Of a larger difference that was seen and is not shown, first how many would show it: `..., about 120 one of 5 %`.
    """
    if one.ratio is None:
        return ""
    done, kind = one.ratio.n, "preparations" if one.ratio.method is Method.PAIRED_PREPARATIONS else "runs"
    first, least = one.needed_as_seen, one.needed
    if first is None or first <= done or first == least:
        if least is None or least <= done:
            return ""
        shown = "whether it matters" if differs(one) else percent(one.matters_share)
        return f"; about {least:,} {kind} each ({least - done:,} more) would show {shown}"
    more = "" if least is None else f", about {least:,} one of {percent(one.matters_share)}"
    return f"; about {first:,} {kind} each ({first - done:,} more) would show a difference as seen{more}"


def no_interval(ratio: Estimate) -> str:
    """Say why a ratio has no interval: too few runs for its kind of interval, or a mean that could be 0."""
    what, needed = "run per arm" if ratio.method.unpaired else "pair of runs", least(ratio.method)
    if ratio.method is Method.PAIRED_PREPARATIONS:
        what = "pair of preparations"
    if ratio.n >= needed:
        return "no interval: the mean of an arm may be 0"
    counted = f"1 {what}" if ratio.n == 1 else f"{ratio.n} {what.replace(' ', 's ', 1)}"
    return f"no interval: {counted}, at least {needed} needed"


def unseen(limit: float | None) -> str:
    """Give the difference that is seen in 80 of 100 such experiments: a smaller one less often, but not never."""
    smallest = difference(limit)
    return f"minimum detectable difference: {smallest}" if smallest else "too few runs"


def missing(one: Comparison) -> str:
    """Say why there is no ratio."""
    if one.has_zero:
        return "no ratio: a value is 0"
    if one.excluded:
        runs = "1 run excluded" if len(one.excluded) == 1 else f"{len(one.excluded)} runs excluded"
        return f"no ratio: at least one arm has no valid runs ({runs})"
    return "no ratio: at least one arm has no valid runs"


def dip(experiment: Experiment, one: Dip) -> str:
    """Put a dip in one sentence: measure, conditions, the level and how its figure compares with its neighbours."""
    rest = levels(experiment, {path: value for path, value in one.levels.items() if path != one.factor})
    where = ", ".join(part for part in (marks.measure(measure_of(experiment, one.measure)), rest) if part)
    value, low, high = digits(one.depth)
    here, below, above = (level(experiment, one.factor, each) for each in (one.levels[one.factor], *one.neighbours))
    better = "" if one.depth.value < 1 else "; lower is better"
    span = f"{percent(one.depth.confidence)} interval {low} to {high}"
    return f"{where}: {one.factor} = {here} gives {value} times ({span}) the figure of its neighbours {below} and {above}{better}"


# ------------------------------------------------------------------------------------------- parallel efficiency


def efficiency(one: Comparison) -> str:
    """`parallel efficiency 85 %, 2 clients against 1 (95 % interval 83 % to 87 %; ...)`; empty where nothing is counted."""
    share, counted = one.parallel_efficiency, counts(one)
    if share is None or not counted:
        return ""
    known = (
        "" if share.low is None else f"{percent(share.confidence)} interval {spanned(share)}",
        f"{'lower' if is_more(one) else 'upper'} bound, {limited(one)}" if one.limiter else "",
    )
    notes = "; ".join(filter(None, known))
    return f"parallel efficiency {round_percent(share.value)}, {counted}" + (f" ({notes})" if notes else "")


def limited(one: Comparison) -> str:
    """Name what the larger load reached; `limited by 4 CPUs for 8 clients`."""
    if one.limiter is None:
        return ""
    most = max(level for level in (one.candidate, one.baseline) if isinstance(level, int))
    wanted = "" if one.limiter.name else f" for {most:,} {one.factor.rpartition('.')[2]}"
    return marks.limiter(one.limiter) + wanted


def counts(one: Comparison) -> str:
    """`2 clients against 1`, `depth 8 against 1`; empty where the levels are no counts."""
    if not isinstance(one.candidate, int) or not isinstance(one.baseline, int):
        return ""
    noun = one.factor.rpartition(".")[2]
    many = noun if one.candidate != 1 else noun.removesuffix("s")
    first = f"{one.candidate:,} {many}" if noun.endswith("s") else f"{noun} {one.candidate:,}"
    return f"{first} against {one.baseline:,}"


def is_more(one: Comparison) -> bool:
    """Tell whether the candidate is the larger count."""
    return isinstance(one.candidate, int) and isinstance(one.baseline, int) and one.candidate > one.baseline


def spanned(share: Estimate) -> str:
    """`83 % to 87 %`."""
    return f"{round_percent(share.low or 0.0)} to {round_percent(share.high or 0.0)}"


def round_percent(share: float) -> str:
    """`85 %`: without decimals from 10 % on."""
    return f"{100 * share:.0f} %" if 0.1 <= share <= MOST_SHARE else percent(share)


def unlike(experiment: Experiment, one: Unlike, names: Names) -> str:
    """Name one difference; `names`: what baseline and candidate are called."""
    if one.kind is UnlikeKind.CLAIM:
        return f"measure {one.name}: different claims in {names[0]} and {names[1]}, not compared"
    if one.kind is UnlikeKind.SETTING:
        baseline, candidate = (text or "not set" for text in one.texts)
        return f"{one.name}: {baseline} in {names[0]}, {candidate} in {names[1]}"
    name = f"measure {one.name}" if one.kind is UnlikeKind.MEASURE else levels(experiment, one.levels) or "all trials"
    return f"{name}: only in {one.only}"
