"""A sized chain as a picture: one HTML page that needs no script, or SVG or PNG for documents and mails."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.report import picture
from assay.report.charts import chain as drawn
from assay.report.charts.chain import Drawing
from assay.report.charts.figure import Table
from assay.report.population import SCALE, check

__all__ = ["Page", "check", "write"]
HERE = Path(__file__).parent


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that the page shows besides the drawing."""

    question: str
    tables: tuple[tuple[str, Table], ...]
    """Heading and table."""
    remarks: tuple[str, ...]


def write(chain: Drawing, page: Page, path: Path) -> None:
    """Write what the ending asks for: .html, .svg or .png. Raises UsageError, MissingError, OSError."""
    check(path)
    if path.suffix == ".html":
        path.write_text(render(chain, page), encoding="utf-8")
    elif path.suffix == ".svg":
        path.write_text(drawn.picture(chain), encoding="utf-8")
    else:
        path.write_bytes(picture.converter().svg_to_png(drawn.picture(chain), scale=SCALE))


def render(chain: Drawing, page: Page) -> str:
    """The page's text: the answer, the drawing in the colours of light or dark paper, the same in numbers."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    loader = FileSystemLoader(HERE / "templates")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text: str = environment.get_template("chain.html.j2").render(
        chain=chain,
        page=page,
        style=Markup((HERE / "style.css").read_text(encoding="utf-8")),  # noqa: S704 - a file of this package
        drawing=Markup(drawn.drawing(chain)),  # noqa: S704 - its texts are escaped
    )
    return text
