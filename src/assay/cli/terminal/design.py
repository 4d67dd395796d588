"""A design on the terminal: how many combinations, what generates them, and which effects are aliased."""

from __future__ import annotations

from collections.abc import Iterator

from assay.experiment.consistency import NUMERALS
from assay.experiment.design import Structure, varying
from assay.measures import percent
from assay.measures.text import level as level_text
from assay.records import DesignKind, Experiment

WIDTH = 96
"""Characters of a line of aliases."""


def lines(experiment: Experiment, designed: Structure | None) -> Iterator[str]:
    """Yield the lines of `assay plan`; none for a file without a design."""
    if designed is None:
        return
    several = varying(experiment.factors)
    resolution = f", resolution {NUMERALS[designed.resolution]}" if designed.resolution else ""
    yield (
        f"  design      {designed.kind.value}{resolution}: {designed.combinations} of {designed.of:,} combinations of "
        f"{len(several)} factors in every block"
    )
    letters = {path: f"{letter} " for letter, path in designed.letters.items()}
    for factor in several:
        baseline, *others = (level_text(experiment, factor.path, level) for level in factor.levels)
        yield f"  factor      {letters.get(factor.path, '')}{factor.path}: {baseline} (baseline), {', '.join(others)}"
    for one in designed.generators:
        yield f"  generator   {one}"
    yield from wrapped("  aliases     ", designed.aliases)
    yield from confounding(designed)


def confounding(designed: Structure) -> Iterator[str]:
    """Yield the consequence of the aliases in one line."""
    if designed.kind is DesignKind.ONE_AT_A_TIME:
        yield '  Interactions are not estimated. Use design = "full" or "fractional" to estimate them.'
    elif designed.kind is DesignKind.SCREENING:
        much = f" (up to {percent(designed.partly_mixed)} of each)" if designed.partly_mixed else ""
        yield f"  Main effects are aliased with interactions of other factors{much}. Use this design for screening only."
    elif designed.resolution == 3:
        yield "  Main effects are aliased with the interactions above."
    elif designed.resolution == 4:
        yield "  Aliased interactions (above) cannot be separated; main effects are clear of them."


def wrapped(head: str, parts: tuple[str, ...]) -> Iterator[str]:
    """The parts behind each other, a new line where one is full."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) > WIDTH:
            yield f"{head}{line}"
            line = ""
        line += f"{', ' if line else ''}{part}"
    if line:
        yield f"{head}{line}"
