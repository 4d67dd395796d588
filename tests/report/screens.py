"""Pictures of the page of a recorded `assay quick`, and of `assay serve`: four widths, dark, and on paper.

`PYTHONPATH=tests .venv/bin/python -m report.screens` writes those of the page to docs/pictures;
`PYTHONPATH=tests .venv/bin/python -m report.screens LAB EXPERIMENT QUERY` those of a notebook, while EXPERIMENT of it runs.
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from report import recorded
from report.conftest import ALL_DRAWN, CHROMIUM, FLAGS
from stage.assay_process import Bench, wait_until
from stage.served_notebook import served

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
PAPER = (690, 980)
"""Pixels between the margins of a page of A4."""


@dataclass(frozen=True)
class Screen:
    """One picture: its name, the window, and how it is looked at."""

    name: str
    width: int
    height: int
    scheme: str = "light"
    media: str = "screen"


SCREENS = (
    Screen("report-400", 400, 800),
    Screen("report-768", 768, 1024),
    Screen("report-1400", 1400, 900),
    Screen("report-1920", 1920, 1080),
    Screen("report-dark", 1400, 900, scheme="dark"),
    Screen("report-print", *PAPER, media="print"),
)


def take(browser, page: Path, screen: Screen, into: Path) -> Path:
    """Take one picture of a page; give its path."""
    context = browser.new_context(viewport={"width": screen.width, "height": screen.height}, color_scheme=screen.scheme)
    opened = context.new_page()
    opened.goto(page.as_uri())
    opened.emulate_media(media=screen.media, color_scheme=screen.scheme)
    opened.wait_for_function(ALL_DRAWN)
    path = into / f"{screen.name}.png"
    opened.screenshot(path=str(path))
    context.close()
    return path


SERVED = (
    Screen("serve-400", 400, 800),
    Screen("serve-768", 768, 700),
    Screen("serve-1400", 1400, 900),
    Screen("serve-1920", 1920, 900),
    Screen("serve-dark", 1400, 900, scheme="dark"),
)
"""Of the page of an experiment."""


RATES = """document.querySelector('.now b')?.textContent === 'running'
    && [...document.querySelectorAll('.scroll svg polyline')].some(line => line.points.numberOfItems > 3)"""
"""A phase runs, and an operation of it has a curve."""


def take_served(browser, lab: Path, name: str, query: str) -> None:
    """Take the pictures of `assay serve`: an experiment, its live view, a query with its chart."""
    with tempfile.TemporaryDirectory() as home, served(Bench(Path(home)), lab) as site:
        pages = [(screen, f"/experiment/{name}") for screen in SERVED]
        pages += [(Screen("serve-live", 1400, 900), f"/experiment/{name}/live")]
        pages += [(Screen("serve-sql", 1400, 900), f"/sql?now=1&q={quote(query)}")]
        for screen, path in pages:
            context = browser.new_context(viewport={"width": screen.width, "height": screen.height}, color_scheme=screen.scheme)
            page = context.new_page()
            page.goto(site.url)
            page.goto(f"http://127.0.0.1:{site.port}{path}")
            if screen.name == "serve-live":
                wait_until(lambda: page.evaluate(RATES), 120)  # noqa: B023 - called at once
            page.screenshot(path=str(PICTURES / f"{screen.name}.png"))
            context.close()


def main() -> None:
    """Write all pictures to docs/pictures."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        page = recorded.page(Path(home))
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        if len(sys.argv) > 1:
            take_served(browser, Path(sys.argv[1]), *sys.argv[2:])
        for screen in SCREENS if len(sys.argv) == 1 else ():
            take(browser, page, screen, PICTURES)
        browser.close()


if __name__ == "__main__":
    main()
