"""One chart of the report as a file, for documents and mails: SVG or PNG, by vl-convert."""

from __future__ import annotations

import difflib
import importlib
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import MissingError, UsageError
from assay.records import Results
from assay.report import charts, page
from assay.report.charts.figure import Figure, document
from assay.report.inputs import Pictures

WIDTH = 640
"""Pixels across one panel."""
SCALE = 2
"""Pixels of a PNG per pixel of the chart."""
LINE = 112
"""Characters of a line of the caption."""


def write(results: Results, load: page.Load, pictures: Pictures, name: str, path: Path) -> None:
    """Write the chart of this name (a figure's id in the page) to a file ending in .svg or .png.

    Raises UsageError for an unknown chart or ending, naming what there is; MissingError where vl-convert is not installed.
    """
    if path.suffix not in (".svg", ".png"):
        raise UsageError(f"found the ending {path.suffix!r} of {path}; expected .svg or .png")
    known = {one.name: one for one in page.figures(results, load, pictures) if one.seen}
    if name not in known:
        raise UsageError(unknown(name, tuple(known)))
    chosen = known[name]
    if chosen.drawn is not None:
        _write_drawing(document(chosen.title, said(chosen), chosen.drawn), path)
    else:
        _write_specification(charts.theme.without_variables(json.dumps(specification(chosen))), path)


def said(figure: Figure) -> str:
    """The caption of a picture that stands alone: with what the page says once for all its kind."""
    return f"{figure.alone} {figure.caption}".strip()


def unknown(name: str, known: tuple[str, ...]) -> str:
    """What there is instead, the nearest name first, and what to type."""
    if not known:
        return f"found chart {name!r}; expected the name of a chart, but this experiment has none yet: run it first"
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
    listed = "\n".join(f"  {one}" for one in known)
    return f"found chart {name!r}; expected one of:\n{listed}\nfor example: assay report --chart {(*near, known[0])[0]}"


def _write_drawing(text: str, path: Path) -> None:
    """A drawing of our own, as it is or as pixels."""
    if path.suffix == ".svg":
        path.write_text(text, encoding="utf-8")
    else:
        path.write_bytes(converter().svg_to_png(text, scale=SCALE))


def _write_specification(text: str, path: Path) -> None:
    """A statistical picture, drawn here."""
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
        "title": {
            "text": figure.title,
            "subtitle": textwrap.wrap(said(figure), LINE),
            "anchor": "start",
            "offset": 12,
            "color": "var(--ink)",
            "subtitleColor": "var(--muted)",
        },
        "config": config,
        "vconcat": list(_sized(figure)),
    }


def _sized(figure: Figure) -> Iterator[charts.theme.Spec]:
    """The panels, whose expressions name the scales as Vega calls them below each other: `concat_0_x` for `x`."""
    for index, panel in enumerate(figure.panels):
        text = re.sub(r"\b(scale|bandwidth)\('([xy])'", rf"\1('concat_{index}_\2'", json.dumps(panel.spec))
        kept = {key: value for key, value in json.loads(text).items() if key not in ("autosize", "width")}
        heading = {"text": panel.heading, "anchor": "start", "fontSize": 12, "color": "var(--ink)"}
        yield {**kept, "width": WIDTH, **({"title": heading} if panel.heading else {})}
