"""The files of a tree by age and size as a picture: one HTML page that needs no script, or SVG or PNG for documents and mails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.report import drawn
from assay.report.charts import matrix as drawing
from assay.report.charts.figure import Table
from assay.report.charts.matrix import Matrix
from assay.report.drawn import Drawn, check

__all__ = ["Page", "check", "render", "write"]


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that the page shows besides the matrix."""

    total: str
    tables: tuple[tuple[str, Table], ...]
    """Heading and table."""
    remarks: Sequence[str]


def write(matrix: Matrix, page: Page, path: Path) -> None:
    """Write what the ending asks for: .html, .svg or .png. Raises UsageError, MissingError, OSError."""
    drawn.write(made(matrix, page), path)


def render(matrix: Matrix, page: Page) -> str:
    """The page's text."""
    return drawn.render(made(matrix, page))


def made(matrix: Matrix, page: Page) -> Drawn:
    """The drawing with its page."""
    return Drawn(
        template="size_distribution.html.j2",
        shown={"matrix": matrix, "page": page},
        drawing=lambda: drawing.drawing(matrix),
        picture=lambda: drawing.picture(matrix),
    )
