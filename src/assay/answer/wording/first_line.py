"""The opening of an answer in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.answer import marks
from assay.answer.answer import Answer, Required
from assay.answer.first_line import Decision, Lead, LeadKind
from assay.answer.headlines import Line
from assay.answer.scales import show, show_range
from assay.answer.wording import effects, labels, scaling
from assay.answer.wording.headlines import conditions, line
from assay.answer.wording.instead import instead
from assay.answer.wording.labels import short
from assay.measures import percent
from assay.records import Estimate, Experiment, Measure, RequirementState, Scaling, ScalingKind, Tier


def opening(answer: Answer) -> str:
    """Put the opening in words, without its verdict; empty where there is none."""
    return sentence(answer.experiment, answer.leads[0]) if answer.leads else ""


def following(answer: Answer) -> tuple[str, ...]:
    """Put in words what belongs to the opening: other measures, then the decision."""
    if not answer.leads:
        return ()
    asked, (first, *others) = answer.experiment, answer.leads
    rest = effects.sentences(asked, first.sensitivity)[1:] if first.sensitivity else []
    return (
        *rest,
        *(f"{sentence(asked, one)} [{one.state.value}]" for one in others),
        *(required(asked, one) for one in answer.requirements),
        *(decision(asked, one) for one in answer.decisions),
    )


def named(measure: Measure) -> str:
    """`files create, operations per second`."""
    return f"{marks.operation(measure.workload, measure.operation)}, {marks.figure(measure.figure)}"


def sentence(experiment: Experiment, one: Lead) -> str:
    """Put what can be said of a measure in one sentence."""
    name = named(one.measure)
    if one.sensitivity is not None:
        return f"{name}: {effects.sentences(experiment, one.sensitivity)[0]}"
    if one.growth is not None:
        return f"{name}{scaling.predicate(experiment, one.growth)}; {clause(experiment, one.lines[0])}"
    if one.kind is LeadKind.COMPARED:
        return f"{name}: {'; '.join(compared(experiment, one))}"
    if one.kind is LeadKind.FIGURE:
        return f"{name}: {figure(one)}"
    return f"{name}: {uncounted(experiment, one)}"


def compared(experiment: Experiment, one: Lead) -> Iterator[str]:
    """Name what was decided, how much more there is, and what was not decided."""
    yield from ("; ".join(filter(None, (clause(experiment, each), line(experiment, each).note))) for each in one.lines)
    if one.more:
        yield f"{one.more} more below"
    for each in one.undecided:
        text = line(experiment, each)
        yield f"undecided {text.where or text.claim} ({'; '.join(part for part in (text.size, text.interval) if part)})"


def clause(experiment: Experiment, one: Line) -> str:
    """`xfs is slower, 0.60 times the rate of ext4 at clients = 1 (95 % interval 0.54 to 0.68)`."""
    text = line(experiment, one)
    claim = ", ".join(part for part in (text.claim, text.size) if part)
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
        return f"{what} does not count: all runs disturbed: {', '.join(map(short, one.causes))}"
    fault = "cannot be believed" if one.measure.claim.tier is Tier.AS_IS else f"is no {marks.claim(one.measure.claim)}"
    known = "" if any(verdict.corrected is not None for verdict in one.verdicts) else instead(one.verdicts)
    return f"{what} {fault}: {'; '.join(part for part in (labels.usual(one.verdicts), known) if part)}"


def _amount(one: Estimate) -> str:
    """`49.9 MB/s (95 % interval 49.8 MB/s to 50.0 MB/s)`."""
    interval = show_range(one.low, one.high, one.unit) if one.low is not None else ""
    return show(one.value, one.unit) + (f" ({percent(one.confidence)} interval {interval})" if interval else "")


def _range(found: Sequence[Estimate], where: str) -> str:
    """From the smallest to the largest of several, with the hull of their intervals."""
    span = show_range(found[0].value, found[-1].value, found[0].unit)
    lows, highs = [one.low for one in found if one.low is not None], [one.high for one in found if one.high is not None]
    sure = f"{percent(found[0].confidence)} intervals from {show_range(min(lows), max(highs), found[0].unit)}" if lows else ""
    return span + (f" {where}" if where else "") + (f" ({sure})" if sure else "")


# --------------------------------------------------------------------------------------------- the decision


def required(experiment: Experiment, one: Required) -> str:
    """`required of files create, operations per second, not worse than 5 %: not met at clients = 1; met at clients = 4`."""
    alone = len({row.state for row in one.rows}) == 1
    states = []
    for state in reversed(RequirementState):
        rows = [row for row in one.rows if row.state is state]
        places = conditions(experiment, [row.levels for row in rows]) if rows and not alone else ""
        states += [f"{state.value} {places}".rstrip()] if rows else []
    title = named(one.measure) if one.measure else one.name
    return f"required of {title}, {one.text}: {'; '.join(states)} [{one.state.value}]"


def decision(experiment: Experiment, one: Decision) -> str:
    """Put a break-even, a saturation or the end of a requirement in one sentence."""
    at, what = one.scaling.at, one.scaling.factor.rpartition(".")[2]
    lowest, highest = one.scaling.lowest, one.scaling.highest
    if one.scaling.kind is not ScalingKind.BREAK_EVEN:
        return _whole(experiment, one.scaling)
    if at is not None and not one.known:
        return f"no significant break-even from {lowest:g} to {highest:g} {what}"
    if at is not None:
        interval = f"{percent(at.confidence)} interval {at.low:.3g} to {at.high:.3g}"
        return f"break-even at {at.value:.3g} {what} ({interval})"
    if one.one_order:
        return f"no break-even from {lowest:g} to {highest:g} {what}: the order is the same everywhere"
    return _whole(experiment, one.scaling)


def _whole(experiment: Experiment, one: Scaling) -> str:
    """The statement with the measure in words, without the full stop."""
    measure = next((measure for measure in experiment.measures if measure.name == one.measure), None)
    return f"{named(measure) if measure else one.measure}{scaling.predicate(experiment, one)}"
