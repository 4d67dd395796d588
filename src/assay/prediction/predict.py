"""What a production load uses of another platform: its demands there, or a multiplier, with an interval, queueing and servers.

U_new = (U_0 + sum over c of rate_c D_c) / capacity for each resource whose capacity is known, drawn jointly over trials, busy
hours and how far the capacity is known. The one that is fullest saturates first. Where only a utilisation of the old platform is
known, that of its CPUs is scaled by the multipliers m_c = D_c,new / D_c,old: the middle assumes the mix of the trials, the
ends are those of the class with the smallest and of the one with the largest multiplier, since the mix is not known; where its
shares are told, it is scaled by the multiplier of that mix.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay.analysis.resources import RESOURCES
from assay.frozen import dataclass
from assay.prediction.demand import Demand
from assay.prediction.question import Holdout, MachineCapacity, Platform, Question, Range
from assay.statistics.queueing import Demands, amounts, carried, quantiles, scaled, slowdown, used_by
from assay.units import Unit, digits, human

BEYOND = 1.5
"""From so many times the most that was measured on, a prediction says how far it goes beyond that."""
UNKNOWN_MIX = (
    "Only the utilisation of production is known. The estimate assumes the mix of the trials;"
    " the ends use the operations with the smallest and the largest multiplier."
)
ONE_MULTIPLIER = "One multiplier for all operations: assumes that production has the mix of the trials behind the multiplier."


def assumptions(question: Question) -> Iterator[str]:
    """Yield what is taken for granted, in sentences."""
    production = question.production
    if production.used is not None and (question.multiplier is not None or production.mix is None):
        yield ONE_MULTIPLIER if question.multiplier is not None else UNKNOWN_MIX
    yield from of_platforms("new", [capacity.platform for capacity in question.capacities if capacity.platform])
    yield from of_platforms("old", [question.old] if question.old else [])
    if question.speed != 1:
        yield f"One CPU of the new machine does {question.speed:g} times the work of a measured CPU."


def beyond(uses: Iterable[tuple[MachineCapacity, float]]) -> Iterator[str]:
    """That a load is heavier than any that was measured; `uses`: a capacity and the share of it that production uses."""
    found: dict[str, float] = {}
    for capacity, share in uses:
        platform, used = capacity.platform, share * capacity.amount[1]
        if platform is not None and used > BEYOND * platform.most_used > 0:
            found[RESOURCES[capacity.resource].words] = used / platform.most_used
    if found:
        ends = (min(found.values()), max(found.values()))
        times = " to ".join(dict.fromkeys(digits(end, 2, trimmed=True) for end in ends))
        yield (
            f"[new] ({'; '.join(found)}): production uses {times} times the maximum of any trial. An operation may cost more"
            " there (caches, locks, interrupts); these trials cannot show it."
        )


def of_platforms(name: str, platforms: Sequence[Platform]) -> Iterator[str]:
    """Yield what is taken for granted of several resources of one machine; what holds for all of them is said once."""
    found: dict[str, list[str]] = {}
    for platform in platforms:
        for text in of_platform(platform):
            found.setdefault(text, []).append(RESOURCES[platform.demand.resource].words)
    for text, of in found.items():
        which = "" if len(of) == len(platforms) else f" ({'; '.join(of)})"
        yield f"[{name}]{which}: {text}"


def of_platform(platform: Platform) -> Iterator[str]:
    """Yield what is taken for granted of the demands of one platform."""
    found = platform.found
    if platform.demand.together:
        both = ", ".join(f"{name} is part of {other}" for name, other in platform.demand.together.items())
        yield f"{both}: both always occurred together."
    if RESOURCES[platform.demand.resource].idles and not found.has_background:
        yield "the mixes do not show the background use; assumed to be none."
    if found.misfit is None:
        yield "no mix checks that use is the sum over operations; the interval includes 5 % for it."
    elif not found.is_linear:
        yield (
            f"use is not the sum over operations: one mix is {human(found.misfit, Unit.SHARE, 2)} off."
            " The interval includes it; demands depend on the load or on the mix."
        )


BUSY = 0.7
"""Above this utilisation response times grow steeply: a single queue takes more than 3.3 times its service time."""


@dataclass(frozen=True, kw_only=True)
class ResourceUse:
    """What the load uses of one resource."""

    capacity: MachineCapacity
    utilisation: Range
    """Share of all there is; above 1 is more than that."""
    slowdown: Range
    """Response time over service time, at each of them; infinite from full load on."""
    servers: tuple[int | None, int | None]
    """So many machines keep each at BUSY or below: at the middle and at the upper end; None where no number does."""
    background: float
    """The share that is used with no operation; 0 where the load is told as a utilisation, which has it within."""
    hours: tuple[str, ...] = ()
    """The hours that counted, where they have names."""

    @property
    def times(self) -> float:
        """So many times this load use all there is; infinite where it uses nothing."""
        load = self.utilisation[1] - self.background
        return max(0.0, 1 - self.background) / load if load > 0 else math.inf


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The answer."""

    question: Question
    uses: tuple[ResourceUse, ...]
    """In the order of the capacities."""
    multipliers: Mapping[str, Range]
    """Operation -> new over old, of the CPUs; empty where nobody measured both."""
    assumptions: tuple[str, ...]

    @property
    def first(self) -> ResourceUse:
        """What saturates first when the load grows."""
        return max(self.uses, key=lambda use: use.utilisation[1])

    @property
    def rivals(self) -> tuple[ResourceUse, ...]:
        """What may saturate before it: their intervals reach into its own."""
        first = self.first
        return tuple(use for use in self.uses if use is not first and use.utilisation[2] >= first.utilisation[0])

    @property
    def utilisation(self) -> Range:
        """Of what saturates first."""
        return self.first.utilisation

    @property
    def slowdown(self) -> Range:
        """Of what saturates first."""
        return self.first.slowdown

    @property
    def servers(self) -> tuple[int | None, int | None]:
        """Machines, by the resource that takes most of them."""
        likely, most = ([use.servers[end] for use in self.uses] for end in (0, 1))
        return most_of(likely), most_of(most)

    @property
    def is_validated(self) -> bool | None:
        """Whether every mix that was held out was met in every resource; None where none was."""
        held = self.holdouts
        return all(one.is_covered for _, one in held) if held else None

    @property
    def holdouts(self) -> tuple[tuple[Platform, Holdout], ...]:
        """Every test of a demand on the new platform."""
        new = (use.capacity.platform for use in self.uses)
        return tuple((platform, one) for platform in new if platform is not None for one in platform.holdouts)


