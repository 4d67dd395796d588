"""What a prediction takes for granted, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from assay.analysis.resources import RESOURCES
from assay.prediction.question import Capacity, Platform, Question

BEYOND = 1.5
"""From so many times the most that was measured on, a prediction says how far it goes beyond that."""
UNKNOWN_MIX = (
    "Only the utilisation of production is known: the middle assumes that its mix is that of the trials, the ends are those of"
    " the operation with the smallest and of the one with the largest multiplier."
)
ONE_MULTIPLIER = "One multiplier for all: assumes that production's mix is that of the trials from which the multiplier is."


def assumptions(question: Question) -> Iterator[str]:
    """What is taken for granted, in sentences."""
    production = question.production
    if production.used is not None and (question.multiplier is not None or production.mix is None):
        yield ONE_MULTIPLIER if question.multiplier is not None else UNKNOWN_MIX
    yield from of_platforms("new", [capacity.platform for capacity in question.capacities if capacity.platform])
    yield from of_platforms("old", [question.old] if question.old else [])
    if question.speed != 1:
        yield f"One processor of the machine to be does {question.speed:g} times what one that was measured does."


def beyond(uses: Iterable[tuple[Capacity, float]]) -> Iterator[str]:
    """That a load is heavier than any that was measured; `uses`: a capacity and the share of it that production uses."""
    found: dict[str, float] = {}
    for capacity, share in uses:
        platform, used = capacity.platform, share * capacity.amount[1]
        if platform is not None and used > BEYOND * platform.most_used > 0:
            found[RESOURCES[capacity.resource].said] = used / platform.most_used
    if found:
        times = " to ".join(dict.fromkeys(f"{end:.2g}" for end in (min(found.values()), max(found.values()))))
        yield (
            f"[new] ({'; '.join(found)}): production uses {times} times the most that any trial did; an operation may take more"
            " there (caches, locks, interrupts), which these trials cannot show."
        )


def of_platforms(name: str, platforms: Sequence[Platform]) -> Iterator[str]:
    """What is taken for granted of several resources of one machine; what holds for all of them is said once."""
    found: dict[str, list[str]] = {}
    for platform in platforms:
        for text in of_platform(platform):
            found.setdefault(text, []).append(RESOURCES[platform.demand.resource].said)
    for text, of in found.items():
        which = "" if len(of) == len(platforms) else f" ({'; '.join(of)})"
        yield f"[{name}]{which}: {text}"


def of_platform(platform: Platform) -> Iterator[str]:
    """What is taken for granted of the demands of one platform."""
    found = platform.found
    if platform.demand.together:
        both = ", ".join(f"{name} is part of {other}" for name, other in platform.demand.together.items())
        yield f"{both}: the two were always done together."
    if RESOURCES[platform.demand.resource].idles and not found.has_background:
        yield "the mixes do not tell what is used with no operation; taken as none."
    if found.misfit is None:
        yield "no mix checks that what is used is the sum over operations; the interval allows for 5 %."
    elif not found.is_linear:
        yield (
            f"what is used is not the sum over operations: one mix is {found.misfit * 100:.2g} % off, for which the interval"
            " allows; demands depend on the load or on the mix."
        )
