"""The order of trials: complete randomised blocks, balanced over pairs of blocks, drawn from the seed before the first trial.

Each block holds every combination of the automatic levels once, or every one of the design, in the order that `balance` draws
by Python's `random.Random`, seeded by texts that begin with "SEED:SITTING". `random()` gives the same numbers on every version
of Python, and a block's order does not depend on how many blocks are drawn.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping

from assay.experiment import balance, design
from assay.records import Change, Experiment, Factor, Trial, Value

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
            for levels in balance.ordered(every, f"{experiment.seed}:{sitting}", block):
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
