"""The order of trials: complete randomised blocks, drawn from the seed before the first trial.

Each block holds every combination of the automatic levels once, or every one of the design. The order within a block is a
Fisher-Yates shuffle: for i from the last place down to 1, places i and floor(random() * (i + 1)) are exchanged, with Python's
`random.Random` seeded by the text "SEED:SITTING:BLOCK". `random()` gives the same numbers on every version of Python, and a
block's order does not depend on how many blocks are drawn.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from assay.experiment import design
from assay.records import Change, Experiment, Factor, Trial, Value

T = TypeVar("T")
_SEED_BITS = 48
"""Seeds of trials are exact in JSON readers that know only doubles."""


def manual(experiment: Experiment) -> Factor | None:
    """The factor that a person changes, if there is one."""
    return next((factor for factor in experiment.factors if factor.change is Change.MANUAL), None)


def sittings(experiment: Experiment) -> tuple[Value, ...]:
    """The level of each sitting in order; the first level comes back `returns` times at the end."""
    factor = manual(experiment)
    return (None,) if factor is None else (*factor.levels, *factor.levels[:1] * factor.returns)


def combinations(experiment: Experiment) -> tuple[Mapping[str, Value], ...]:
    """The combinations of a block: of the levels that change by themselves every one, or those of the design."""
    return design.combinations(experiment, [factor for factor in experiment.factors if factor.change is Change.AUTOMATIC])


def shuffled(items: Sequence[T], key: str) -> list[T]:
    """The items in an order that follows from the key alone."""
    order, source = list(items), random.Random(key)  # noqa: S311  an order, no secret
    for last in range(len(order) - 1, 0, -1):
        other = int(source.random() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def trial_seed(seed: int, block: int) -> int:
    """The seed of a trial's data and offsets: the same within a block, so that the arms it pairs do the same work."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{block}".encode()).digest()[:8], "big") >> (64 - _SEED_BITS)


def trials(experiment: Experiment, blocks: int) -> Iterator[Trial]:
    """Every trial in order. Blocks count from 0 within each sitting; `replicate` counts a combination over all sittings."""
    position = itertools.count()
    by_hand, every = manual(experiment), combinations(experiment)
    visits: dict[Value, int] = {}
    for sitting, level in enumerate(sittings(experiment)):
        visit = visits.get(level, 0)
        visits[level] = visit + 1
        for block in range(blocks):
            for levels in shuffled(every, f"{experiment.seed}:{sitting}:{block}"):
                place = next(position)
                yield Trial(
                    id=place + 1,
                    experiment=experiment.digest,
                    levels={by_hand.path: level, **levels} if by_hand else levels,
                    replicate=visit * blocks + block,
                    block=block,
                    sitting=sitting,
                    position=place,
                    seed=trial_seed(experiment.seed, block),
                )
