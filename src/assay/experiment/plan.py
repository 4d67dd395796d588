"""The whole schedule, drawn from the seed before the first trial, and when it ends: by number of blocks, precision or budget.

The order is complete randomised blocks, balanced over pairs of blocks. What a schedule can show is worked out in `outlook`.

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
from dataclasses import dataclass, field
from typing import TypeVar

from assay.experiment import design, served_filters, spread
from assay.measures import percent
from assay.records import Change, Experiment, Factor, Plan, PlanNote, Precision, Trial, Value

DEFAULT_REPEATS = 5
MOST_TRIALS = 100_000
"""At ten seconds each this is more than eleven days."""
LEAST_BLOCKS = 3
"""Fewer give no interval."""
LEAST_PRECISE = 6
"""Precision ends nothing before: the spread of a few blocks is no guide to that of more."""
DRAWN_BLOCKS = 1000
"""Where precision or budget decide, the schedule is drawn to this many blocks."""


@dataclass(frozen=True, kw_only=True)
class History:
    """What earlier runs tell: how long a trial takes, and each measure's coefficient of variation within a cell (share)."""

    trial_ns: int | None = None
    """Of the same trials, repeats for noise included."""
    times: float | None = None
    """How many times as long as guessed other trials on targets of this kind took."""
    cv: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a sitting has come."""

    blocks_done: int
    elapsed_ns: int
    """Since the start of the sitting's first trial, over all its sessions."""
    longest_block_ns: int
    half_width_share: float | None = None
    """The widest half width of the 95 % interval of any contrast; None where there is none yet."""
    half_width_before_share: float | None = None
    """The same without the last block."""


def plan(experiment: Experiment, *, history: History | None = None) -> Plan:
    """Draw the schedule. The order depends on the experiment alone; `history` only sizes what a budget is said to allow."""
    per_block = len(combinations(experiment))
    visits = len(sittings(experiment))
    drawn = experiment.repeats if isinstance(experiment.repeats, int) else _open_ended(experiment, per_block * visits)
    drawn *= experiment.slices or 1
    schedule = tuple(trials(experiment, drawn))
    return Plan(
        experiment=experiment.digest,
        seed=experiment.seed,
        trials=schedule,
        blocks=drawn,
        drawn_blocks=drawn,
        sittings=sittings(experiment),
        notes=(*_notes(experiment, history, drawn), *spread.notes(experiment, schedule), *served_filters.notes(experiment)),
    )


def reason_to_stop(experiment: Experiment, standing: Standing) -> str | None:
    """Return why no further block of this sitting may start, or None where one may.

    A budget is shared evenly by the sittings; a block starts only if the longest so far fits what is left of it. With a
    precision, blocks go on until every contrast has it with the last block and without, at least six and no more than were
    drawn: who is ahead is not asked. A spread that is found small by chance ends an experiment more often than one that is
    found large, so an interval that may end it at the third block holds the truth in 90 of 100 cases and not in 95; with six
    blocks and two looks in 93 (simulated in tests/simulated/test_precision.py).
    """
    if isinstance(experiment.repeats, int) and standing.blocks_done >= experiment.repeats:
        return f"all {experiment.repeats} blocks are done"
    if isinstance(experiment.repeats, Precision) and standing.blocks_done >= LEAST_PRECISE:
        wanted, widths = experiment.repeats.half_width_share, (standing.half_width_share, standing.half_width_before_share)
        reached = [width for width in widths if width is not None and width <= wanted]
        if len(reached) == len(widths):
            return f"{_precise(experiment)} is known to ±{percent(reached[0])} (goal ±{percent(wanted)})"
    if experiment.budget_ns is not None and standing.blocks_done > 0:
        left = experiment.budget_ns // len(sittings(experiment)) - standing.elapsed_ns
        if standing.longest_block_ns > left:
            longest, rest = standing.longest_block_ns / 1e9, max(left, 0) / 1e9
            return f"the longest block took {longest:.0f} s, {rest:.0f} s of the budget are left"
    return None


def _precise(experiment: Experiment) -> str:
    """Return what has the precision that was asked for."""
    by_hand = manual(experiment)
    if by_hand is not None and by_hand.path == experiment.compare:
        return "a contrast of two sittings like this one"
    return "every figure" if experiment.compare is None else "every contrast"


def _open_ended(experiment: Experiment, trials_per_block: int) -> int:
    if experiment.repeats is None and experiment.budget_ns is None:
        return DEFAULT_REPEATS
    if isinstance(experiment.repeats, Precision) and experiment.repeats.most is not None:
        return experiment.repeats.most
    return max(LEAST_BLOCKS, min(DRAWN_BLOCKS, MOST_TRIALS // trials_per_block))


def _notes(experiment: Experiment, history: History | None, drawn: int) -> tuple[PlanNote, ...]:
    """Return what limits what can be shown, said before anything is run."""
    by_hand = manual(experiment)
    several = [factor for factor in experiment.factors if len(factor.levels) > 1]
    precise = isinstance(experiment.repeats, Precision)
    candidates = (
        (
            by_hand is not None,
            by_hand.path if by_hand else "",
            "changed by hand: not interleaved, a comparison is at best BOUNDED",
        ),
        (by_hand is not None and not by_hand.returns, "returns", "returns = 1 would show drift between the sittings"),
        (
            experiment.compare is None and experiment.design is None and len(several) > 1,
            "compare",
            "several factors vary, none is compared: set `compare`",
        ),
        (experiment.compare is not None and drawn < 2, "repeats", "one block has no spread: no comparison possible"),
        (
            experiment.design is not None and drawn < LEAST_BLOCKS,
            "repeats",
            f"fewer than {LEAST_BLOCKS} blocks give no interval: no effect can be proved",
        ),
        (
            experiment.compare is None and precise,
            "repeats",
            "nothing is compared: the precision applies to every figure",
        ),
        (experiment.budget_ns is not None and history is None, "budget", "the number of blocks is a guess: no trial was timed"),
    )
    return tuple(PlanNote(subject=subject, text=text) for applies, subject, text in candidates if applies)


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
                    preparation=block // experiment.slices if experiment.slices else None,
                )
