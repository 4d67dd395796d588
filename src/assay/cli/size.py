"""A chain of parts: bottleneck, gain of upgrades, throughput after a failure, price."""

from __future__ import annotations

import math
from pathlib import Path

from assay.cli import tables
from assay.errors import AssayError, RefusedError
from assay.notebook import read as notebook
from assay.plain import to_plain
from assay.report import picture as pictures
from assay.report.charts.chain import Bar, Drawing, drawn
from assay.report.charts.figure import Table
from assay.sizing import read, wording
from assay.sizing.directory import beside
from assay.sizing.sized import Sized, size
from assay.terminal.output import deliver
from assay.units import Refusal, Unit


def run(file: Path, *, json_to: str | None, picture: Path | None) -> int:
    """Size the chain of the file, print the answer, draw it where asked. Gives 0.

    Raises UsageError, InputErrors with every mistake of the file, RefusedError where the picture cannot be written.
    """
    if picture is not None:
        pictures.check(picture)
    sized = size(read.read(file, lambda lab, measure, unit: measured(beside(file, lab), measure, unit)))
    if picture is not None:
        draw(sized, picture)
    written = f"\n\n{picture}" if picture is not None else ""
    deliver(json_to, "size", lambda: document(sized), lambda: text(sized) + written)
    return 0


def refusal(lab: Path, error: AssayError) -> Refusal:
    """What speaks against a notebook, as a mistake of the file that names it."""
    found, _, expected = str(error).removeprefix("found ").partition("; expected ")
    where = "" if str(lab) in found else f" in {str(lab)!r}"
    return Refusal(found=f"{found}{where}", expected=expected or "the directory of a notebook")


def measured(lab: Path, measure: str, unit: Unit) -> float | Refusal:
    """The mean of a measure in a notebook, over its cells the least: a chain is sized by what it surely does."""
    try:
        folders = notebook.folders(lab)
        results = [notebook.results(folder) for folder in folders]
    except AssayError as error:
        return refusal(lab, error)
    cells = [cell for one in results for cell in one.cells if cell.measure == measure and cell.estimate is not None]
    found = [cell.estimate for cell in cells if cell.estimate is not None]
    values = [one.value for one in found if one.unit == unit]
    known = sorted({cell.measure for one in results for cell in one.cells if cell.estimate and cell.estimate.unit == unit})
    if found and not values:
        return Refusal(
            found=f"{measure!r}, which is in {found[0].unit or 'no unit'}",
            expected=f"one of {', '.join(known) or f'none: nothing is in {unit}'}",
        )
    if not values:
        return Refusal(found=f"{measure!r} in {lab}", expected=f"one of {', '.join(known) or 'none: nothing was measured'}")
    return min(values)


def text(sized: Sized) -> str:
    """Return the answer, then the tables."""
    blocks = [
        f"{sized.chain.title}. {sized.chain.question}".strip(),
        wording.answer(sized),
        *(tables.titled(*one) for one in tables_of(sized)),
    ]
    price = wording.costs(sized)
    blocks.extend([price] if price else [])
    blocks.append("\n".join((*wording.how(sized), *wording.remarks(sized))))
    return "\n\n".join(blocks)


def tables_of(sized: Sized) -> tuple[tuple[str, tuple[str, ...], tuple[tuple[str, ...], ...]], ...]:
    """Heading, head and rows of what there is to say."""
    every = (
        ("Parts, in the order of the data", wording.PART_HEAD, wording.part_rows(sized)),
        ("Upgrades", wording.UPGRADE_HEAD, wording.upgrade_rows(sized)),
        ("Failure of one unit", wording.FAILURE_HEAD, wording.failure_rows(sized)),
    )
    return tuple(one for one in every if one[2])


def document(sized: Sized) -> dict[str, object]:
    """The answer and everything behind it, for programs."""
    values = {"answer": wording.answer(sized), "remarks": [*wording.remarks(sized)], **to_plain(sized)}
    return {key: finite(each) for key, each in values.items()}


def finite(value: object) -> object:
    """The same with null for what has no bound: JSON has no infinity."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def draw(sized: Sized, path: Path) -> None:
    """Draw the chain. Raises UsageError, MissingError, RefusedError."""
    bars = tuple(
        Bar(
            name=stage.part.name,
            speed=row[1],
            used=stage.used,
            is_first=stage.part.name == sized.first,
            label=f"{stage.part.name}: {row[1]}, {row[-1]}",
        )
        for stage, row in zip(sized.stages, wording.part_rows(sized), strict=True)
    )
    price = wording.costs(sized)
    sheet = pictures.Sheet(
        drawn=drawn(Drawing(title=sized.chain.title, sentence=wording.answer(sized), bars=bars)),
        note=sized.chain.question,
        tables=tuple((heading, Table(head=head, rows=rows)) for heading, head, rows in tables_of(sized)),
        remarks=(*((price,) if price else ()), *wording.how(sized), *wording.remarks(sized)),
    )
    try:
        pictures.write_sheet(sheet, path)
    except OSError as error:
        raise RefusedError(f"{path}: not written ({error.strerror}). Check permissions and free space.") from error
