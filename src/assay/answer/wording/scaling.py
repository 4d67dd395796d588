"""Answers about a curve over a number of clients in words that need no manual: `8 clients do 1.8 times as much as 1 client`."""

from __future__ import annotations

from collections.abc import Mapping

from assay import measures
from assay.analysis.capacities import described
from assay.analysis.scaling.bounds import OVER
from assay.analysis.scaling.law import FULL_SHARE
from assay.measures.text import level
from assay.records import CapacitySource, Estimate, Experiment, Fit, LawName, Method, Scaling, ScalingKind, Shape, Value
from assay.units import Unit

NOUNS: Mapping[str, str] = {"depth": "requests in flight"}
"""What a factor counts, where its name is no plural."""
NOTED = 0.02
"""Other programs' share of a resource is told from here on, as in rule N03."""
LAWS: Mapping[LawName, str] = {
    LawName.LINEAR: "a straight line",
    LawName.CLIPPED: "a straight line up to a level",
    LawName.AMDAHL: "Amdahl's law",
    LawName.USL: "Gunther's law",
}


def statement(experiment: Experiment, one: Scaling) -> str:
    """Put an answer in one sentence, its measure by its name in the file."""
    return f"{one.measure}{predicate(experiment, one)}{trust(one)}."


def trust(one: Scaling) -> str:
    """` [TAINTED]`: the verdict of the cells that an answer rests on; nothing where they were not judged."""
    return f" [{one.verdict.value}]" if one.verdict else ""


def predicate(experiment: Experiment, one: Scaling) -> str:
    """Say what a curve does, behind the name of its measure: ` at target = ext4 peaks at ...`."""
    if one.kind is ScalingKind.BREAK_EVEN and one.order is not None:
        return f"{pairing(experiment, one)}: {order(one, *_arms(experiment, one))}"
    here = where(experiment, one.within)
    if one.kind is ScalingKind.LAW:
        return f"{here} {growth(one)}"
    if one.kind is ScalingKind.OBJECTIVE:
        return f"{here} {one.requirement} {keeping(one)}"
    if one.kind is ScalingKind.KNEE:
        return f"{here}: {knee(one)}"
    if one.shape is Shape.ON_CREDIT:
        return f"{here}: {credit(one)}"
    return f"{here} {fullness(one)}" if one.use and one.use.capacity is None else f"{here}: {resource(one)} {fullness(one)}"


def pairing(experiment: Experiment, one: Scaling) -> str:
    """` at depth = 8, xfs against ext4`: which arms a break-even is of, behind the name of its measure."""
    assert one.order is not None
    within = {path: each for path, each in one.within.items() if path != one.order.compared}
    return f"{where(experiment, within)}, {' against '.join(_arms(experiment, one))}"


def _arms(experiment: Experiment, one: Scaling) -> tuple[str, str]:
    """Candidate and baseline."""
    assert one.order is not None
    candidate, baseline = (level(experiment, one.order.compared, each) for each in (one.order.candidate, one.order.baseline))
    return candidate, baseline


def fitted(one: Fit) -> str:
    """`Gunther's law, contention 5 %, coherency 0.3 %`."""
    parts = {
        LawName.AMDAHL: (f"contention {measures.percent(one.contention)}",),
        LawName.USL: (f"contention {measures.percent(one.contention)}", f"coherency {measures.percent(one.coherency)}"),
    }
    return ", ".join((LAWS[one.law], *parts.get(one.law, ())))


def counted(path: str) -> str:
    """Name what a factor counts: `clients`, `requests in flight`."""
    name = path.rpartition(".")[2]
    return NOUNS.get(name, name)


def so_many(number: float, what: str) -> str:
    """`1 client`, `8 clients`, `1 request in flight`."""
    if number != 1:
        return f"{number:g} {what}"
    first, *rest = what.split(" ", 1)
    return " ".join(("1", first.removesuffix("s"), *rest))


def number(at: Estimate) -> str:
    """`5.2 (4.3 to 6.8)`."""
    return f"{at.value:.3g} ({at.low:.3g} to {at.high:.3g})"


def where(experiment: Experiment, levels: Mapping[str, Value]) -> str:
    """` at target = ext4`; nothing where no other factor varies."""
    return f" at {', '.join(f'{path} = {level(experiment, path, each)}' for path, each in levels.items())}" if levels else ""


