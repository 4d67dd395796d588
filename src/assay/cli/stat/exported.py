"""`assay stat --export`: the table of all commands, as CSV in base units or as Markdown with units."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay import measures
from assay.cli.stat.ratios import Arm, CommandRatio, figures_of, unit_of, worst_state
from assay.statistics.intervals import Mean, geometric_mean
from assay.terminal import output

COLUMNS = (
    "command",
    "measure",
    "unit",
    "runs",
    "mean",
    "low",
    "high",
    "ratio",
    "ratio_low",
    "ratio_high",
    "conclusion",
    "verdict",
)
HEADS = ("command", "measure", "runs", "mean", "95 % interval", "ratio to the first", "conclusion", "verdict")


@dataclass(frozen=True, kw_only=True)
class ExportedRow:
    """One figure of one command."""

    command: str
    measure: str
    unit: str
    mean: Mean
    ratio: CommandRatio | None
    verdict: str


def write(path: Path, arms: Sequence[Arm], found: Sequence[CommandRatio]) -> None:
    """Write the table. Raises AssayError for an unwritable file."""
    rows = tuple(rows_of(arms, found))
    output.write(str(path), as_csv(rows) if path.suffix == ".csv" else as_markdown(rows))


def rows_of(arms: Sequence[Arm], found: Sequence[CommandRatio]) -> Iterator[ExportedRow]:
    """A row for each figure of each command."""
    ratios = {(id(ratio.command), ratio.measure): ratio for ratio in found}
    for arm in arms:
        for name, values in figures_of(arm.runs).items():
            yield ExportedRow(
                command=arm.command.label,
                measure=name.removesuffix("_ns"),
                unit=unit_of(arm.runs, name),
                mean=geometric_mean(values),
                ratio=ratios.get((id(arm.command), name)),
                verdict=str(worst_state(arm.runs) or ""),
            )


def as_csv(rows: Sequence[ExportedRow]) -> str:
    """The rows as RFC 4180 wants them, unknown numbers empty."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for row in rows:
        ratio = (row.ratio.value, row.ratio.low, row.ratio.high, row.ratio.conclusion) if row.ratio else ("", "", "", "")
        mean = (row.mean.n, row.mean.value, row.mean.low, row.mean.high)
        writer.writerow((row.command, row.measure, row.unit, *mean, *ratio, row.verdict))
    return text.getvalue()


def as_markdown(rows: Sequence[ExportedRow]) -> str:
    """The rows as a table for people."""
    lines = [HEADS, ("---",) * len(HEADS), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(row: ExportedRow) -> tuple[str, ...]:
    """One row in words."""
    value, low, high = row.mean.value, row.mean.low, row.mean.high
    edges = "-" if low is None or high is None else f"{measures.with_unit(low, row.unit)} to {measures.with_unit(high, row.unit)}"
    ratio, conclusion = "-", "-"
    if row.ratio is not None:
        wide = "" if row.ratio.low is None else f" ({row.ratio.low:.3g} to {row.ratio.high:.3g})"
        ratio, conclusion = f"{row.ratio.value:.3g}{wide}", str(row.ratio.conclusion)
    return (
        f"`{row.command}`".replace("|", r"\|"),
        row.measure,
        str(row.mean.n),
        measures.with_unit(value, row.unit),
        edges,
        ratio,
        conclusion,
        row.verdict or "-",
    )
