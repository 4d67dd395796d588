"""The page in a browser at three widths: no network, all drawn, readable in light, in dark and on paper, reached by keyboard."""

from dataclasses import replace

import pytest

from assay.report import page, picture
from assay.report.galleries import Pictures
from report import fixture
from report.conftest import ALL_DRAWN, Opened

WIDTHS = (400, 800, 1400)
DRAWN = """() => [...document.querySelectorAll('.chart')].filter(chart => chart.clientWidth).map(chart => [
    chart.closest('figure').id, chart.dataset.state,
    chart.querySelectorAll('svg [role="graphics-symbol"], svg .mark-group path').length > 0])"""
SKETCHED = "() => [...document.querySelectorAll('.drawn svg, .rungs svg')].map(one => one.querySelectorAll('rect').length)"
REACHED = """() => { window.reached = []; document.addEventListener('focusin', event => window.reached.push(event.target)); }"""
EXPECTED = """() => [...document.querySelectorAll('a[href], summary, [tabindex="0"]')].filter(one => one.checkVisibility())"""
BARE = """() => [...document.querySelectorAll('figure, .forest, #bytes')].filter(one => !(one.querySelector('table tbody tr')
    || one.nextElementSibling?.querySelector('table tbody tr'))).map(one => one.id || one.className)"""
