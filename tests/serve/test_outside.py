"""Nothing outside the notebook can be read: addresses of all kinds, links that lead out, and queries."""

import random
import sqlite3
import string
import subprocess
import sys
import time
from contextlib import closing
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cli_notebook
from assay.notebook import files, layout
from assay.notebook.annotations import Remark, annotate
from assay.serve import confined
from assay_process import Bench, kill
from cli_notebook import NAME
from served_notebook import served

CANARY = "canary-4711-of-another-user"
ROUTES = (
    "/experiment/{}",
    "/experiment/{}/live",
    "/experiment/{}/live/now",
    "/experiment/{}/report",
    "/experiment/{}/run/0001/1",
)
PIECES = st.sampled_from(
    (
        *("..", ".", "", "/", "//", "%2e%2e", "%2E%2E%2f", "..%2f", "%252e%252e%252f", "..\\", "%5c..", "%00", "~"),
        *("%c0%ae%c0%ae", "secret", "etc", "passwd", "proc", "self", "environ", "plan.json", NAME, "experiment", "run"),
        *("0001", "1", "static", "lab", ";", "?", "#"),
    )
)
TEXTS = st.text(st.characters(max_codepoint=0x2FFF, exclude_categories=("Cs",)), max_size=12).map(
    lambda text: quote(text, safe="")
)
PATHS = st.lists(st.one_of(PIECES, TEXTS), min_size=1, max_size=12).map("/".join)


@pytest.fixture(scope="module")
def trapped(tmp_path_factory):
    """A notebook beside secrets, with experiments that are links to them."""
    around = tmp_path_factory.mktemp("around")
    lab = cli_notebook.lab(around / "lab")
    hidden = cli_notebook.lab(around / "secret")
    for plan in hidden.glob("*/plan.json"):
        plan.write_text(plan.read_text().replace("Which creates faster?", CANARY))
    (around / "secret.txt").write_text(CANARY)
    (lab / "loose").symlink_to(around / "secret.txt")
    (lab / "linked").symlink_to(next(hidden.glob("a-mail*")))
    (lab / "up").symlink_to(around)
    ours = next(lab.glob("a-mail*"))
    (ours / "trials" / "0042").symlink_to(next(hidden.glob("a-mail*")) / "trials" / "0001")
    bench = Bench(tmp_path_factory.mktemp("home"))
    with served(bench, lab) as found:
        yield found, around
    for pid in bench.processes():
        kill(pid)


def closed(site, path):
    found = site.ask(path)
    assert CANARY not in found.text, path
    assert "root:x:0" not in found.text, path
    assert found.status in (200, 202, 303, 400, 404, 421), (path, found.status)
    return found


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=PATHS, route=st.sampled_from(("/{}", "{}", "/static/{}", *ROUTES)))
def test_no_address_reaches_a_file_outside(trapped, path, route):
    site, _ = trapped
    asked = route.format(path)
    closed(site, "".join(letter for letter in asked if letter in string.printable and not letter.isspace()) or "/")


def test_links_parents_and_other_static_files_are_not_there(trapped):
    site, _ = trapped
    names = ("linked", "up", "loose", "..", "../secret/{}", "up%2fsecret%2f{}", "%2e%2e%2fsecret%2f{}", "{}/../../secret/{}")
    asked = [route.format(name.replace("{}", NAME)) for route in ROUTES for name in names]
    asked.append(f"/experiment/{NAME}/run/0042/1")
    others = ("etc/passwd", "../app.py", "..%2fapp.py", "%2e%2e/app.py", "serve.css/../../app.py")
    asked += [f"/static/{path}" for path in others]
    assert {path: status for path in asked if (status := closed(site, path).status) != 404} == {}
    assert closed(site, f"/experiment/{NAME}/run/0001/1").status == 200


QUERIES = (
    "SELECT * FROM read_text('{0}/secret.txt')",
    "SELECT * FROM '{0}/secret.txt'",
    "SELECT * FROM read_csv('{0}/secret.txt')",
    "SELECT * FROM read_blob('{0}/*')",
    "SELECT * FROM glob('{0}/*')",
    "SELECT * FROM read_json('{0}/secret/*/plan.json')",
    "SELECT * FROM read_parquet('{0}/secret/*/trials/*/*/facts.parquet')",
    "SELECT * FROM sniff_csv('{0}/secret.txt')",
    "SELECT * FROM parquet_metadata('/etc/passwd')",
    "COPY (SELECT 1) TO '{0}/made.txt'",
    "COPY runs FROM '{0}/secret.txt'",
    "ATTACH '{0}/secret.txt' AS out",
    "INSTALL httpfs",
    "LOAD '{0}/secret.txt'",
    "SET enable_external_access=true",
    "RESET enable_external_access",
    "SET lock_configuration=false",
    "SET memory_limit='8GB'",
    "PRAGMA memory_limit='8GB'",
    "PRAGMA enable_external_access=true; SELECT * FROM read_text('{0}/secret.txt')",
    "CREATE TABLE out AS SELECT 1",
    "DROP TABLE runs",
    "EXPORT DATABASE '{0}/out'",
    "IMPORT DATABASE '{0}/secret'",
    "WITH x AS (SELECT * FROM read_text('{0}/secret.txt')) SELECT * FROM x",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{0}/made.txt'",
    "SELECT * FROM query('SELECT * FROM read_text(''{0}/secret.txt'')')",
    "SELECT * FROM query_table('{0}/secret.txt')",
    "PREPARE x AS SELECT * FROM read_text('{0}/secret.txt')",
    "CALL pragma_version()",
)


