"""Pictures as files: a chart of the report, or a drawing with its page; what vl-convert draws, and the charts' JavaScript.

`python -m assay.report.picture` takes the JavaScript out of vl-convert; it runs once, when Assay is built.
"""

from __future__ import annotations

import difflib
import importlib
import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.errors import MissingError, UsageError
from assay.frozen import dataclass
from assay.report import prepared
from assay.report.charts import theme
from assay.report.charts.figure import ChartFigure, Drawn, Table, document

HERE = Path(__file__).parent
BUNDLE = HERE / "static" / "vega.js"
WIDTH = 640
"""Pixels across one panel."""
SCALE = 2
"""Pixels of a PNG per pixel of the chart."""
LINE = 112
"""Characters of a line of the caption."""
ENDINGS = (".html", ".svg", ".png")


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A drawing with what its page shows besides."""

    drawn: Drawn
    note: str
    tables: tuple[tuple[str, Table], ...]
    """Heading and table."""
    remarks: Sequence[str]


def check(path: Path) -> None:
    """Refuse early what `write_sheet` could not do. Raises UsageError for an unknown ending, MissingError without vl-convert."""
    if path.suffix not in ENDINGS:
        raise UsageError(f"found the ending {path.suffix!r} of {path}; expected one of: {', '.join(ENDINGS)}")
    if path.suffix == ".png":
        converter()


def write_sheet(sheet: Sheet, path: Path) -> None:
    """Write what the ending asks for: .html, .svg or .png. Raises UsageError, MissingError, OSError."""
    check(path)
    if path.suffix == ".html":
        path.write_text(render(sheet), encoding="utf-8")
    else:
        _write_drawing(document(sheet.drawn.title, sheet.drawn.description, sheet.drawn), path)


def render(sheet: Sheet) -> str:
    """Give the page's text: the answer, the drawing in the colours of light or dark paper, the same in numbers."""
    text: str = environment().get_template("sheet.html.j2").render(sheet=sheet, style=read("style.css"))
    return text


def environment() -> Any:  # noqa: ANN401 - jinja2 is imported here only
    """Give the templates' environment: every text is escaped, but for drawings of our own."""
    from markupsafe import Markup

    made = prepared.environment(HERE / "templates")
    made.filters["element"] = lambda drawn: Markup(drawn.element)  # noqa: S704 - its texts are escaped
    return made


def read(name: str) -> object:
    """Read our own style or script, put in as it is."""
    from markupsafe import Markup

    return Markup((HERE / name).read_text(encoding="utf-8"))  # noqa: S704 - a file of this package


def write(figures: Sequence[ChartFigure], name: str, path: Path) -> None:
    """Write the chart of this name (a figure's id in the page) to a file ending in .svg or .png.

    Raises UsageError for an unknown chart or ending, naming what there is; MissingError where vl-convert is not installed.
    """
    if path.suffix not in (".svg", ".png"):
        raise UsageError(f"found the ending {path.suffix!r} of {path}; expected .svg or .png")
    known = {one.name: one for one in figures if one.seen}
    if name not in known:
        raise UsageError(unknown(name, tuple(known)))
    chosen = known[name]
    if chosen.drawn is not None:
        _write_drawing(document(chosen.title, caption(chosen), chosen.drawn), path)
    else:
        _write_specification(theme.without_variables(json.dumps(specification(chosen))), path)


def caption(figure: ChartFigure) -> str:
    """Give the caption of a picture that is alone: with what the page says once for all its kind."""
    return f"{figure.alone} {figure.caption}".strip()


def unknown(name: str, known: tuple[str, ...]) -> str:
    """Say what there is instead, the nearest name first, and what to type."""
    if not known:
        return f"found chart {name!r}; expected the name of a chart, but this experiment has none yet: run it first"
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.3)
    listed = "\n".join(f"  {one}" for one in known)
    return f"found chart {name!r}; expected one of:\n{listed}\nfor example: assay report --chart {(*near, known[0])[0]}"


def _write_drawing(text: str, path: Path) -> None:
    """Write a drawing of our own, as it is or as pixels."""
    if path.suffix == ".svg":
        path.write_text(text, encoding="utf-8")
    else:
        path.write_bytes(converter().svg_to_png(text, scale=SCALE))


def _write_specification(text: str, path: Path) -> None:
    """Draw a statistical picture and write it."""
    if path.suffix == ".svg":
        path.write_text(converter().vegalite_to_svg(text), encoding="utf-8")
    else:
        path.write_bytes(converter().vegalite_to_png(text, scale=SCALE))


def converter(need: str = "draw pictures; install assay-lab[picture]") -> Any:  # noqa: ANN401 - it has no types
    """Import the library that draws without a browser. Raises MissingError where it is not installed."""
    try:
        return importlib.import_module("vl_convert")
    except ImportError:
        raise MissingError(f"found no vl-convert; expected it to {need}") from None


def specification(figure: ChartFigure) -> theme.Spec:
    """Put all panels of a figure below each other, with its title and caption."""
    return {
        "title": {
            "text": figure.title,
            "subtitle": textwrap.wrap(caption(figure), LINE),
            "anchor": "start",
            "offset": 12,
            "color": "var(--ink)",
            "subtitleColor": "var(--muted)",
        },
        "config": {**theme.CONFIG, "background": theme.LIGHT["--paper"]},
        "vconcat": list(_sized(figure)),
    }


def _sized(figure: ChartFigure) -> Iterator[theme.Spec]:
    """Give the panels, whose expressions name the scales as Vega calls them below each other: `concat_0_x` for `x`."""
    for index, panel in enumerate(figure.panels):
        text = re.sub(r"\b(scale|bandwidth)\('([xy])'", rf"\1('concat_{index}_\2'", json.dumps(panel.spec))
        kept = {key: value for key, value in json.loads(text).items() if key not in ("autosize", "width")}
        heading = {"text": panel.heading, "anchor": "start", "fontSize": 12, "color": "var(--ink)"}
        yield {**kept, "width": WIDTH, **({"title": heading} if panel.heading else {})}


def bundle() -> object:
    """Read the charts' JavaScript. Raises MissingError where the build left it out."""
    if not BUNDLE.exists():
        raise MissingError(
            f"found no {BUNDLE}; expected the charts' JavaScript there; run `make build` (or `python -m assay.report.picture`)"
        )
    return read(str(BUNDLE))


def write_bundle() -> None:
    """Write vega, vega-lite and vega-embed as one script. Raises MissingError without vl-convert."""
    text = converter("build the charts' JavaScript; install vl-convert-python").javascript_bundle()
    if "</script" in text.lower():
        raise MissingError("found `</script` in the charts' JavaScript; expected text that is safe inside a page")
    BUNDLE.parent.mkdir(exist_ok=True)
    BUNDLE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_bundle()
