"""One chart of the report as a file, for documents and mails: SVG or PNG, by vl-convert."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import MissingError, UsageError
from assay.records import Results
from assay.report import charts, page
from assay.report.charts.figure import Figure
from assay.report.inputs import Pictures

WIDTH = 640
"""Pixels across one panel."""
SCALE = 2
"""Pixels of a PNG per pixel of the chart."""


def write(results: Results, load: page.Load, pictures: Pictures, name: str, path: Path) -> None:
    """Write the chart of this name (a figure's id in the page, or the start of it) to a file ending in .svg or .png.

    Raises UsageError for an unknown chart or ending, naming what there is; MissingError where vl-convert is not installed.
    """
    if path.suffix not in (".svg", ".png"):
        raise UsageError(f"found the ending {path.suffix!r} of {path}; expected .svg or .png")
    known = {one.name: one for one in page.figures(results, load, pictures) if one.panels}
    chosen = next((one for key, one in known.items() if key == name), None)
    if chosen is None:
        raise UsageError(f"found chart {name!r}; expected one of: {', '.join(known) or 'none, this experiment has no charts'}")
    text = charts.theme.without_variables(json.dumps(specification(chosen)))
    if path.suffix == ".svg":
        path.write_text(converter().vegalite_to_svg(text), encoding="utf-8")
    else:
        path.write_bytes(converter().vegalite_to_png(text, scale=SCALE))


def converter() -> Any:  # noqa: ANN401 - it has no types
    """The library that draws without a browser. Raises MissingError where it is not installed."""
    try:
        return importlib.import_module("vl_convert")
    except ImportError:
        raise MissingError("found no vl-convert; expected it to draw pictures; install assay-lab[picture]") from None


def specification(figure: Figure) -> charts.theme.Spec:
    """All panels of a figure below each other, with its title and caption."""
    config = {**charts.theme.CONFIG, "background": charts.theme.LIGHT["--paper"]}
    return {
        "title": {"text": figure.title, "subtitle": figure.caption, "anchor": "start"},
        "config": config,
        "vconcat": list(_sized(figure)),
    }


def _sized(figure: Figure) -> Iterator[charts.theme.Spec]:
    for panel in figure.panels:
        kept = {key: value for key, value in panel.spec.items() if key not in ("autosize", "width")}
        yield {**kept, "width": WIDTH, **({"title": panel.heading} if panel.heading else {})}
