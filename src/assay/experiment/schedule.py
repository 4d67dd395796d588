"""The order of trials: complete randomised blocks, balanced over pairs of blocks, drawn from the seed before the first trial.

Each block holds every combination of the automatic levels once, or every one of the design, in the order that `ordered` draws
by Python's `random.Random`, seeded by texts that begin with "SEED:SITTING". `random()` gives the same numbers on every version
of Python, and a block's order does not depend on how many blocks are drawn.

Blocks come in pairs, of which the second is the first one backwards: whatever rises or falls evenly over a pair meets all arms
alike, and of two arms each is the first one once. The pairs are rows of a Williams square, drawn in random order and with arms
put on its letters at random: in a cycle (as many blocks as arms, or twice as many of an odd number) each arm stands at each
place equally often and comes after each other one equally often.

References: E. J. Williams, Experimental designs balanced for the estimation of residual effects of treatments, Australian J. of
Scientific Research A 2 (1949), 149-168; D. R. Cox, Some systematic experimental designs, Biometrika 38 (1951), 312-323.
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


def shuffled(items: Sequence[T], key: str) -> list[T]:
    """Return the items in an order that follows from the key alone (Fisher-Yates)."""
    order, source = list(items), random.Random(key)  # noqa: S311  an order, no secret
    for last in range(len(order) - 1, 0, -1):
        other = int(source.random() * (last + 1))
        order[last], order[other] = order[other], order[last]
    return order


def ordered(items: Sequence[T], key: str, block: int) -> list[T]:
    """The items in the order of this block (from 0); it follows from the key and the block, however many blocks are drawn."""
    pairs = pairs_of_cycle(len(items))
    cycle, pair = divmod(block // 2, pairs)
    letters = shuffled(items, f"{key}:{cycle}")
    row = shuffled(range(pairs), f"{key}:{cycle}:rows")[pair]
    backwards = random.Random(f"{key}:{cycle}:{pair}").random() < 1 / 2  # noqa: S311  an order, no secret
    found = [letters[letter] for letter in williams(len(items), row)]
    return found[::-1] if backwards != bool(block % 2) else found


def pairs_of_cycle(arms: int) -> int:
    """Pairs of blocks after which all is balanced: a square of an even number of arms has its rows backwards in itself."""
    return max(1, arms if arms % 2 else arms // 2)


def williams(arms: int, row: int) -> list[int]:
    """Return a row of the square, as numbers of arms: 0, 1, -1, 2, -2, ... shifted by the row."""
    steps = ((place + 1) // 2 * (1 if place % 2 else -1) for place in range(arms))
    return [(step + row) % arms for step in steps]


_SEED_BITS = 48
"""Seeds of trials are exact in JSON readers that know only doubles."""


def manual(experiment: Experiment) -> Factor | None:
    """Return the factor that a person changes, if there is one."""
    return next((factor for factor in experiment.factors if factor.change is Change.MANUAL), None)


def sittings(experiment: Experiment) -> tuple[Value, ...]:
    """Return the level of each sitting in order; the first level comes back `returns` times at the end."""
    factor = manual(experiment)
    return (None,) if factor is None else (*factor.levels, *factor.levels[:1] * factor.returns)


def combinations(experiment: Experiment) -> tuple[Mapping[str, Value], ...]:
    """Return the combinations of a block: of the levels that change by themselves every one, or those of the design."""
    return design.combinations(experiment, [factor for factor in experiment.factors if factor.change is Change.AUTOMATIC])


def trial_seed(seed: int, block: int) -> int:
    """Return the seed of a trial's data and offsets: the same within a block, so that the arms it pairs do the same work."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{block}".encode()).digest()[:8], "big") >> (64 - _SEED_BITS)


def trials(experiment: Experiment, blocks: int) -> Iterator[Trial]:
    """Yield every trial in order. Blocks count from 0 within each sitting; `replicate` counts a combination over all sittings."""
    position = itertools.count()
    by_hand, every = manual(experiment), combinations(experiment)
    visits: dict[Value, int] = {}
    for sitting, level in enumerate(sittings(experiment)):
        visit = visits.get(level, 0)
        visits[level] = visit + 1
        for block in range(blocks):
            for levels in ordered(every, f"{experiment.seed}:{sitting}", block):
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
