"""A page opened in a real browser: what it asks for, what it complains about, what it draws."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-quic",
    "--disable-sync",
    "--disable-component-update",
    "--no-first-run",
]
PATIENCE_MS = 300_000
ALL_DRAWN = """[...document.querySelectorAll('.chart')].every(
    place => ['drawn', 'failed'].includes(place.dataset.state) || !place.clientWidth)"""


@dataclass
class Opened:
    page: object
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser():
    """A browser for the tests of one file. While it is open no other event loop can run in this thread."""
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM}: the page cannot be looked at here")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS, timeout=PATIENCE_MS)
        made = started.new_context

        def patient(**options):
            context = made(**options)
            context.set_default_timeout(PATIENCE_MS)
            return context

        started.new_context = patient
        yield started
        started.close()


@pytest.fixture
def look(browser) -> Iterator[Callable[..., Opened]]:
    contexts = []

    def opened(path: Path, width: int = 1400, *, wait: bool = True, **options) -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 1000}, **options)
        contexts.append(context)
        page = context.new_page()
        found = Opened(page=page)
        page.on("request", lambda request: found.requests.append(request.url))
        page.on("console", lambda message: found.complaints.append(message.text))
        page.on("pageerror", lambda error: found.complaints.append(str(error)))
        page.on("dialog", lambda dialog: found.complaints.append(f"dialog: {dialog.message}"))
        page.goto(path.as_uri())
        if wait:
            page.wait_for_function(ALL_DRAWN)
        return found

    yield opened
    for context in contexts:
        context.close()