def test_no_query_reaches_a_file_or_changes_anything(trapped, subtests):
    for query in QUERIES:
        with subtests.test(query=query):
            site, around = trapped
            before = sorted(around.rglob("*"))
            found = closed(site, "/sql?chart=none&q=" + quote(query.format(around)))
            assert found.status in (200, 400)
            assert sorted(around.rglob("*")) == before
            assert found.status == 400 or query.startswith(("PRAGMA memory", "CALL"))


def test_the_tables_do_not_follow_links_out_of_the_notebook(trapped, subtests):
    """The question of a linked experiment could be read, though its page was not there."""
    site, _ = trapped
    for table in ("experiments", "runs", "facts", "verdicts"):
        with subtests.test(table=table):
            found = closed(site, "/sql?chart=none&q=" + quote(f"SELECT * FROM {table}"))
            assert found.status == 200
            assert NAME in found.text
            assert "<td>linked</td>" not in found.text
            assert "0042/1" not in found.text


def test_a_query_without_end_or_without_measure_is_ended(trapped):
    site, _ = trapped
    found = site.ask("/sql?q=" + quote("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"), timeout=300)
    assert (found.status, "more than 10 s" in found.text) == (400, True)
    found = site.ask("/sql?q=" + quote("SELECT list(i) FROM range(100000000) t(i)"), timeout=300)
    assert found.status in (400, 503)
    assert site.ask("/").status == 200


def spoiled(folder):
    """Put the canary into every text of an experiment, whole by its manifests, so that a link to it would be read."""
    for path in folder.rglob("*.json"):
        if path.name == layout.MANIFEST:
            continue
        text = path.read_text()
        for word in ("Which creates faster?", "the load failed", "A mail spool"):
            text = text.replace(word, CANARY)
        path.write_text(text.replace('"statement":"', f'"statement":"{CANARY} '))
    for place in folder.glob("trials/*/attempt-*"):
        (place / layout.MANIFEST).unlink()
        (place / layout.MANIFEST).write_bytes(files.to_json(files.manifest_of(place)))


@pytest.fixture(scope="module")
def linked(tmp_path_factory):
    """A notebook, and one outside it that is the same but for the canary."""
    around = tmp_path_factory.mktemp("linked")
    lab, hidden = cli_notebook.lab(around / "lab"), cli_notebook.lab(around / "hidden")
    annotate(hidden / NAME, lambda found: found.with_note(None, Remark(text=CANARY)))
    annotate(lab / NAME, lambda found: found.with_note(None, Remark(text="ours")))
    spoiled(hidden / NAME)
    with closing(sqlite3.connect(hidden / NAME / layout.INDEX)) as index:
        index.execute("UPDATE runs SET outcome = ?", (CANARY,))
        index.commit()
    bench = Bench(tmp_path_factory.mktemp("home"))
    with served(bench, lab) as found:
        yield found, lab / NAME, hidden / NAME
    for pid in bench.processes():
        kill(pid)


FIXED = (layout.PLAN, layout.NOTES, layout.INDEX, layout.DERIVED, layout.TRIALS, layout.EXPERIMENT, "trials/0001")


def test_no_link_anywhere_in_an_experiment_is_followed_out(linked, subtests):
    """A file or folder at any depth, the deep ones drawn by lot, is a link to its like outside, whose content is whole."""
    site, ours, theirs = linked
    deep = [str(one.relative_to(ours)) for part in (layout.TRIALS, layout.DERIVED) for one in (ours / part).rglob("*")]
    drawn = random.Random(1).sample(sorted(name for name in deep if (theirs / name).exists()), 7)
    queries = ["/sql?chart=none&q=" + quote(f"SELECT * FROM {table}") for table in ("experiments", "runs")]
    for name in (*FIXED, *drawn):
        kept = ours / name
        kept.rename(aside := ours.parent.parent / "aside")
        trial = next((part for part in kept.parts if part.isdecimal() and len(part) == 4), "0001")
        try:
            kept.symlink_to(theirs / name)
            time.sleep(1.1)  # a page is as old as a second at most
            run = f"/experiment/{NAME}/run/{trial}/1"
            for path in ("/", "/metrics", *(route.format(NAME) for route in ROUTES), run, *queries):
                with subtests.test(name=name, path=path):
                    answer = site.until(path, lambda one: one.status != 202)
                    assert CANARY not in answer.text
                    assert answer.status in (200, 400, 404, 500, 503)
        finally:
            kept.unlink()
            aside.rename(kept)


@pytest.mark.skipif(confined.version() == 0, reason="this kernel has no Landlock")
def test_the_kernel_keeps_the_server_from_all_other_files(tmp_path):
    """What Assay overlooks the kernel refuses, in the server and in the processes that it starts."""
    lab = cli_notebook.lab(tmp_path / "lab")
    (tmp_path / "secret.txt").write_text(CANARY)
    program = f"""
import subprocess, sys
from pathlib import Path
from assay.serve import confined
lab = Path({str(lab)!r})
confined.confine(lab)
assert "title" in next(lab.glob("*/experiment.toml")).read_text()
for path in ("{tmp_path}/secret.txt", "/etc/passwd", "/root", "/proc/1/environ"):
    try:
        print(Path(path).read_bytes() if not Path(path).is_dir() else list(Path(path).iterdir()))
    except PermissionError:
        print("refused")
try:
    Path("{tmp_path}/made").write_text("x")
except PermissionError:
    print("refused")
code = "print(open('{tmp_path}/secret.txt').read())"
done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
print("refused" if "PermissionError" in done.stderr else done.stdout + done.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.split() == ["refused"] * 6
