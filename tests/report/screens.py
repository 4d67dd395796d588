"""Pictures of the page of a recorded `assay quick`: four widths, dark, and on paper.

`PYTHONPATH=tests .venv/bin/python -m report.screens` writes them to docs/pictures.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

from report import recorded
from report.conftest import ALL_DRAWN, CHROMIUM, FLAGS

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
    opened.wait_for_function(ALL_DRAWN, timeout=60_000)
    path = into / f"{screen.name}.png"
    opened.screenshot(path=str(path))
    context.close()
    return path


def main() -> None:
    """Write all pictures to docs/pictures."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        page = recorded.page(Path(home))
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        for screen in SCREENS:
            take(browser, page, screen, PICTURES)
        browser.close()


if __name__ == "__main__":
    main()
