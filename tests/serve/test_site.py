"""Every page by links, with what it must show; pages follow the notebook; queries; metrics."""

import asyncio
import itertools
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urljoin

import pytest

from assay.notebook import trash
from assay.notebook.annotations import Remark, annotate
from assay.notebook.store import Store
from stage import cli_notebook
from stage.assay_process import Bench
from stage.cli_notebook import NAME
from stage.served_notebook import served

pytest.importorskip("starlette")
from starlette.requests import Request

from assay.serve.app import NotebookSite
from assay.serve.shelf import Shelf


def links(page):
    return [one.replace("&amp;", "&").replace("&#39;", "'") for one in re.findall(r'href="(/[^"]*|\?[^"]*)"', page)]


def test_every_page_is_reached_by_links_and_answers(site):
    seen, waiting = {}, ["/"]
    while waiting:
        path = waiting.pop()
        found = site.ask(path)
        if found.status == 202:
            found = site.until(path, lambda one: one.status != 202)
        seen[path] = found.status
        if "text/html" in found.headers["content-type"] and "sandbox" not in found.headers["content-security-policy"]:
            waiting += [one for link in links(found.text) if (one := urljoin(path, link)) not in seen and one not in waiting]
    assert set(seen.values()) == {200}
    assert {f"/experiment/{NAME}/run/{trial:04d}/1" for trial in range(1, 11)} <= seen.keys()
    assert {
        f"/experiment/{NAME}/report",
        f"/experiment/{NAME}/live",
        "/sql",
        "/metrics",
        "/experiment/nothing-yet-00000000",
    } <= seen.keys()


def test_pages_show_experiments_runs_and_what_the_rules_found(site):
    page = site.ask("/").text
    assert '10 <span class="badge sound">SOUND</span>' in page
    assert re.search(r"10\D+10\D+trials", page)
    page = site.ask(f"/experiment/{NAME}").text
    row = re.search(r'<tr><th scope="row"><a href="[^"]*/run/0001/1">0001/1</a>.*?</tr>', page, re.DOTALL)[0]
    assert [part for part in ("finished", "xfs", "/s", "SOUND") if part not in row] == []
    assert (page.count("/run/"), "interrupted" in page) == (11, True)
    assert "spool.create.ops_per_s" in site.ask(f"/experiment/{NAME}/run/0002/1").text
    assert site.ask(f"/experiment/{NAME}/run/0099/1").status == 404
    assert site.ask("/experiment/nothing/run/0001/1").status == 404


def test_the_report_is_the_report_in_an_origin_of_its_own(site):
    found = site.until(f"/experiment/{NAME}/report", lambda one: one.status == 200)
    assert "Which creates faster?" in found.text
    assert found.headers["content-security-policy"].startswith("sandbox allow-scripts;")


def ask(site, query, **more):
    return site.ask("/sql?q=" + quote(query) + "".join(f"&{key}={quote(value)}" for key, value in more.items()))


def test_a_query_has_its_rows_and_a_chart_and_texts_stay_texts(site):
    found = ask(site, "SELECT run, value FROM verdicts WHERE run IS NOT NULL ORDER BY run")
    assert found.status == 200
    assert "0001/1" in found.text
    assert "10 rows" in found.text
    assert found.text.count("<rect") >= 10
    lines = ask(site, "SELECT trial, value, value / 2 AS half FROM verdicts WHERE run IS NOT NULL ORDER BY trial", chart="lines")
    assert lines.text.count("<polyline") == 2
    assert "<svg" not in ask(site, "SELECT run FROM runs").text
    assert "more" in ask(site, "SELECT * FROM range(5000)").text, "cut"
    assert ask(site, "SELECT nothing FROM runs").status == 400
    found = ask(site, "SELECT '<script>alert(1)</script>' AS \"<b>\", 1 AS n")
    assert "<script>alert" not in found.text
    assert "&lt;script&gt;" in found.text
    assert "<th><b>" not in found.text


