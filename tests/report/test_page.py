"""The whole page, in text and in a browser."""

import functools
import itertools
import re

import pytest

from assay.errors import MissingError
from assay.notebook.read import MOST_REMEMBERED
from assay.report import page, picture
from assay.report.galleries import Pictures
from report import fixture

HOSTILE = '<script>alert("x")</script><img src=x onerror=alert(1)>"\'`${7*7}'
EXTERNAL = re.compile(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//|url\(\s*["']?https?:|@import""")


@pytest.fixture(scope="session", autouse=True)
def built_bundle():
    if not picture.BUNDLE.exists():
        pytest.importorskip("vl_convert")
        picture.write_bundle()


def written(tmp_path, results, pictures=None, load=lambda load: load):
    path = tmp_path / "report.html"
    page.write(results, load(fixture.loader(results)), path, pictures)
    return path


@pytest.fixture(scope="session")
def whole(tmp_path_factory):
    results = fixture.results()
    return written(tmp_path_factory.mktemp("whole"), results, fixture.pictures(results))


def test_without_scripts_and_on_narrow_screens_the_tables_still_tell(whole, look):
    seen = look(whole, wait=False)
    bare = seen.page.evaluate("[...document.querySelectorAll('figure')].filter(f => !f.querySelector('table tbody tr')).length")
    silent = seen.page.evaluate("[...document.querySelectorAll('.chart')].filter(c => !c.getAttribute('aria-label')).length")
    assert (bare, silent) == (0, 0)
    seen = look(whole, java_script_enabled=False, wait=False)
    assert seen.page.locator(".chart").first.is_visible() is False
    summary = seen.page.locator("#m-1 summary")
    summary.click()
    assert seen.page.locator("#m-1 table").is_visible()
    assert seen.page.locator(".ladder", has_text="98").first.is_visible()
    seen = look(whole, wait=False)
    seen.page.set_viewport_size({"width": 400, "height": 900})
    unnamed = """() => [...document.querySelectorAll('.scroll table:not(.figures)')].filter(one => {
        const cells = [...one.querySelector('tbody tr').querySelectorAll('td:not(.whole):not(:empty)')];
        return cells.some(cell => !/\\w/.test(getComputedStyle(cell, '::before').content));
    }).map(one => one.caption.textContent)"""
    assert seen.page.evaluate(unnamed) == []


def test_order_verdicts_links_and_addresses_of_the_whole_page(whole):
    text = whole.read_text()
    body = text[text.index("<main>") :]
    order = [
        body.index(part) for part in ("<h1>", "times the rate of ext4", "Requirements", ">Doubts<", 'id="bytes"', 'id="measures"')
    ]
    assert order == sorted(order)
    text = whole.read_text()
    for state in ("SOUND", "BOUNDED", "TAINTED", "UNVERIFIED", "INVALID"):
        assert f'{state.lower()}">{state}<' in text
    assert "client 3 was lost" in text
    assert "0009/1" in text
    text = whole.read_text()
    own = text.replace(picture.bundle(), "")
    assert EXTERNAL.findall(own) == []
    text = whole.read_text()
    assert "Label(" not in text
    assert "cold reads served by the device<br>" in text
    text = whole.read_text().replace(picture.bundle(), "")
    ids = re.findall(r'<(?:section|figure|h3|details|script)[^>]* id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'<li><a href="#([^"]+)"', text)) <= set(ids)


def test_200_trials_stay_under_two_megabytes(tmp_path, look):
    results = fixture.results(blocks=34)
    assert len(results.runs) >= 200
    path = written(tmp_path, results, fixture.pictures(results))
    assert path.stat().st_size < 2_000_000
    seen = look(path)
    assert seen.complaints == []
    assert seen.page.evaluate(
        "[...document.querySelectorAll('.chart')].every(c => c.dataset.state === 'drawn' || !c.clientWidth)"
    )


def test_few_runs_are_enough_for_a_page(tmp_path, look, subtests):
    for make in [fixture.empty, fixture.one_run]:
        with subtests.test(make=make):
            seen = look(written(tmp_path, make(), load=fixture.few))
            assert seen.complaints == []
            assert seen.page.locator("h1").inner_text()


def test_hostile_texts_stay_texts(tmp_path, look):
    results = fixture.hostile(HOSTILE)
    path = written(tmp_path, results, fixture.pictures(results), fixture.few)
    seen = look(path)
    assert seen.complaints == []
    assert seen.page.locator("h1").inner_text() == HOSTILE
    assert seen.page.locator("img").count() == 0
    drawn = seen.page.evaluate(
        "[...document.querySelectorAll('.chart')].every(c => c.dataset.state === 'drawn' || !c.clientWidth)"
    )
    assert drawn


def test_missing_bundle_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(picture, "BUNDLE", tmp_path / "vega.js")
    with pytest.raises(MissingError, match="make build"):
        written(tmp_path, fixture.results(1))


def test_the_evidence_of_a_run_is_read_once_by_what_the_notebook_remembers(tmp_path):
    results = fixture.results()
    asked = []
    load = fixture.loader(results)
    page.render(results, functools.lru_cache(MOST_REMEMBERED)(lambda run: asked.append(run) or load(run)), Pictures())
    assert len(asked) == len(set(asked)) > 0


def test_headings_leave_out_no_level(tmp_path, subtests):
    for make in [fixture.results, fixture.one_run]:
        with subtests.test(make=make):
            text = written(tmp_path, make(), load=fixture.few).read_text().replace(picture.bundle(), "")
            levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", text)]
            assert levels[0] == 1
            assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_paths_names_and_lists_go_on_behind_their_own_marks(subtests):
    for text, wrapped in [
        ("The storage below /tmp/newcomer", "The storage below /tmp/<wbr>newcomer"),
        ("/srv and '/a b/c' (/d/e)", "/srv and &#39;/a b/<wbr>c&#39; (/d/<wbr>e)"),
        ("host:/export//x</b>", "host:/<wbr>export/<wbr>/<wbr>x&lt;/<wbr>b&gt;"),
        ("a/", "a/<wbr>"),
    ]:
        with subtests.test(text=text):
            made = page._environment()
            assert made.from_string("{{ text | wrapped }}").render(text=text) == wrapped
    made = page._environment()
    shown = made.from_string("{{ 'a.b_c<' | dotted }} {{ 'rw,x=1/2' | parted }}").render()
    assert shown == "a.<wbr>b_<wbr>c&lt; rw,<wbr>x=<wbr>1/<wbr>2"
