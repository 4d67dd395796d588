"""How far a sitting has come, from what the notebook holds: blocks, time, precision."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from pathlib import Path

from assay.analysis import cells, compare
from assay.experiment.plan import Standing
from assay.notebook import read as notebook
from assay.records import Comparison, Experiment, Run

SECOND_NS = 1_000_000_000


def standing(folder: Path, experiment: Experiment, sitting: int) -> Standing:
    """The standing of one sitting; time runs from its first trial's start over all sessions."""
    blocks: dict[int, list[Run]] = defaultdict(list)
    for run in notebook.runs(folder):
        if run.trial.sitting == sitting:
            blocks[run.trial.block].append(run)
    spans = [span_ns(runs) for runs in blocks.values()]
    return Standing(
        blocks_done=len(blocks),
        elapsed_ns=sum(spans),
        longest_block_ns=max(spans, default=0),
        half_width_share=half_width(folder, experiment),
    )


def span_ns(runs: list[Run]) -> int:
    """How long a block took: from the first start to the last end of its runs."""
    start = min(datetime.fromisoformat(run.started_utc) for run in runs)
    end = max(datetime.fromisoformat(run.ended_utc) for run in runs)
    return int((end - start).total_seconds() * SECOND_NS)


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
