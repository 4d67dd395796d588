"""A drawing of our own as a file: one HTML page that needs no script, or SVG or PNG for documents and mails."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import UsageError
from assay.report import picture
from assay.report.charts import chain, matrix
from assay.report.charts.figure import Table

HERE = Path(__file__).parent
ENDINGS = (".html", ".svg", ".png")
SCALE = 2
"""Pixels of a PNG per pixel of the drawing."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A drawing with its page: the template, what it shows, and the two ways to draw."""

    template: str
    shown: Mapping[str, object]
    drawing: Callable[[], str]
    """An SVG element for a page, in the page's colours."""
    picture: Callable[[], str]
    """An SVG document of its own."""


def check(path: Path) -> None:
    """Refuse early what `write` could not do. Raises UsageError for an unknown ending, MissingError without vl-convert."""
    if path.suffix not in ENDINGS:
        raise UsageError(f"found the ending {path.suffix!r} of {path}; expected one of: {', '.join(ENDINGS)}")
    if path.suffix == ".png":
        picture.converter()


def write(drawn: Drawn, path: Path) -> None:
    """Write what the ending asks for: .html, .svg or .png. Raises UsageError, MissingError, OSError."""
    check(path)
    if path.suffix == ".html":
        path.write_text(render(drawn), encoding="utf-8")
    elif path.suffix == ".svg":
        path.write_text(drawn.picture(), encoding="utf-8")
    else:
        path.write_bytes(picture.converter().svg_to_png(drawn.picture(), scale=SCALE))


def render(drawn: Drawn) -> str:
    """The page's text: the answer, the drawing in the colours of light or dark paper, the same in numbers."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    loader = FileSystemLoader(HERE / "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text: str = environment.get_template(drawn.template).render(
        **drawn.shown,
        style=Markup((HERE / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - a file of this package
        drawing=Markup(drawn.drawing()),  # noqa: S704 - its texts are escaped
    )
    return text


@dataclass(frozen=True, kw_only=True)
class ChainPage:
    """What the page of a sized chain shows besides the drawing."""

    question: str
    tables: tuple[tuple[str, Table], ...]
    """Heading and table."""
    remarks: tuple[str, ...]


def of_chain(drawing: chain.Drawing, page: ChainPage) -> Drawn:
    """A sized chain with its page."""
    return Drawn(
        template="chain.html.j2",
        shown={"chain": drawing, "page": page},
        drawing=lambda: chain.drawing(drawing),
        picture=lambda: chain.picture(drawing),
    )


@dataclass(frozen=True, kw_only=True)
class MatrixPage:
    """What the page of files by age and size shows besides the matrix."""

    total: str
    tables: tuple[tuple[str, Table], ...]
    """Heading and table."""
    remarks: Sequence[str]


def of_matrix(drawing: matrix.Matrix, page: MatrixPage) -> Drawn:
    """The files of a tree by age and size with their page."""
    return Drawn(
        template="size_distribution.html.j2",
        shown={"matrix": drawing, "page": page},
        drawing=lambda: matrix.drawing(drawing),
        picture=lambda: matrix.picture(drawing),
    )
