"""The whole schedule before the first trial, and when it ends: by number of blocks, by precision or by budget.

What the schedule can show is worked out in `outlook`; the order itself in `schedule`.
"""

from __future__ import annotations

from dataclasses import dataclass

from assay.experiment.outlook import LEAST_BLOCKS, LEAST_PRECISE, History, Outlook, outlook
from assay.experiment.read import DEFAULT_REPEATS, MOST_TRIALS
from assay.experiment.schedule import combinations, manual, sittings, trials
from assay.measures import percent
from assay.records import Experiment, Plan, PlanNote, Precision

DRAWN_BLOCKS = 1000
"""Where precision or budget decide, the schedule is drawn to this many blocks."""


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
    return Plan(
        experiment=experiment.digest,
        seed=experiment.seed,
        trials=tuple(trials(experiment, drawn)),
        blocks=drawn,
        drawn_blocks=drawn,
        sittings=sittings(experiment),
        notes=_notes(experiment, history, drawn),
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


def may_start_block(experiment: Experiment, standing: Standing) -> bool:
    """Return whether one more block of this sitting may start; the first always may."""
    return reason_to_stop(experiment, standing) is None


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


__all__ = ["LEAST_PRECISE", "History", "Outlook", "Standing", "may_start_block", "outlook", "plan", "reason_to_stop"]
