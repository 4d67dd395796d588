"""The site of all pages: built from the repository, opened from the file system in a browser, and searched without a network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HTML = ROOT / ".build" / "site" / "html"


@pytest.fixture(scope="module")
def site():
    """The first page; a link that leads nowhere, or a page that wants the network, fails the build."""
    done = subprocess.run([sys.executable, ROOT / "scripts" / "site" / "build.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)[-3000:]
    return HTML / "index.html"


@pytest.fixture(scope="module")
def page(site, browser):
    """The first page in a browser; `asked` holds what it wanted from elsewhere."""
    opened = browser.new_page(viewport={"width": 1400, "height": 900})
    opened.asked = []
    opened.on("request", lambda one: opened.asked.append(one.url) if one.url.startswith("http") else None)
    opened.goto(f"file://{site}")
    yield opened
    opened.close()


def test_every_page_of_the_repository_is_on_the_site(site):
    pages = {path.relative_to(ROOT).with_suffix(".html") for path in (ROOT / "docs").rglob("*.md") if path.name != "README.md"}
    assert not [page for page in pages if not (HTML / page).is_file()]


def test_a_list_that_follows_a_sentence_is_a_list(site):
    """The repository's pages have no blank line there."""
    assert "<li><code>/sys/fs/ext4/DEVICE/errors_count" in (HTML / "docs" / "observers" / "devices.html").read_text()


def test_the_search_finds_a_rule_without_a_network(page):
    page.wait_for_load_state("load")
    for _ in range(50):  # the key works as soon as the page's script has started
        page.keyboard.press("Control+k")
        page.wait_for_timeout(300)
        if page.evaluate("document.activeElement.tagName") != "BODY":
            break
    page.keyboard.type("coordinated omission")
    page.locator("a[href*='coordinated_omission.html']:visible").first.wait_for(timeout=120_000)
    assert not page.asked
