"""A sized chain as a picture: one HTML page that needs no script, or SVG or PNG for documents and mails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.report import drawn
from assay.report.charts import chain as drawing
from assay.report.charts.chain import Drawing
from assay.report.charts.figure import Table
from assay.report.drawn import Drawn, check

__all__ = ["Page", "check", "render", "write"]


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that the page shows besides the drawing."""

    question: str
    tables: tuple[tuple[str, Table], ...]
    """Heading and table."""
    remarks: tuple[str, ...]


def write(chain: Drawing, page: Page, path: Path) -> None:
    """Write what the ending asks for: .html, .svg or .png. Raises UsageError, MissingError, OSError."""
    drawn.write(made(chain, page), path)


def render(chain: Drawing, page: Page) -> str:
    """The page's text."""
    return drawn.render(made(chain, page))


def made(chain: Drawing, page: Page) -> Drawn:
    """The drawing with its page."""
    return Drawn(
        template="chain.html.j2",
        shown={"chain": chain, "page": page},
        drawing=lambda: drawing.drawing(chain),
        picture=lambda: drawing.picture(chain),
    )