def most_of(counts: Sequence[int | None]) -> int | None:
    """Return the largest; None where one has no bound."""
    known = [count for count in counts if count is not None]
    return max(known) if len(known) == len(counts) else None


def predict(question: Question) -> Prediction:
    """Carry the load over. The file was read, so everything that this needs is there."""
    uses = tuple(use(question, capacity) for capacity in question.capacities)
    return Prediction(
        question=question,
        uses=uses,
        multipliers=of_classes(question),
        assumptions=(*assumptions(question), *beyond((one.capacity, one.utilisation[1]) for one in uses)),
    )


def use(question: Question, capacity: MachineCapacity) -> ResourceUse:
    """Return what the load uses of one resource."""
    exact = of_rates(question, capacity) if question.production.operations else of_share(question, capacity)
    utilisation = _three([round(one, 9) for one in exact])
    platform = capacity.platform if question.production.operations else None
    background = platform.found.background / capacity.amount[1] if platform else 0.0
    return ResourceUse(
        capacity=capacity,
        utilisation=utilisation,
        slowdown=_three([slowdown(capacity.servers, one) for one in utilisation]),
        servers=(servers(utilisation[1], background), servers(utilisation[2], background)),
        background=background,
        hours=named_hours(question, capacity),
    )


def named_hours(question: Question, capacity: MachineCapacity) -> tuple[str, ...]:
    """Return the names of the hours that counted."""
    if not question.production.hours or capacity.platform is None:
        return ()
    return tuple(question.production.hours[hour] for hour in hours(question, capacity.platform))


def servers(utilisation: float, background: float = 0.0) -> int | None:
    """Return how many machines keep each of them at BUSY or below: the load is shared, what a machine uses without it is not.

    None where no number does: the utilisation has no bound, or the background alone is more.
    """
    if utilisation <= BUSY:
        return 1
    if not math.isfinite(utilisation) or background >= BUSY:
        return None
    return math.ceil(round((utilisation - background) / (BUSY - background), 6))


