"""The page of a recorded `assay quick` as boxes: first screen, no cut column from phone to wall, no broken word, eight pages."""

import re
import struct

import pytest

from report import recorded, screens
from report.conftest import ALL_DRAWN

FIRST_SCREENS = ((1400, 900), (400, 800))
WIDTHS = (360, 400, 641, 768, 1000, 1400, 1920)
MOST_HIGH = 6000
MOST_PAGES = 8
PAPER = 690
"""Pixels between the margins of a page of A4."""
BELOW = """() => Object.fromEntries(['.place', 'h1', '.lead', '.trust'].map(
    name => [name, Math.round(document.querySelector(name)?.getBoundingClientRect().bottom ?? 1e9)]))"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
CUT = """() => [...document.querySelectorAll("main *")].filter(
    one => one.checkVisibility() && !one.closest("svg")).filter(one => {
  const box = one.getBoundingClientRect();
  if (one.matches('.scroll') && one.scrollWidth > one.clientWidth + 1) return true;
  const style = getComputedStyle(one);
  if (style.position === 'absolute' || !box.width) return false;
  const around = one.parentElement.getBoundingClientRect();
  return box.right > around.right + 2 || box.left < around.left - 2;
}).map(one => (one.getAttribute('aria-label') || one.className || one.tagName) + ': ' + one.textContent.trim().slice(0, 60))"""
"""Elements beyond the box around them, and tables that go on beyond their place."""
HIDDEN_TEXT = """() => [...document.querySelectorAll('.rung, .shore, .remark, .ratio span, .badge')].filter(
    one => one.checkVisibility() && one.scrollWidth > one.clientWidth + 2 && getComputedStyle(one).overflow === 'hidden')
    .map(one => one.textContent.trim())"""
BROKEN = """() => {
  const found = new Set();
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const around = node.parentElement;
    if (!around.checkVisibility() || around.closest('svg, script, style, caption, #answer > h2')) continue;
    for (const word of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
      if (/\\d/.test(word[0]) && word[0].length > 20) continue;
      range.setStart(node, word.index); range.setEnd(node, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(one => Math.round(one.top))).size > 1) found.add(word[0]);
    }
  }
  return [...found];
}"""
"""Words of letters and digits that are in two lines; digests may be."""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return recorded.page(tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def opened(look, written):
    return look(written).page


def test_first_screen_room_height_and_colours(opened, subtests):
    assert opened.evaluate("document.documentElement.scrollHeight") <= MOST_HIGH
    for width, height in FIRST_SCREENS:
        with subtests.test(width=width):
            opened.set_viewport_size({"width": width, "height": height})
            found = opened.evaluate(BELOW)
            assert {name: bottom for name, bottom in found.items() if bottom > height} == {}
            place = opened.locator(".place").first.inner_text()
            assert re.search(r"/\S+: ext4 on \w+ · host \S+ · Linux \S+", place), place
    # A tablet had one row for each part of a figure; a phone broke the command into seven lines beside an empty column.
    left = "name => [...document.querySelectorAll(name)].map(one => Math.round(one.getBoundingClientRect().left))"
    top = "name => [...document.querySelectorAll(name)].map(one => Math.round(one.getBoundingClientRect().top))"
    opened.set_viewport_size({"width": 800, "height": 900})
    figures, intervals = opened.evaluate(top, ".figures td.big"), opened.evaluate(top, ".figures td.interval")
    assert len(figures) > 5
    assert all(abs(one - other) < 15 for one, other in zip(figures, intervals, strict=True))
    opened.set_viewport_size({"width": 400, "height": 800})
    assert set(opened.evaluate(left, "#again > .facts > dd")) == set(opened.evaluate(left, "#again > .facts > dt"))
    colours = opened.evaluate(
        "Object.fromEntries([...document.querySelectorAll('.badge')].map(one => [one.textContent, getComputedStyle(one).color]))"
    )
    states = [name for name in colours if name.isupper()]
    assert len({colours[name] for name in states}) == len(states) >= 2
    red = opened.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--invalid')")
    accused = opened.evaluate(
        """() => [...document.querySelectorAll('.doubts li.fail')].filter(one => !one.matches('.invalidates'))
        .map(one => getComputedStyle(one, '::before').backgroundColor)"""
    )
    r, g, b = (int(red.strip()[at : at + 2], 16) for at in (1, 3, 5))
    assert f"rgb({r}, {g}, {b})" not in accused


def test_no_element_is_outside_its_box_and_no_word_is_broken(opened, subtests):
    for width in WIDTHS:
        with subtests.test(width=width):
            opened.set_viewport_size({"width": width, "height": 900})
            opened.wait_for_timeout(200)
            assert opened.evaluate(SIDEWAYS) <= 0
            assert opened.evaluate(CUT) == []
            assert opened.evaluate(HIDDEN_TEXT) == []
            assert opened.evaluate(BROKEN) == []


def test_with_all_unfolded_no_table_goes_on_beyond_its_place(opened, subtests):
    """Tables of numbers in half a page were cut at the right; the longest words of a ladder went on beyond a phone."""
    for width in WIDTHS:
        with subtests.test(width=width):
            opened.set_viewport_size({"width": width, "height": 900})
            opened.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true })")
            opened.evaluate(
                "text => document.querySelectorAll('.remark').forEach(one => { one.textContent = text })",
                "13.8 times more: read-ahead or other processes' traffic",
            )
            opened.wait_for_function(ALL_DRAWN, timeout=60_000)
            assert opened.evaluate(SIDEWAYS) <= 0
            assert opened.evaluate(CUT) == []


def test_it_prints_on_eight_pages_with_whole_words_and_tables_and_folded_pictures_are_drawn_when_opened(opened, tmp_path):
    pdf = opened.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= MOST_PAGES
    opened.set_viewport_size({"width": PAPER, "height": 1000})
    opened.emulate_media(media="print")
    opened.wait_for_timeout(300)
    assert opened.evaluate(CUT) == []
    assert opened.evaluate(BROKEN) == []
    opened.emulate_media(media="screen")
    opened.reload()
    opened.wait_for_function(ALL_DRAWN)
    folded = opened.locator("details.folded .chart")
    assert folded.count() > 3
    assert not folded.first.is_visible()
    opened.evaluate("document.querySelectorAll('details.folded').forEach(one => { one.open = true })")
    opened.wait_for_function(
        "[...document.querySelectorAll('details.folded .chart')].every(one => one.dataset.state === 'drawn')"
    )


def size(path):
    """Width and height of a PNG."""
    return struct.unpack(">II", path.read_bytes()[16:24])


def test_the_pictures_of_the_pages_are_of_these_screens(browser, written, tmp_path, subtests):
    for screen in screens.SCREENS:
        with subtests.test(screen=screen):
            taken = screens.take(browser, written, screen, tmp_path)
            assert size(taken) == (screen.width, screen.height)
            assert size(screens.PICTURES / taken.name) == (screen.width, screen.height)
            assert taken.stat().st_size > 20_000, "hardly anything is drawn"


def test_dark_paper_is_dark_and_print_is_light(look, written):
    background = "getComputedStyle(document.body).backgroundColor"
    dark = look(written, color_scheme="dark").page
    assert dark.evaluate(background) == "rgb(23, 24, 26)"
    dark.emulate_media(media="print")
    assert dark.evaluate(background) == "rgb(255, 254, 251)"