def span(one: Scaling) -> str:
    """`1 to 8`: the measured range."""
    return f"{one.lowest:g} to {one.highest:g}"


def growth(one: Scaling) -> str:
    """Say how a curve runs over the measured range; nothing follows for fewer or more."""
    assert one.growth is not None
    what = counted(one.factor)
    open_end = f"no peak from {span(one)}"
    if one.shape is Shape.PEAK and one.at is not None:
        by_points = "" if one.at.method is Method.SCALING_LAW else ": highest measured rate, since no law fits all numbers"
        return f"peaks at {number(one.at)} {what} and falls beyond{by_points}"
    side = side_by_side(one, one.growth.times)
    contention = one.growth.fit.contention
    waiting = f", as if {measures.percent(contention)} of the work were serial" if contention else ""
    texts = {
        Shape.IRREGULAR: f"fits no scaling law: {side}; {open_end}",
        Shape.PLATEAU: f"grows in proportion up to about {one.growth.bend or 0:.2g} {what} and is flat up to {one.highest:g}",
        Shape.PROPORTIONAL: f"grows in proportion up to {one.highest:g} {what}: no limit reached, nothing follows for more",
        Shape.FALLING: f"falls: {side}",
    }
    return texts.get(one.shape, f"flattens: {side}{waiting}; {open_end}")


def side_by_side(one: Scaling, times: float) -> str:
    """`8 clients do 1.8 times as much as 1 client`."""
    what = counted(one.factor)
    return f"{one.highest:g} {what} do {times:.3g} times as much as {so_many(one.lowest, what)}"


def spot(one: Scaling) -> str:
    """`5.2 (4.3 to 6.8)`, `5.2 (4.3 to 8 or more)`: a crossing with its interval, as far as that was measured."""
    assert one.at is not None
    low = f"{one.lowest:.3g} or fewer" if one.open_low else f"{one.at.low:.3g}"
    high = f"{one.highest:.3g} or more" if one.open_high else f"{one.at.high:.3g}"
    return f"{one.at.value:.3g} ({low} to {high})"


def resource(one: Scaling) -> str:
    """`use of the 4 CPUs of the host`."""
    return f"use of {described(one.use.capacity)}" if one.use and one.use.capacity else ""


def shared(one: Scaling) -> str:
    """`; other programs had 78 % of them`: who else had a resource, as far as that is a percent of it."""
    others = one.use.others if one.use else None
    return f"; other programs had {measures.percent(others)} of them" if others is not None and others >= NOTED else ""


def fullness(one: Scaling) -> str:
    """Say where a share reaches nine tenths, and what other programs had besides."""
    return f"{filled(one)}{shared(one)}"


def filled(one: Scaling) -> str:
    """Say where the load's own share reaches nine tenths."""
    assert one.use is not None
    full, most, what = measures.percent(FULL_SHARE), measures.percent(one.use.share), counted(one.factor)
    end = so_many(one.highest, what)
    if one.shape is Shape.CROSSES:
        return f"reaches {full} at {spot(one)} {what}"
    texts = {
        Shape.CROSSES_BY_MEANS: f"reaches {full} near {one.near or 0:.3g} {what} by the means; noise alone can do that",
        Shape.FULL_FROM_START: f"is {full} or more already with {so_many(one.lowest, what)}",
        Shape.PERHAPS_FULL: f"is {most} at most up to {end}; its interval includes {full}",
    }
    return texts.get(one.shape, f"stays below {full} up to {end} (at most {most})")


def credit(one: Scaling) -> str:
    """Say that nothing follows from a limit that was not in force."""
    assert one.use is not None
    assert one.use.capacity is not None
    return (
        f"{measures.percent(one.use.share)} of {described(one.use.capacity)} passed while the clock ran, more than the limit."
        " Cause: burst credit in short trials, or a wrong declaration. No saturation and no knee follow"
    )