def test_metrics_for_prometheus(site):
    text = site.ask("/metrics").text
    assert f'assay_experiment_runs{{experiment="{NAME}",outcome="finished"}} 10' in text
    assert f'assay_experiment_running{{experiment="{NAME}"}} 0' in text
    assert f'assay_experiment_verdicts{{experiment="{NAME}",state="SOUND"}} 10' in text
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) \w+ .+|\w+(\{\w+=\"[^\"]*\"(,\w+=\"[^\"]*\")*\})? [-+.e0-9]+", line), line


def test_a_page_follows_the_notebook(site, notebook):
    (folder,) = notebook.glob(f"{NAME}*")
    assert f'assay_experiment_running{{experiment="{NAME}"}} 0' in site.ask("/metrics").text
    with Store.open(folder):
        site.until("/metrics", lambda one: f'assay_experiment_running{{experiment="{NAME}"}} 1' in one.text, 10)
        site.until("/", lambda one: "runs now" in one.text, 10)
        assert "A trial runs" in ask(site, "SELECT 1").text
        assert ask(site, "SELECT 1", now="1").status == 200
    site.until("/metrics", lambda one: f'assay_experiment_running{{experiment="{NAME}"}} 0' in one.text, 10)


EVIL = "<img src=x onerror=alert(1)></title></script><script>alert(2)</script>\"'"


def test_no_text_of_a_notebook_becomes_markup(tmp_path):
    """Titles, questions, levels, notes, and the reasons of deleted runs; in the report, too."""
    lab = cli_notebook.lab(tmp_path / "lab")
    folder = lab / NAME
    for name in ("plan.json", "plan-copy.json"):
        plan = json.loads((folder / name).read_text())
        plan["experiment"] |= {"title": EVIL, "question": EVIL}
        text = json.dumps(plan)
        (folder / name).write_text(text)
    annotate(folder, lambda found: found.with_note(None, Remark(text=EVIL)).with_note("0002/1", Remark(text=EVIL)))
    trash.delete_runs(folder, ["0003/1"], EVIL)
    bench = Bench(tmp_path)
    with served(bench, lab) as site:
        for path in ("/", f"/experiment/{NAME}", f"/experiment/{NAME}/run/0002/1", f"/experiment/{NAME}/live", "/metrics"):
            found = site.ask(path)
            assert found.status == 200, path
            if "text/html" in found.headers["content-type"]:
                assert "<img" not in found.text, path
                assert "<script>alert" not in found.text, path
        site.ask(f"/experiment/{NAME}/report")
        found = site.until(f"/experiment/{NAME}/report", lambda one: one.status != 202)
        assert found.status == 200
        assert "alert(1)" in found.text
        assert "<img src=x" not in found.text
        assert "<script>alert" not in found.text
        asked = site.ask("/sql?q=" + quote(f"SELECT '{EVIL.replace(chr(39), '')}' AS \"{EVIL.replace(chr(34), '')}\", 1 AS n"))
        assert asked.status == 200, asked.text
        assert "<img src=x" not in asked.text


def test_an_experiment_whose_plan_is_lost_is_shown_by_its_copy(tmp_path):
    """`assay list` read the copy, and the pages did not know the experiment."""
    lab = cli_notebook.lab(tmp_path / "lab")
    (lab / NAME / "plan.json").unlink()
    with served(Bench(tmp_path), lab) as site:
        assert "A mail spool" in site.ask("/").text
        assert site.ask(f"/experiment/{NAME}").status == 200


def test_the_report_of_a_running_experiment_is_given_though_runs_end_before_it_is_made(tmp_path, monkeypatch):
    """Each run that ended began the report anew, and a page that loads itself again never got one."""
    site = NotebookSite(shelf=Shelf(lab=cli_notebook.lab(tmp_path / "lab")))
    listed, numbers, made = site.shelf.listed, itertools.count(), []

    async def report(*_words):
        made.append(1)
        await asyncio.sleep(0.5)
        return b"the report"

    monkeypatch.setattr(site.worker, "run", report)
    monkeypatch.setattr(site.shelf, "stamp_of", lambda folder: (folder.name, *(next(numbers) for _ in range(7))))
    monkeypatch.setattr(site.shelf, "listed", lambda folder: replace(listed(folder), is_running=True))

    async def asked():
        scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b"now=1"}
        for _ in range(300):
            found = await site.report(Request({**scope, "path_params": {"name": NAME}}))
            if found.status_code != 202:
                return found.body
            await asyncio.sleep(0.1)
        return b"nothing"

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests leaves a loop behind in this one
        assert pool.submit(lambda: asyncio.run(asked())).result() == b"the report"
    assert len(made) == 1


def test_metrics_have_the_answer_with_its_verdicts(site):
    told = site.ask("/metrics").text
    figure = re.search(
        r'^assay_figure\{experiment="'
        + NAME
        + r'",measure="spool\.create\.ops_per_s",levels="xfs",verdict="(\w+)",unit="1/s"\} (\S+)$',
        told,
        re.MULTILINE,
    )
    assert figure[1] == "SOUND"
    ends = [
        float(re.search(rf'^assay_figure_{end}\{{.*levels="xfs".*\}} (\S+)$', told, re.MULTILINE)[1]) for end in ("low", "high")
    ]
    assert ends[0] < float(figure[2]) < ends[1]
    ratio = re.search(
        r'^assay_ratio\{.*baseline="ext4",candidate="xfs",conclusion="([a-z ]+)",verdict="(\w+)".*\} (\S+)$', told, re.MULTILINE
    )
    assert (ratio[1], float(ratio[3]) > 1) == ("different and matters", True)
    assert 'state="met"' in told


def test_the_dashboard_asks_for_metrics_that_are_there(site):
    told = site.ask("/metrics").text
    board = json.loads((Path(__file__).parents[2] / "docs" / "howto" / "grafana.json").read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert asked
    running = {
        "assay_trial_stage",
        "assay_operations_total",
        "assay_operation_bytes_total",
        "assay_device_bytes_total",
        "assay_waiting_bytes",
    }
    known = set(re.findall(r"^# TYPE (\S+)", told, re.MULTILINE)) | running
    assert [name for one in asked for name in re.findall(r"assay_\w+", one) if name not in known] == []
