"""The pages in a real browser: the address logs in, nothing is asked of others, tables fit, the live view renews itself."""

import itertools
from dataclasses import replace

import pytest

import cli_notebook
from assay.notebook.store import Store
from assay.serve.app import NotebookSite, own_file
from assay.serve.shelf import Shelf
from cli_notebook import NAME
from report.conftest import browser  # noqa: F401 - a fixture
from report.test_geometry import CUT
from served_notebook import served

RUNNING = {"trial": 1, "attempt": 1, "workload": "w", "phase": "write", "event": "running"}
BRIGHT = "Number(getComputedStyle(document.body).backgroundColor.match(/[0-9]+/)[0]) > 128"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def opened(browser, site):  # noqa: F811 - a fixture
    """A page of a browser that came by the printed address; what it asked for and complained about."""
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    page = context.new_page()
    page.asked, page.complaints = [], []
    page.on("request", lambda request: page.asked.append(request.url))
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.goto(site.url)
    yield page
    context.close()


def test_the_printed_address_logs_in_and_leaves_no_token_behind(opened, site):
    assert site.token not in opened.url
    assert opened.get_by_role("link", name="A mail spool").is_visible()
    assert site.token not in opened.content()
    assert opened.evaluate("document.cookie") == ""


def test_a_browser_without_the_cookie_sees_nothing(browser, site):  # noqa: F811 - a fixture
    context = browser.new_context()
    page = context.new_page()
    answer = page.goto(f"http://127.0.0.1:{site.port}/")
    assert answer.status == 403
    assert "A mail spool" not in page.content()
    context.close()


def test_pages_fit_their_window_and_ask_nobody_else(opened, site, subtests):
    pages = ("/", f"/experiment/{NAME}", f"/experiment/{NAME}/run/0001/1", "/sql?q=SELECT+run,value+FROM+verdicts")
    for path in pages:
        opened.goto(f"http://127.0.0.1:{site.port}{path}")
        for scheme, width in itertools.product(("light", "dark"), (360, 400, 768, 1400, 1920)):
            with subtests.test(path=path, scheme=scheme, width=width):
                opened.set_viewport_size({"width": width, "height": 900})
                opened.emulate_media(color_scheme=scheme)
                assert opened.evaluate(OVERFLOW) <= 0
                assert opened.evaluate(BRIGHT) == (scheme == "light")
    assert opened.complaints == []
    assert all(one.startswith((f"http://127.0.0.1:{site.port}/", "data:")) for one in opened.asked)


def test_the_runs_of_four_measures_have_no_column_beyond_their_place(browser, tmp_path, monkeypatch, subtests):  # noqa: F811
    """Four measures on a tablet were a table that goes on beyond the window."""
    site = NotebookSite(shelf=Shelf(lab=cli_notebook.lab(tmp_path / "lab")))
    folder = site.shelf.folder(NAME)
    listed = site.shelf.listed(folder)
    names = [f"another_workload.random_read.latency_p9{number}_ns" for number in range(3)]
    runs = [
        replace(one, verdicts=one.verdicts + tuple((name, "UNVERIFIED", 1.5e6, "ns") for name in names)) for one in listed.runs
    ]
    monkeypatch.setattr(site.shelf, "listed", lambda _: replace(listed, runs=tuple(runs)))
    context = browser.new_context()
    page = context.new_page()
    page.set_content(site.experiment_page(folder, 0).decode())
    for name in ("style.css", "serve.css"):
        page.add_style_tag(content=own_file(name).decode())
    assert "latency_" in page.content()
    for width in (360, 400, 641, 768, 1000, 1217, 1400, 1920):
        with subtests.test(width=width):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(CUT) == []
            assert page.evaluate(OVERFLOW) <= 0
    context.close()


def test_by_clicks_from_the_experiments_to_a_finding(opened):
    opened.get_by_role("link", name="A mail spool").click()
    opened.get_by_role("link", name="0001/1").click()
    assert opened.get_by_role("heading", name="Run 0001/1").is_visible()
    opened.get_by_role("link", name="spool.create.ops_per_s").click()
    assert opened.get_by_role("heading", name="spool.create.ops_per_s").is_visible()


def test_a_query_is_asked_in_the_form_and_drawn(opened, site):
    opened.goto(f"http://127.0.0.1:{site.port}/sql")
    opened.get_by_label("A SELECT over the tables of the notebook").fill("SELECT run, value FROM verdicts ORDER BY run")
    opened.get_by_role("button", name="Ask").click()
    opened.wait_for_selector("table.wide td")
    assert opened.locator(".drawn svg rect").count() >= 10
    assert opened.complaints == []


def test_the_report_draws_its_charts_and_cannot_ask_the_site(opened, site):
    opened.goto(f"http://127.0.0.1:{site.port}/experiment/{NAME}/report")
    opened.wait_for_selector("#answer")
    opened.wait_for_function(
        "document.querySelectorAll('.chart').length == document.querySelectorAll('.chart[data-state=drawn]').length"
    )
    reached = opened.evaluate("fetch('/').then(() => 'reached', () => 'refused')")
    assert reached == "refused"


def test_the_live_view_renews_itself(browser, bench, tmp_path):  # noqa: F811 - a fixture
    lab = cli_notebook.lab(tmp_path / "lab")
    (folder,) = lab.glob("a-mail*")
    context = browser.new_context()
    with served(bench, lab) as site, Store.open(folder) as store:
        page = context.new_page()
        page.goto(site.url)
        page.goto(f"http://127.0.0.1:{site.port}/experiment/{NAME}/live")
        for count in (1000, 3000):
            store.live({**RUNNING, "operations": {"write": {"count": count, "bytes": count * 4096}}})
            page.get_by_text(f"{count:,}", exact=True).wait_for()
        assert page.get_by_text("Running.").is_visible()
        context.close()