UNFOLD = "document.querySelectorAll('details').forEach(one => { one.dataset.was = one.open; one.open = true })"
FOLD = "document.querySelectorAll('details').forEach(one => { one.open = one.dataset.was === 'true' })"
PAPER = 690
"""Pixels between the margins of a page of A4."""
BEYOND = """() => [...document.querySelectorAll('table, .said *, .chart, .drawn')].filter(one => {
  if (!one.checkVisibility()) return false;
  const around = one.closest('.measure, figure, section').getBoundingClientRect();
  return one.getBoundingClientRect().right > around.right + 2 || one.getBoundingClientRect().left < around.left - 2;
}).map(one => one.caption?.textContent ?? one.className)"""
CONTRAST = """() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(part => part / 255).map(
      part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  const texts = [...document.querySelectorAll('.chart svg .role-axis text, .drawn svg text, figcaption span')];
  return Math.min(...texts.map(one => {
    const style = getComputedStyle(one);
    const ink = light(one.closest('svg') ? style.fill : style.color);
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  }));
}"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    if not picture.BUNDLE.exists():
        pytest.importorskip("vl_convert")
        picture.write_bundle()
    results = fixture.results()
    path = tmp_path_factory.mktemp("page") / "report.html"
    page.write(results, fixture.few(fixture.loader(results)), path, fixture.pictures(results))
    return path


@pytest.fixture(scope="module")
def at_each_width(browser, written):
    """The page at each width, all charts drawn; the tests that share it leave it as it was."""
    found = []
    for width in WIDTHS:
        context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme="light")
        opened = Opened(page=context.new_page())
        opened.page.on("request", lambda asked, opened=opened: opened.requests.append(asked.url))
        opened.page.on("console", lambda message, opened=opened: opened.complaints.append(message.text))
        opened.page.on("pageerror", lambda error, opened=opened: opened.complaints.append(str(error)))
        opened.page.goto(written.as_uri())
        opened.page.wait_for_function(ALL_DRAWN)
        opened.width = width
        found.append(opened)
    yield found
    for opened in found:
        opened.page.context.close()


def overflows(seen):
    return seen.page.evaluate("document.documentElement.scrollWidth") > seen.width


def test_it_asks_nothing_of_a_network_and_complains_of_nothing(at_each_width, written, subtests):
    for seen in at_each_width:
        with subtests.test(width=seen.width):
            assert seen.requests == [written.as_uri()]
            assert seen.complaints == []


def test_every_chart_is_drawn_with_marks(at_each_width, subtests):
    for seen in at_each_width:
        with subtests.test(width=seen.width):
            charts = seen.page.evaluate(DRAWN)
            assert len(charts) > 25
            assert [one for one in charts if one[1:] != ["drawn", True]] == []
            sketches = seen.page.evaluate(SKETCHED)
            assert len(sketches) > 8
            assert min(sketches) >= 3


def test_the_body_needs_no_sideways_scrolling_even_with_all_tables_open(at_each_width, subtests):
    for seen in at_each_width:
        with subtests.test(width=seen.width):
            assert not overflows(seen)
            seen.page.evaluate(UNFOLD)
            wide = overflows(seen)
            seen.page.evaluate(FOLD)
            assert not wide


def test_texts_of_charts_can_be_read_in_light_and_dark(at_each_width, subtests):
    """At least 3 to 1, what WCAG 2 asks of parts of a picture; most texts have far more."""
    for seen in at_each_width:
        with subtests.test(width=seen.width):
            assert seen.page.evaluate(CONTRAST) >= 3
            seen.page.emulate_media(color_scheme="dark")
            dark = seen.page.evaluate(CONTRAST)
            background = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
            seen.page.emulate_media(color_scheme="light")
            assert dark >= 3
            assert background != seen.page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_on_paper_short_tables_are_unfolded_and_the_navigation_is_gone(at_each_width, subtests):
    for seen in at_each_width:
        with subtests.test(width=seen.width):
            unfolded = "document.querySelectorAll('details.short[open]').length"
            seen.page.emulate_media(media="print")
            seen.page.wait_for_function(f"{unfolded} > 8")
            assert not seen.page.locator("nav").is_visible()
            assert seen.page.locator("#m-1 table").is_visible()
            assert seen.page.locator("#m-1 .chart svg").is_visible()
            assert not seen.page.locator("#schedule table").is_visible(), "a long table stays folded"
            seen.page.set_viewport_size({"width": PAPER, "height": 1000})
            beyond = seen.page.evaluate(BEYOND)
            seen.page.set_viewport_size({"width": seen.width, "height": 1000})
            assert beyond == []
            seen.page.emulate_media(media="screen")
            seen.page.wait_for_function(f"{unfolded} === 0")


def test_every_table_has_a_caption_and_its_cells_have_headers(at_each_width, subtests):
    for seen in at_each_width:
        with subtests.test(width=seen.width):
            tables = seen.page.evaluate(
                """() => [...document.querySelectorAll('table')].map(one => [one.caption?.textContent,
                [...one.querySelectorAll('thead th')].every(cell => cell.scope === 'col'),
                [...one.querySelectorAll('tbody tr')].every(row => row.querySelector('th[scope=row]')),
                !!one.closest('[role=region][tabindex="0"][aria-label]')])"""
            )
            assert len(tables) > 20
            assert [one for one in tables if not all(one)] == []


def test_each_figure_has_its_table_beside_it(at_each_width, subtests):
    for seen in at_each_width:
        with subtests.test(width=seen.width):
            assert seen.page.evaluate(BARE) == []


def test_the_tab_key_reaches_every_table_in_the_order_of_the_page_and_it_prints(at_each_width):
    seen = at_each_width[-1]
    seen.page.evaluate(UNFOLD)
    seen.page.evaluate(REACHED)
    wanted = seen.page.evaluate(f"({EXPECTED})().length")
    seen.page.evaluate("document.activeElement.blur()")
    for _ in range(wanted):
        seen.page.keyboard.press("Tab")
    same = (
        f"(() => {{ const wanted = ({EXPECTED})(); return wanted.findIndex((one, place) => window.reached[place] !== one) }})()"
    )
    first_other = seen.page.evaluate(same)
    regions = seen.page.evaluate("window.reached.filter(one => one.querySelector('table')).length")
    tables = seen.page.evaluate("[...document.querySelectorAll('table')].filter(one => one.checkVisibility()).length")
    seen.page.evaluate(FOLD)
    assert first_other == -1
    assert regions >= tables > 20
    assert seen.page.pdf(format="A4")[:5] == b"%PDF-"


FIGURES_FIT = """() => [...document.querySelectorAll('.figures')].map(
    table => table.parentElement.scrollWidth <= table.parentElement.clientWidth)"""
BROKEN_WORDS = """() => [...document.querySelectorAll('.figures th, .figures td')].filter(cell => {
  const range = document.createRange();
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) for (const word of walker.currentNode.data.matchAll(/\\S+/g)) {
    range.setStart(walker.currentNode, word.index); range.setEnd(walker.currentNode, word.index + word[0].length);
    if (new Set([...range.getClientRects()].map(one => Math.round(one.top))).size > 1 && !/[-/]/.test(word[0])) return true;
  }
  return false;
}).map(cell => cell.textContent)"""


def test_the_table_of_the_figures_fits_between_phone_and_desk_and_breaks_no_word_on_paper(look, tmp_path):
    results = replace(fixture.results(1), comparisons=(), requirements=(), scaling=(), dips=())
    path = tmp_path / "report.html"
    page.write(results, fixture.few(fixture.loader(results)), path, Pictures())
    seen = look(path, wait=False).page
    for width in (641, 768, 1000):
        seen.set_viewport_size({"width": width, "height": 1000})
        assert seen.evaluate(FIGURES_FIT) == [True], width
        assert seen.evaluate(BROKEN_WORDS) == [], width
    seen.set_viewport_size({"width": PAPER, "height": 1000})
    seen.emulate_media(media="print")
    assert seen.evaluate(FIGURES_FIT) == [True]
    assert seen.evaluate(BROKEN_WORDS) == []