def order(one: Scaling, candidate: str, baseline: str) -> str:
    """Say where the order of two arms changes, or who leads at every number."""
    assert one.order is not None
    what, side = counted(one.factor), "above" if one.order.above else "below"
    places = ", ".join(f"{at:g}" for at in one.order.unsure)
    if one.shape is Shape.CROSSES:
        return f"break-even at {spot(one)} {what}; beyond it {candidate} is {side} {baseline}"
    texts = {
        Shape.CROSSES_BY_MEANS: f"the means cross near {one.near or 0:.3g} {what}; noise alone can do that: no break-even",
        Shape.CROSSES_OFTEN: f"the order changes {one.order.crossings} times from {span(one)} {what}: no break-even",
        Shape.INDISTINCT: f"no significant difference at any number from {span(one)} {what}: a break-even stays open",
        Shape.ORDER_KEPT: f"{candidate} is {side} {baseline} everywhere from {span(one)} {what}: no break-even in that range",
    }
    unsure = f"{candidate} is {side} {baseline} from {span(one)} {what} by the means, within noise at {places}"
    return texts.get(one.shape, f"{unsure}: a break-even there stays open")


def keeping(one: Scaling) -> str:
    """Say up to which number a requirement is kept."""
    what = counted(one.factor)
    if one.shape is Shape.CROSSES:
        return f"is kept up to {spot(one)} {what}"
    texts = {
        Shape.CROSSES_BY_MEANS: f"is kept up to about {one.near or 0:.3g} {what} by the means; noise allows any number "
        f"from {span(one)}",
        Shape.KEPT: f"is kept at all numbers from {span(one)} {what}: its end is not in the measured range",
        Shape.NOT_KEPT: f"is kept at none of the numbers from {span(one)} {what}",
    }
    return texts.get(one.shape, f"is kept at some numbers from {span(one)} {what} and not at the rest: no simple answer")


def knee(one: Scaling) -> str:
    """Say where the knee is and what follows, or why there is none."""
    assert one.knee is not None
    assert one.use is not None
    assert one.use.capacity is not None
    what, name, share = counted(one.factor), described(one.use.capacity), measures.percent(one.use.share)
    many = so_many(one.knee.number or 0, what)
    if one.shape is Shape.KNEE:
        over = "; rates above it did not last: I/O after the clock counts here" if one.use.share > OVER else ""
        at_most = measures.with_unit(one.knee.bound, Unit(one.knee.unit))
        found = f"knee at {number(one.knee.estimate)} {what}: beyond it the bound is {name}, {at_most}; {share} reached{over}"
        return f"{found}{shared(one)}"
    texts = {
        Shape.KNEE_BELOW_RANGE: f"{so_many(1, what)} alone uses {share} of {name}: no knee from {span(one)}{shared(one)}",
        Shape.KNEE_BEYOND_RANGE: f"by the rate of {so_many(1, what)} and by {name} ({share} used), the knee would be at "
        f"{number(one.knee.estimate)} {what}: not in the measured range, {span(one)}{shared(one)}",
        Shape.MORE_THAN_ALONE: f"{many} do more than {one.knee.number} times as much as {so_many(1, what)}: no knee follows. "
        f"The run of {so_many(1, what)} was disturbed, or the machine went idle between its operations",
    }
    return texts.get(one.shape) or held_back(one, many)


def held_back(one: Scaling, many: str) -> str:
    """Say that something holds a curve back that is no resource that is known, so that their knee is not its own."""
    assert one.knee is not None
    assert one.use is not None
    assert one.use.capacity is not None
    what, name = counted(one.factor), described(one.use.capacity)
    kinds = (
        "a lock, a journal, a queue" if one.use.capacity.source is CapacitySource.PATH else "a path, a lock, a journal, a queue"
    )
    done, least = (measures.with_unit(value or 0.0, Unit(one.knee.unit)) for value in (one.knee.rate, one.knee.least))
    theirs = one.use.others or 0.0
    limit = f"an unlisted limit ({kinds}) holds it back"
    if theirs >= NOTED:
        limit = f"other programs, with {measures.percent(theirs)} of {name}, or an unlisted limit ({kinds}) hold it back"
    return (
        f"{limit}. {many} do {done}; the rate of {so_many(1, what)} "
        f"and the listed resources allow {least} or more. The knee of these resources alone would be at "
        f"{number(one.knee.estimate)} {what}, by {name} ({measures.percent(one.use.share)} used)"
    )
