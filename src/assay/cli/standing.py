"""How far a sitting has come, from what the notebook holds: blocks, time, precision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from assay.analysis import cells, compare
from assay.experiment.plan import Standing
from assay.notebook import read as notebook
from assay.records import Comparison, Experiment, Outcome, Precision, Run

SECOND_NS = 1_000_000_000


def standing(folder: Path, experiment: Experiment, sitting: int) -> Standing:
    """The standing of one sitting; its time is that of its trials and of what lies between them, over all sessions."""
    runs = [run for run in notebook.runs(folder) if run.trial.sitting == sitting]
    blocks: dict[int, list[Run]] = defaultdict(list)
    for run in runs:
        blocks[run.trial.block].append(run)
    ended = [block for block in blocks.values() if any(run.outcome is not Outcome.INTERRUPTED for run in block)]
    return Standing(
        blocks_done=len(ended),
        elapsed_ns=worked_ns(runs),
        longest_block_ns=max(map(worked_ns, ended), default=0),
        half_width_share=half_width(folder, experiment) if isinstance(experiment.repeats, Precision) else None,
    )


def worked_ns(runs: Sequence[Run]) -> int:
    """How long these runs took with the time between them; a gap longer than the longest of them is a break between sessions."""
    spans = sorted((seconds(run.started_utc), seconds(run.ended_utc)) for run in runs)
    longest = max((end - start for start, end in spans), default=0.0)
    gaps = (after[0] - before[1] for before, after in pairwise(spans))
    return int((sum(end - start for start, end in spans) + sum(gap for gap in gaps if 0 < gap <= longest)) * SECOND_NS)


def seconds(utc: str) -> float:
    """A stored time as seconds since the epoch."""
    return datetime.fromisoformat(utc).timestamp()


def half_width(folder: Path, experiment: Experiment) -> float | None:
    """The widest relative half width of the 95 % intervals that the answer rests on; None where one is still missing.

    With a comparison these are its ratios, otherwise the cells' own figures.
    """
    kept = notebook.results(folder)
    table = cells.cells(experiment, kept.plan, kept.runs, notebook.load(folder))
    comparisons: tuple[Comparison, ...] = compare.comparisons(experiment, kept.plan, table, kept.runs)
    estimates = [comparison.ratio for comparison in comparisons] if comparisons else [cell.estimate for cell in table]
    widths = [
        (estimate.high - estimate.low) / 2 / estimate.value
        for estimate in estimates
        if estimate is not None and estimate.low is not None and estimate.high is not None and estimate.value
    ]
    return max(widths) if widths and len(widths) == len(estimates) else None
