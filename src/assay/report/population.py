"""The population of a tree as a picture: one HTML page that needs no script, or SVG or PNG for documents and mails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import UsageError
from assay.report import picture
from assay.report.charts import matrix as drawn
from assay.report.charts.figure import Table
from assay.report.charts.matrix import Matrix

HERE = Path(__file__).parent
ENDINGS = (".html", ".svg", ".png")
SCALE = 2
"""Pixels of a PNG per pixel of the drawing."""


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that the page shows besides the matrix."""

    total: str
    tables: tuple[tuple[str, Table], ...]
    """Heading and table."""
    remarks: Sequence[str]


def check(path: Path) -> None:
    """Refuse early what `write` could not do. Raises UsageError for an unknown ending, MissingError without vl-convert."""
    if path.suffix not in ENDINGS:
        raise UsageError(f"found the ending {path.suffix!r} of {path}; expected one of: {', '.join(ENDINGS)}")
    if path.suffix == ".png":
        picture.converter()


def write(matrix: Matrix, page: Page, path: Path) -> None:
    """Write what the ending asks for: .html, .svg or .png. Raises UsageError, MissingError, OSError."""
    check(path)
    if path.suffix == ".html":
        path.write_text(render(matrix, page), encoding="utf-8")
    elif path.suffix == ".svg":
        path.write_text(drawn.picture(matrix), encoding="utf-8")
    else:
        path.write_bytes(picture.converter().svg_to_png(drawn.picture(matrix), scale=SCALE))


def render(matrix: Matrix, page: Page) -> str:
    """The page's text: the answer, the drawing in the colours of light or dark paper, the same in numbers."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    loader = FileSystemLoader(HERE / "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text: str = environment.get_template("population.html.j2").render(
        matrix=matrix,
        page=page,
        style=Markup((HERE / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - a file of this package
        drawing=Markup(drawn.drawing(matrix)),  # noqa: S704 - its texts are escaped
    )
    return text
