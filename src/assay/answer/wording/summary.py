"""The summary of an answer in words: its opening, its lines, requirements and decisions, what to distrust."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay import measures
from assay.analysis.cells import measure_of
from assay.answer import marks
from assay.answer.answer import Answer, Cost, Lead, LeadKind
from assay.answer.decisions import Decision
from assay.answer.doubts import Reason, Required
from assay.answer.headlines import Line
from assay.answer.remarks import Remarked
from assay.answer.scales import show, show_range, show_truth
from assay.answer.wording import comparison, effects, essence, labels, layers, ranking, scaling, time_spent, trust
from assay.records import (
    Comparison,
    Conclusion,
    Estimate,
    Experiment,
    Measure,
    Ranking,
    RequirementResult,
    RequirementState,
    Tier,
    TimeSpent,
    Value,
    VerdictState,
)

MOST_LIMITS = 4
"""So many kinds of limits of a phase are told."""
MOST_RANKED = 4
"""So many conditions have their order of levels told."""


def opening(answer: Answer) -> str:
    """Put the opening in words, without its verdict; empty where there is none."""
    if answer.state is None:
        return ""
    first = essence.sentence(answer.essence) if answer.essence else sentence(answer.experiment, answer.leads[0])
    left = comparison.survivors(answer.survivors)
    return "; ".join((first, *([left] if left else []), *trust.lost(answer.losses)))


def following(answer: Answer) -> tuple[str, ...]:
    """Put in words what belongs to the opening: requirements, costs, other measures, decisions, then what the limits were."""
    if answer.state is None:
        return ()
    experiment, more = answer.experiment, answer.leads if answer.essence else answer.leads[1:]
    first = None if answer.essence else answer.leads[0].sensitivity
    rest = effects.sentences(experiment, first)[1:] if first else []
    return (
        *rest,
        *(f"{sentence(experiment, one)} [{one.state.value}]" for one in more),
        *(ranking.sentence(experiment, each) for one in answer.leads for each in ordered(one)),
        *(required(experiment, one) for one in answer.requirements),
        *(cost(experiment, one) for one in answer.costs),
        *(in_short(experiment, one) for one in answer.beside),
        *(decision(experiment, one) for one in answer.decisions),
        *(text for one in answer.leads if one.kind is LeadKind.COMPARED for text in efficiencies(experiment, one)),
        *(text for one in answer.leads if one.kind is LeadKind.COMPARED for text in reasons(experiment, one)),
        *limits(answer),
        *besides(answer),
        *(layers.statement(experiment, one) for one in answer.layers),
    )


def ordered(one: Lead) -> tuple[Ranking, ...]:
    """The rankings that the sentence of a lead leaves out: those of several conditions, and that of a curve."""
    return one.rankings[:MOST_RANKED] if one.kind is LeadKind.GROWTH or len(one.rankings) > 1 else ()


def cost(experiment: Experiment, one: Cost) -> str:
    """`price of more: w read, latency, 99th percentile: from 1.80 ms at depth = 16 to 5.00 ms at depth = 64 [SOUND]`."""
    places = zip(one.levels, one.estimates, strict=True)
    found = (f"{show(each.value, each.unit)} at {comparison.level_of(experiment, one.factor, level)}" for level, each in places)
    return f"price of more: {named(one.measure)}: from {' to '.join(found)} [{one.state.value}]"


def in_short(experiment: Experiment, one: Lead) -> str:
    """`files get, throughput: nfs 82 MB/s, smb 62 MB/s (5 runs each); smb is slower, 0.76 times ... [SOUND]`."""
    if one.kind is not LeadKind.COMPARED:
        return f"{sentence(experiment, one)} [{one.state.value}]"
    path = experiment.compare or ""
    found = ranking.values(experiment, path, [(cell.levels.get(path), cell.estimate) for cell in one.cells if cell.estimate])
    decided = ranking.winner(experiment, one.rankings[0]) if one.rankings else clause(experiment, one.lines[0])
    return f"{named(one.measure)}: {'; '.join(filter(None, (found, decided)))} [{one.state.value}]"


def reasons(experiment: Experiment, lead: Lead) -> Iterator[str]:
    """Say which part of the time differs most, of each comparison of the opening that has one."""
    for line_of_arms in lead.lines:
        for one in line_of_arms.comparisons:
            if (text := time_spent.difference(comparison.candidate_of(experiment, one), one.time)) is not None:
                where = line(experiment, line_of_arms).where
                yield " ".join(filter(None, (text, where)))


def limits(answer: Answer) -> Iterator[str]:
    """`limit of w write: the flushes of dd at flush = each [SOUND]`: conditions that have the same limit together."""
    for phase in dict.fromkeys(one.phase for one in answer.times):
        mine = [one for one in answer.times if one.phase == phase]
        kinds = dict.fromkeys(kind_of(one) for one in mine)
        for kind in list(kinds)[:MOST_LIMITS]:
            same = [one for one in mine if kind_of(one) == kind]
            first = max(same, key=lambda one: one.alike)
            where = conditions(answer.experiment, [one.levels for one in same]) if len(kinds) > 1 else ""
            yield f"limit of {phase}{f' {where}' if where else ''}: {time_spent.of_runs(first)} [{first.state.value}]"
        if len(kinds) > MOST_LIMITS:
            yield f"limits of {phase}: {len(kinds) - MOST_LIMITS} more below"


def kind_of(one: TimeSpent) -> tuple[object, ...]:
    """What makes two limits one: cause, whose, and how sure."""
    known = one.limit
    return (one.state, one.runs > 0, known and known.cause, known and known.at_server, known and known.process)


def besides(answer: Answer) -> Iterator[str]:
    """Name the largest effect among the other measures, and how many more of these differ."""
    if answer.others:
        first = answer.others[0]
        what = f"{named(first.measure)}: {clause(answer.experiment, first.lines[0])} [{first.lines[0].state.value}]"
        more = len(answer.others) - 1
        many = f"; {more} more {'measure differs' if more == 1 else 'measures differ'}" if more else ""
        yield f"largest difference of another measure: {what}{many}"


def named(measure: Measure) -> str:
    """`files create, operations per second`."""
    return f"{marks.operation(measure.workload, measure.operation)}, {marks.figure(measure.figure)}"


def sentence(experiment: Experiment, one: Lead) -> str:
    """Put what can be said of a measure in one sentence."""
    name = named(one.measure)
    if one.sensitivity is not None:
        return f"{name}: {effects.sentences(experiment, one.sensitivity)[0]}"
    if one.doubted:
        name = f"{name} ({', '.join(map(labels.short, one.doubted))})"
    if one.growth is not None:
        against_baseline = "" if one.rankings else f"; {clause(experiment, one.lines[0])}"
        return f"{name}{scaling.predicate(experiment, one.growth)}{against_baseline}"
    if one.kind is LeadKind.COMPARED:
        return f"{name}: {'; '.join(compared(experiment, one))}"
    if one.kind is LeadKind.FIGURE:
        return f"{name}: {figure(one)}"
    return f"{name}: {uncounted(experiment, one)}"


def efficiencies(experiment: Experiment, one: Lead) -> Iterator[str]:
    """`parallel efficiency 76 %, 4 clients against 1`: what belongs to a measure and is too much for its sentence."""
    for each in one.lines:
        if found := _efficiency(each.comparisons):
            yield " ".join(part for part in (found, line(experiment, each).where) if part)


def compared(experiment: Experiment, one: Lead) -> Iterator[str]:
    """Give the values, then what was decided, how much more there is, and what was not decided."""
    if len(one.rankings) == 1:
        yield ranking.sentence(experiment, one.rankings[0])
        return
    if found := [(cell.levels.get(experiment.compare or ""), cell.estimate) for cell in one.cells if cell.estimate]:
        yield from filter(None, [ranking.values(experiment, experiment.compare or "", found)])
    ahead, first = ahead_of_all(experiment, one), one.lines[0]
    if ahead and (first.conclusion is not Conclusion.MATTERS or one.leaders != (first.comparisons[0].candidate,)):
        yield ahead
        ahead = ""
    for place, each in enumerate(one.lines):
        words = clause(experiment, each, ahead if place == 0 else "")
        undecided = "" if each.unlike else comparison.undecided_for(_hardest(each.comparisons))
        yield "; ".join(filter(None, (words, undecided)))
    if one.more:
        yield f"{one.more} more below"
    for each in one.undecided:
        text = line(experiment, each)
        what = " ".join(filter(None, (text.claim, text.where)))
        yield f"{what} ({'; '.join(part for part in (text.size, text.interval) if part)})"


def ahead_of_all(experiment: Experiment, one: Lead) -> str:
    """`xfs is fastest`, `xfs and btrfs lead, and which of them is fastest is undecided`; empty where no level is ahead."""
    names = [comparison.level_of(experiment, experiment.compare or "", level) for level in one.leaders]
    if not names:
        return ""
    best = comparison.superlative(one.measure.figure)
    if len(names) > 1:
        return f"{marks.listed(names)} lead, and which of them is {best} is undecided"
    return f"{names[0]} is {best}"


def clause(experiment: Experiment, one: Line, instead: str = "") -> str:
    """`xfs is slower, 0.60 times the rate of ext4 at clients = 1 (95 % interval 0.54 to 0.68)`; `instead` of the claim."""
    text = line(experiment, one)
    claim = ", ".join(part for part in (instead or text.claim, text.size) if part)
    return " ".join(part for part in (claim, text.where) if part) + (f" ({text.interval})" if text.interval else "")


def figure(one: Lead) -> str:
    """`49.9 MB/s (95 % interval ...): cold reads served by the device`."""
    found = sorted((cell.estimate for cell in one.cells if cell.estimate), key=lambda each: each.value)
    label = labels.usual(one.verdicts)
    amount = _amount(found[0]) if len(found) == 1 else _range(found, f"over {len(found)} combinations of levels")
    return amount + (f": {label}" if label else "")


def uncounted(experiment: Experiment, one: Lead) -> str:
    """Say of a figure of which no run counts what was measured, and what it really is or what disturbed it."""
    found = sorted((cell.unfiltered for cell in one.cells if cell.unfiltered), key=lambda each: each.value)
    amount = _amount(found[0]) if len(found) == 1 else _range(found, "")
    where = "" if one.everywhere else conditions(experiment, [cell.levels for cell in one.cells])
    what = f"{amount} {where}".rstrip()
    if one.kind is LeadKind.DISTURBED:
        return f"{what} does not count: all runs disturbed: {', '.join(map(labels.short, one.causes))}"
    fault = "cannot be believed" if one.measure.claim.tier is Tier.AS_IS else f"is no {marks.claim(one.measure.claim)}"
    known = (labels.usual(one.verdicts), labels.instead(one.verdicts))
    return f"{what} {fault}: {'; '.join(filter(None, known))}"


def _amount(one: Estimate) -> str:
    """`49.9 MB/s (95 % interval 49.8 MB/s to 50.0 MB/s)`."""
    interval = show_range(one.low, one.high, one.unit) if one.low is not None else ""
    known = (f"{measures.percent(one.confidence)} interval {interval}" if interval else "", show_truth(one))
    inside = "; ".join(part for part in known if part)
    return show(one.value, one.unit) + (f" ({inside})" if inside else "")


def _range(found: Sequence[Estimate], where: str) -> str:
    """From the smallest to the largest of several, with the hull of their intervals."""
    span = show_range(found[0].value, found[-1].value, found[0].unit)
    lows, highs = [one.low for one in found if one.low is not None], [one.high for one in found if one.high is not None]
    sure = (
        f"{measures.percent(found[0].confidence)} intervals from {show_range(min(lows), max(highs), found[0].unit)}"
        if lows
        else ""
    )
    inside = "; ".join(part for part in (sure, _truths(found)) if part)
    return span + (f" {where}" if where else "") + (f" ({inside})" if inside else "")


def _truths(found: Sequence[Estimate]) -> str:
    """`true values from 9.94 to 16.7 MB/s`: the hull of what is true of each; empty where no run of them has a bound."""
    if all(one.range is None for one in found):
        return ""
    lows, highs = [one.sure[0] for one in found], [one.sure[1] for one in found]
    low = None if None in lows else min(end for end in lows if end is not None)
    high = None if None in highs else max(end for end in highs if end is not None)
    return f"true values {show_range(low, high, found[0].unit) or 'unknown'}"


# --------------------------------------------------------------------------------------------- the decision


def required(experiment: Experiment, one: Required) -> str:
    """`required of files create, latency, mean, <= 10 ms: met at clients = 1 (4.10 ms); not met at clients = 4 (15 ms)`.

    Along a number in its order, else what is not met first.
    """
    alone = len({row.state for row in one.rows}) == 1
    levels = [level for row in one.rows for level in row.levels.values()]
    worst_first = [row for state in reversed(RequirementState) for row in one.rows if row.state is state]
    by_number = len(levels) == len(one.rows) and ranking.is_count(levels)
    ordered_rows = sorted(one.rows, key=lambda row: [*map(ranking.number, row.levels.values())]) if by_number else worst_first
    states = []
    for state in dict.fromkeys(row.state for row in ordered_rows):
        rows = [row for row in ordered_rows if row.state is state]
        places = "" if alone else conditions(experiment, [row.levels for row in rows])
        states.append(" ".join(filter(None, (state.value, places, measured(rows)))))
    title = named(one.measure) if one.measure else one.name
    is_open = alone and one.rows[0].state is RequirementState.UNDECIDED  # what is sound then are the figures, no answer
    trust = f"; its figures are {one.state.value}" if is_open else f" [{one.state.value}]"
    return f"required of {title}, {one.text}: {'; '.join(states)}{trust}"


def measured(rows: Sequence[RequirementResult]) -> str:
    """`(4.10 ms, 7.90 ms)`: what was measured in few rows, in their order; of a bound on a comparison the ratio."""
    found = [one.estimate for one in rows if one.estimate is not None]
    if len(found) < len(rows) or len(found) > MOST_RANKED:
        return ""
    texts = [f"{measures.digits(one)[0]} times" if one.unit == "ratio" else show(one.value, one.unit) for one in found]
    return f"({', '.join(texts)})"


def decision(experiment: Experiment, one: Decision) -> str:
    """Put a break-even, a saturation or the end of a requirement in one sentence, without the full stop."""
    measure = next((measure for measure in experiment.measures if measure.name == one.scaling.measure), None)
    return f"{named(measure) if measure else one.scaling.measure}{_decided(experiment, one)}{scaling.trust(one.scaling)}"


def _decided(experiment: Experiment, one: Decision) -> str:
    """What stands behind the name of the measure; of a break-even that is not known, that there is none."""
    span = f"from {scaling.span(one.scaling)} {scaling.counted(one.scaling.factor)}"
    if one.one_order:
        return f"{scaling.pairing(experiment, one.scaling)}: no break-even {span}, the order is the same everywhere"
    if one.scaling.at is not None and not one.known:
        return f"{scaling.pairing(experiment, one.scaling)}: no significant break-even {span}"
    return scaling.predicate(experiment, one.scaling)


def line(experiment: Experiment, one: Line) -> comparison.Sentence:
    """Put comparisons that agree in one sentence."""
    same = one.comparisons
    first, alone = same[0], len(same) == 1
    if one.unlike:
        where = conditions(experiment, [each.within for each in same])
        return comparison.refused(experiment, first, labels.short(one.unlike), where)
    notes = (comparison.undecided_for(_hardest(same)), _efficiency(same))
    return comparison.Sentence(
        claim=comparison.claim(experiment, first),
        size=comparison.size(experiment, first) if alone else _sizes(experiment, same),
        where=conditions(experiment, [each.within for each in same]),
        interval=comparison.interval(first) if alone else _spans(same),
        note="; ".join(part for part in notes if part),
        unfiltered=comparison.unfiltered(_hardest(same)),
    )


def _hardest(same: Sequence[Comparison]) -> Comparison:
    """The comparison in which the least could be seen."""
    return max(same, key=lambda each: (each.detectable_share or 0.0, comparison.undecided_for(each)))


def reason(one: Reason) -> str:
    """`interval too wide (S02)`, `3 of 8 runs TAINTED: CPU contention (N02)`, `... UNVERIFIED, not ruled out: ...`."""
    words = labels.short(one.cause) if one.cause else ""
    if one.state is None:
        return words
    link = ", not ruled out: " if one.state is VerdictState.UNVERIFIED else ": "
    return f"{one.runs} of {one.of} runs {one.state.value}{link if words else ''}{words}"


def _efficiency(same: Sequence[Comparison]) -> str:
    """The parallel efficiency; from the least to the most of several."""
    known = [(one.parallel_efficiency.value, one) for one in same if one.parallel_efficiency is not None]
    found = sorted(known, key=lambda pair: pair[0])
    if len(found) < 2:
        return comparison.efficiency(found[0][1]) if found else ""
    low, high = (comparison.round_percent(share) for share, _ in (found[0], found[-1]))
    limits = dict.fromkeys(comparison.limited(one) for _, one in found if one.limiter)
    bound = f" (not of the software alone: {'; '.join(limits)})" if limits else ""
    return f"parallel efficiency {low} to {high}, {comparison.counts(found[0][1])}{bound}"


def conditions(experiment: Experiment, places: Sequence[Mapping[str, Value]]) -> str:
    """`at clients = 1, 2 and 4`: the conditions of several comparisons, each factor once."""
    if not places[0]:
        return ""
    factors = [
        (path, list(dict.fromkeys(marks.level(experiment, path, place.get(path)) for place in places))) for path in places[0]
    ]
    if len(places) == math.prod(len(levels) for _, levels in factors):
        return "at " + ", ".join(f"{path} = {marks.listed(levels)}" for path, levels in factors)
    return "at " + "; ".join(marks.levels(experiment, place) for place in places)


def _ratios(same: Sequence[Comparison]) -> list[Estimate]:
    return [one.ratio for one in same if one.ratio is not None]


def _sizes(experiment: Experiment, same: Sequence[Comparison]) -> str:
    """`1.26 to 1.83 times the rate of ext4`."""
    found = sorted(_ratios(same), key=lambda ratio: ratio.value)
    if not found:
        return ""
    low, high = (measures.digits(end)[0] for end in (found[0], found[-1]))
    span = low if low == high else f"{low} to {high}"
    return comparison.sized(experiment, same[0], span)


def _spans(same: Sequence[Comparison]) -> str:
    """The hull of the intervals, where each has one."""
    found = _ratios(same)
    lowest = min(found, key=lambda ratio: ratio.low or 0.0, default=None)
    highest = max(found, key=lambda ratio: ratio.high or 0.0, default=None)
    if lowest is None or highest is None or any(ratio.low is None for ratio in found):
        return ""
    low, high = measures.digits(lowest)[1], measures.digits(highest)[2]
    return f"{measures.percent(found[0].confidence)} intervals from {low} to {high}"


def remarks(answer: Answer) -> Iterator[str]:
    """Say what is to be known of the file systems, and of what was compared."""
    yield from (f"{one.target}: {labels.storage(one.filesystem, one.devices)}" for one in answer.storages)
    yield from (remark(answer.experiment, one) for one in answer.remarks)


def remark(experiment: Experiment, one: Remarked) -> str:
    """`bulk send, box drops, tuned: No ratio ...`: what a finding says, with its comparisons where it is not of all."""
    names = dict.fromkeys(each.measure for each in one.comparisons)
    places = "; ".join(_place(experiment, [each for each in one.comparisons if each.measure == name]) for name in names)
    return f"{places}: {one.statement}" if places else one.statement


def _place(experiment: Experiment, same: Sequence[Comparison]) -> str:
    """`bulk send, box drops, tuned at clients = 4`: measure, arms and conditions of comparisons of one measure."""
    candidates = dict.fromkeys(comparison.arms_of(experiment, each) for each in same)
    where = conditions(experiment, [dict(one) for one in dict.fromkeys(tuple(each.within.items()) for each in same)])
    return f"{named(measure_of(experiment, same[0].measure))}, {marks.listed([*candidates])} {where}".rstrip()


def reservations(answer: Answer) -> Iterator[str]:
    """Say what is to be known of the schedule, the file systems and the comparisons, beside the doubts."""
    doubted = {one.statement for one in answer.doubts}
    yield from remarks(replace(answer, remarks=tuple(each for each in answer.remarks if each.statement not in doubted)))
    if answer.apart:
        count = marks.count(answer.apart, "comparison")
        yield f"{count} not interleaved: a change between the sittings would look like a difference"
    yield from (f"{note.subject}: {note.text}" for note in answer.notes)
