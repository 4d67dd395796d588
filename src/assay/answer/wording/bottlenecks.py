"""The chain of limits of a run in words: names of its parts, what was used of each, which was nearest to its limit."""

from __future__ import annotations

from assay import measures
from assay.analysis.bottlenecks import NEAR, Chain, Link, Part
from assay.answer import marks
from assay.answer.scales import share
from assay.records import Direction, Experiment
from assay.units import Unit

NOUNS = {
    (Direction.READ, Unit.BYTES_PER_S): " read",
    (Direction.READ, Unit.PER_S): " reads",
    (Direction.WRITE, Unit.BYTES_PER_S): " written",
    (Direction.WRITE, Unit.PER_S): " writes",
}


def name(link: Link) -> str:
    """`CPUs`, `CPUs of filer`, `loop0`."""
    if link.part is Part.CPU:
        return f"CPUs of {link.name}" if link.name else "CPUs"
    return link.name


def use(link: Link) -> str:
    """`user and system time`, `of the declared 50 MB/s written`."""
    if link.part is not Part.DECLARED or link.limit is None:
        return link.part.value
    noun = NOUNS.get((link.direction, link.unit), "") if link.direction else ""
    return f"of the declared {measures.with_unit(link.limit, link.unit)}{noun}"


def sentence(experiment: Experiment, chain: Chain) -> str:
    """Which part was nearest to its limit."""
    where = ", ".join(part for part in (chain.phase, marks.levels(experiment, chain.levels), f"run {chain.run}") if part)
    most = f"{name(chain.nearest)}, {share(chain.nearest.used)}"
    if chain.nearest.used < NEAR:
        return f"{where}: no part was near its limit; highest: {most}."
    return f"{where}: nearest to its limit: {most} ({use(chain.nearest)})."
