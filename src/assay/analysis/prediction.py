"""What a production load uses of another platform: its demands there, or a multiplier, with an interval, queueing and servers.

U_new = (U_0 + sum over c of rate_c D_c) / capacity, drawn jointly over trials and busy hours. Where only a utilisation of the old
platform is known, it is scaled by the multipliers m_c = D_c,new / D_c,old: the middle assumes the mix of the trials, the ends are
those of the class with the smallest and of the one with the largest multiplier, since the mix is not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.analysis.demand import RESOURCES, Demand
from assay.statistics.erlang import slowdown
from assay.statistics.service_demand import Demands, carried, quantiles, scaled, used_by

BUSY = 0.7
"""Above this utilisation response times grow steeply: a single queue takes more than 3.3 times its service time."""
UNKNOWN_MIX = (
    "Only the utilisation of production is known: the middle assumes that its mix is that of the trials, the ends are those of"
    " the operation with the smallest and of the one with the largest multiplier."
)
ONE_MULTIPLIER = "One multiplier for all: assumes that production's mix is that of the trials from which the multiplier is."
Range = tuple[float, float, float]
"""Low, middle and high of a 90 % interval."""


@dataclass(frozen=True, kw_only=True)
class Holdout:
    """A mix that took no part in the fit: what it was predicted to use, and what it did."""

    mix: str
    predicted: Range
    """Units/s."""
    observed: float
    trials: int

    @property
    def is_met(self) -> bool:
        """Whether what was seen lies within the interval."""
        return self.predicted[0] <= self.observed <= self.predicted[2]


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A machine in the laboratory, and how much of it there is or is to be."""

    source: str
    demand: Demand
    trial_rates: tuple[float, ...]
    """Mean operations/s of the fitted trials, by operation as the demand has them."""
    holdouts: tuple[Holdout, ...] = ()

    @property
    def found(self) -> Demands:
        """The demands; only platforms that have them are made."""
        assert isinstance(self.demand.found, Demands)
        return self.demand.found


