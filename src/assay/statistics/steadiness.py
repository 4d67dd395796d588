"""Three tests of one series together: five rounds, MSER-5 and change points of its batches of five.

Each alone is wrong too often to be believed: five rounds take a drift for steady, MSER-5 and change points take noise that
remembers itself for a change. How often two of them are wrong together is measured in the tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from assay.frozen import dataclass
from assay.statistics.mser import BATCH, Truncation, mser5
from assay.statistics.segments import largest_step, segments
from assay.statistics.steady import ROUNDS, Steady, five_rounds


@dataclass(frozen=True, kw_only=True)
class Steadiness:
    """What each test says; None where there are too few values for it."""

    rounds: Steady | None
    truncation: Truncation | None
    levels: tuple[float, ...]
    """The mean of each stretch that the change points part."""
    step_share: float | None
    """The largest difference of neighbouring levels, over the mean."""

    @property
    def asked(self) -> int:
        """How many tests could be asked."""
        return sum(answer is not None for answer in (self.rounds, self.truncation, self.step_share))


def steadiness(values: Sequence[float]) -> Steadiness:
    """The three tests of values of parts of equal length; what is behind the last whole round or batch is left out."""
    each, mean = len(values) // ROUNDS, sum(values) / max(1, len(values))
    batches = [sum(values[at : at + BATCH]) / BATCH for at in range(0, len(values) - BATCH + 1, BATCH)]
    stretches = segments(batches)
    enough = len(batches) > 1 and mean > 0
    return Steadiness(
        rounds=five_rounds([sum(values[at : at + each]) for at in range(0, each * ROUNDS, each)]) if each else None,
        truncation=mser5(values) if mean > 0 else None,
        levels=tuple(one.mean for one in stretches),
        step_share=largest_step(stretches, mean) if enough else None,
    )
