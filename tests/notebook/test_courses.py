"""Courses in the notebook: kept with the verdicts, read again, asked in SQL, shown, missing in what older versions wrote."""

import json

import pytest

import notebook_records as made
from assay.audit import judge
from assay.cli.show import show
from assay.laboratory.results import judged_run
from assay.notebook import read, sql
from assay.notebook.store import Store
from course_cases import LATENCY, noise, scene

FALLS = [value * (0.7 if at >= 60 else 1.0) for at, value in enumerate(noise("kept", spread=0.01))]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A lab with one run whose rate falls, and what is said of it."""
    asked, run, seen = scene(FALLS)
    with Store.create(tmp_path_factory.mktemp("courses"), asked, made.plan(asked), made.TEXT) as store:
        store.add(run, seen)
        judged = judged_run(asked, run, seen)
        store.judge(judge.ruleset(), judged.verdicts.values(), {judged.id: judged.courses})
    return store.folder, judged


def test_what_was_kept_is_read_is_a_table_and_is_shown(kept, capsys):
    folder, judged = kept
    (found,) = read.results(folder, judge.ruleset()).runs
    assert found == judged
    assert found.courses.keys() == {made.RATE, LATENCY}
    query = f"SELECT run, kind, state, unknown, changes->>'$[0].at_ns' FROM courses WHERE measure = '{made.RATE}'"
    ((run, kind, state, unknown, at_ns),) = sql.query(folder.parent, query).rows
    course = judged.courses[made.RATE]
    assert (run, kind, state, unknown) == (judged.id, "rate", "not steady", None)
    assert int(at_ns) == course.changes[0].at_ns
    show(folder.parent, None, judged.id, json_to=None)
    text = capsys.readouterr().out
    assert f"    {made.RATE}: not steady: falls by " in text
    assert f"    {LATENCY}: not steady: rises by " in text
    show(folder.parent, None, judged.id, json_to="-")
    assert json.loads(capsys.readouterr().out)["courses"][made.RATE]["state"] == "not steady"


def test_where_an_older_version_judged_they_are_made_of_the_evidence(kept, capsys):
    folder, judged = kept
    (path,) = folder.glob("derived/*/verdicts/*.json")
    whole = path.read_bytes()
    found = json.loads(whole)
    del found["courses"]
    path.write_text(json.dumps(found))
    try:
        (old,) = read.results(folder, judge.ruleset()).runs
        assert (old.courses, old.verdicts) == ({}, judged.verdicts)
        show(folder.parent, None, judged.id, json_to=None)
        assert "not steady: falls by " in capsys.readouterr().out
    finally:
        path.write_bytes(whole)