@dataclass(frozen=True, kw_only=True)
class Production:
    """What production does: operations/s of each busy hour, or how busy its machine is."""

    operations: Mapping[str, tuple[float, ...]]
    used: tuple[float, float] | None
    """Share of all its processors, from and to."""
    processors: int
    """Of the machine that is so busy."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The whole file."""

    title: str
    question: str
    production: Production
    old: Platform | None
    new: Platform | None
    multiplier: tuple[float, float] | None
    processors: int
    """Of the machine that is to carry it."""
    speed: float
    """What one processor of it does against one of the laboratory's (of the old machine's, where a multiplier was told)."""

    @property
    def capacity(self) -> float:
        """Processors of it, as the laboratory's."""
        return self.processors * self.speed


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The answer."""

    question: Question
    utilisation: Range
    """Share of all processors; above 1 is more than there is."""
    slowdown: Range
    """Response time over service time, at each of them; infinite from full load on."""
    servers: tuple[int | None, int | None]
    """So many machines keep each at BUSY or below: at the middle and at the upper end; None where no number does."""
    multipliers: Mapping[str, Range]
    """Operation -> new over old; empty where nobody measured both."""
    assumptions: tuple[str, ...]

    @property
    def is_validated(self) -> bool | None:
        """Whether every mix that was held out was met; None where none was."""
        held = self.question.new.holdouts if self.question.new else ()
        return all(one.is_met for one in held) if held else None


def predict(question: Question) -> Prediction:
    """Carry the load over. The file was read, so everything that this needs is there."""
    exact = of_rates(question) if question.production.operations else of_share(question)
    utilisation = _three([round(one, 9) for one in exact])
    return Prediction(
        question=question,
        utilisation=utilisation,
        slowdown=_three([slowdown(question.processors, one) for one in utilisation]),
        servers=(servers(utilisation[1]), servers(utilisation[2])),
        multipliers=of_classes(question),
        assumptions=tuple(assumptions(question)),
    )


def servers(utilisation: float) -> int | None:
    """So many machines keep each of them at BUSY or below; None where the utilisation has no bound."""
    if not math.isfinite(utilisation):
        return None
    return max(1, math.ceil(round(utilisation / BUSY, 6)))


def of_rates(question: Question) -> Range:
    """The utilisation of the new machine from the operations/s of production."""
    assert question.new is not None
    found, operations = question.new.demand, question.production.operations
    hours = max(len(rates) for rates in operations.values())
    table = [[_at(operations.get(name, (0.0,)), hour) for name in found.operations] for hour in range(hours)]
    low, middle, high = quantiles(carried(question.new.found, table))
    return low / question.capacity, middle / question.capacity, high / question.capacity


def _at(rates: Sequence[float], hour: int) -> float:
    return rates[hour] if len(rates) > 1 else rates[0]


def of_share(question: Question) -> Range:
    """The utilisation of the new machine from that of the old one."""
    assert question.production.used is not None
    low, high = (share * question.production.processors / question.capacity for share in question.production.used)
    if question.multiplier is not None:
        least, most = question.multiplier
        return low * least, (low + high) / 2 * (least + most) / 2, high * most
    every = of_classes(question).values()
    middle = mixed(question)
    return low * min(one[0] for one in every), (low + high) / 2 * middle, high * max(one[2] for one in every)


def of_classes(question: Question) -> Mapping[str, Range]:
    """The multiplier of each operation that both platforms did."""
    if question.old is None or question.new is None:
        return {}
    old, new = question.old, question.new
    return {
        name: scaled(old.found, old.demand.operations.index(name), new.found, new.demand.operations.index(name))
        for name in old.demand.operations
        if name in new.demand.operations
    }


def mixed(question: Question) -> float:
    """The multiplier of the mix of the old platform's trials."""
    assert question.old is not None
    assert question.new is not None
    rates = dict(zip(question.old.demand.operations, question.old.trial_rates, strict=True))
    before, after = (_uses(platform, rates) for platform in (question.old, question.new))
    return after / before


def _uses(platform: Platform, rates: Mapping[str, float]) -> float:
    each = dict(zip(platform.demand.operations, platform.found.each, strict=True))
    return sum(rate * each.get(name, 0.0) for name, rate in rates.items())


def assumptions(question: Question) -> Iterator[str]:
    """What is taken for granted, in sentences."""
    if question.production.used is not None:
        yield ONE_MULTIPLIER if question.multiplier is not None else UNKNOWN_MIX
    for name, platform in (("new", question.new), ("old", question.old)):
        yield from () if platform is None else (f"[{name}]: {text}" for text in of_platform(platform))
    if question.speed != 1:
        yield f"One processor of the machine to be does {question.speed:g} times what one that was measured does."


def of_platform(platform: Platform) -> Iterator[str]:
    """What is taken for granted of the demands of one platform."""
    found = platform.found
    if RESOURCES[platform.demand.resource].idles and not found.has_background:
        yield "the mixes do not tell what is used with no operation; taken as none."
    if found.misfit is None:
        yield "no mix checks that what is used is the sum over operations; the interval allows for 5 %."
    elif not found.is_linear:
        yield (
            f"what is used is not the sum over operations: one mix is {found.misfit * 100:.2g} % off, for which the interval"
            " allows; demands depend on the load or on the mix."
        )


def tested(demand: Demand, mix: str, rates: Mapping[str, Sequence[float]], used: Sequence[float]) -> Holdout:
    """A mix that was held out: the mean of its trials against what the demands say of it. `rates`: operation -> one a trial."""
    assert isinstance(demand.found, Demands)
    means = [math.fsum(rates.get(name, (0.0,))) / len(used) for name in demand.operations]
    predicted = quantiles(used_by(demand.found, means, trials=len(used)))
    return Holdout(mix=mix, predicted=predicted, observed=math.fsum(used) / len(used), trials=len(used))


def _three(values: Sequence[float]) -> Range:
    low, middle, high = values
    return low, middle, high