def of_rates(question: Question, capacity: MachineCapacity) -> Range:
    """Return the utilisation of a resource of the new machine from the operations/s of production."""
    assert capacity.platform is not None
    used = carried(capacity.platform.found, list(hours(question, capacity.platform).values()))
    return quantiles(used / amounts(capacity.amount, len(used)))


def hours(question: Question, platform: Platform) -> dict[int, list[float]]:
    """Return the hours of production that count, by their place: the rates of all operations that were measured."""
    production, demand = question.production, platform.demand
    count = max(len(rates) for rates in production.operations.values())
    every = {hour: [_at(production.operations.get(name, (0.0,)), hour) for name in demand.operations] for hour in range(count)}

    def use_in(hour: int) -> float:
        return sum(each * rate for each, rate in zip(platform.found.each, every[hour], strict=True))

    chosen = sorted(every, key=use_in, reverse=True)[: production.busiest or count]
    return {hour: every[hour] for hour in sorted(chosen)}


def _at(rates: Sequence[float], hour: int) -> float:
    return rates[hour] if len(rates) > 1 else rates[0]


def of_share(question: Question, capacity: MachineCapacity) -> Range:
    """Return the utilisation of the new machine's CPUs from that of the old one's."""
    production = question.production
    assert production.used is not None
    low, high = (share * production.cpus / capacity.amount[1] for share in production.used)
    if question.multiplier is not None:
        least, most = question.multiplier
        return low * least, (low + high) / 2 * (least + most) / 2, high * most
    if production.mix is not None:
        least, likely, most = of_mix(question, production.mix)
        return low * least, (low + high) / 2 * likely, high * most
    every = of_classes(question).values()
    middle = mixed(question)
    return low * min(one[0] for one in every), (low + high) / 2 * middle, high * max(one[2] for one in every)


def of_mix(question: Question, mix: Mapping[str, float]) -> Range:
    """Return the multiplier of a mix whose shares are known: what one operation of it takes, new over old."""
    import numpy as np

    old, new = question.old, question.new
    assert old is not None
    assert new is not None
    before, after = (
        platform.found.draws[:, 1:] @ np.array([mix.get(name, 0.0) for name in platform.demand.operations])
        for platform in (old, new)
    )
    shuffled = np.random.default_rng(6).permutation(after)
    return quantiles(np.divide(shuffled, before, out=np.full(len(before), np.inf), where=before > 0))


def of_classes(question: Question) -> Mapping[str, Range]:
    """Return the multiplier of each operation that both platforms did."""
    if question.old is None or question.new is None:
        return {}
    old, new = question.old, question.new
    return {
        name: scaled(old.found, old.demand.operations.index(name), new.found, new.demand.operations.index(name))
        for name in old.demand.operations
        if name in new.demand.operations
    }


def mixed(question: Question) -> float:
    """Return the multiplier of the mix of the old platform's trials."""
    assert question.old is not None
    assert question.new is not None
    rates = dict(zip(question.old.demand.operations, question.old.trial_rates, strict=True))
    before, after = (_uses(platform, rates) for platform in (question.old, question.new))
    return after / before


def _uses(platform: Platform, rates: Mapping[str, float]) -> float:
    each = dict(zip(platform.demand.operations, platform.found.each, strict=True))
    return sum(rate * each.get(name, 0.0) for name, rate in rates.items())


def tested(demand: Demand, mix: str, rates: Mapping[str, Sequence[float]], used: Sequence[float]) -> Holdout:
    """A mix that was held out: the mean of its trials against what the demands say of it. `rates`: operation -> one a trial."""
    assert isinstance(demand.found, Demands)
    means = [math.fsum(rates.get(name, (0.0,))) / len(used) for name in demand.operations]
    predicted = quantiles(used_by(demand.found, means, trials=len(used)))
    return Holdout(mix=mix, predicted=predicted, observed=math.fsum(used) / len(used), trials=len(used))


def _three(values: Sequence[float]) -> Range:
    low, middle, high = values
    return low, middle, high
