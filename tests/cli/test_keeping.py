"""`assay delete`, `trash`, `annotate`, `tag`, `move`, `merge` and the lists that show them, as a user calls them."""

import json
import re

import pytest

from stage import cli_notebook
from stage.cli_notebook import NAME


@pytest.fixture
def call(bench):
    lab = cli_notebook.lab(bench.home / "lab")

    def run(*words, status=0, **more):
        found = bench.run(*words, "--lab", lab, **more)
        assert found.returncode == status, found.stderr
        return found

    run.lab = lab
    return run


def test_nothing_goes_without_a_word(call):
    refused = (
        (("delete", NAME), "--yes"),
        (("delete", NAME, "1/1", "--yes"), "--why"),
        (("delete", NAME, "1/1", "--yes", "--why", " "), "--why"),
        (("delete", NAME, "77/1", "--yes", "--why", "x"), "0077/1"),
        (("trash", "--restore"), "--restore"),
    )
    for words, part in refused:
        assert part in call(*words, status=2).stderr
    assert (call.lab / NAME).is_dir()


def test_an_experiment_is_deleted_listed_restored_and_gone_for_good(call):
    found = json.loads(call("delete", "a-mail", "--yes", "--json").stdout)
    assert (found["schema"], found["experiment"]) == ("assay.delete/1", NAME)
    assert not (call.lab / NAME).exists()
    (one,) = json.loads(call("trash", "--json").stdout)["trash"]
    assert one["experiment"] == NAME
    assert NAME in call("trash").stdout
    assert "11 runs" in call("trash", one["name"], "--restore").stdout
    assert (call.lab / NAME).is_dir()
    assert "is empty" in call("trash").stdout
    call("delete", NAME, "--yes")
    assert NAME in call("trash", "--empty", status=2).stderr
    call("trash", "--empty", "--yes")
    assert not list((call.lab / ".trash").iterdir())


def test_deleted_runs_are_named_in_the_lists_and_wherever_figures_are(call):
    """A report of what is left said nothing of the runs that were taken out."""
    call("delete", NAME, "3/1", "4/1", "--yes", "--why", "a neighbour worked")
    assert "2 runs were deleted" in call("list").stdout
    shown = call("list", NAME).stdout
    assert [part for part in ("0003/1", "0004/1", "a neighbour worked") if part not in shown] == []
    gone = json.loads(call("list", "--runs", "--json").stdout)["deleted"]
    assert [(one["run"], one["outcome"], one["why"]) for one in gone] == [
        (run, "finished", "a neighbour worked") for run in ("0003/1", "0004/1")
    ]
    for form in ("html", "md"):
        text = call("report", NAME, "--format", form, "--out", "-").stdout
        assert "2 runs deleted" in text
        assert re.search(r"on 20\d\d-\d\d-\d\d \(0003/1 finished, 0004/1 finished\): a neighbour worked", text)
        assert not re.search(r"\d trials? not run|of \d+ trials? not run", text)
    said = call("audit", NAME).stdout
    assert "2 runs deleted" in "".join(said.splitlines()[:2])
    assert "0003/1 finished, 0004/1 finished" in said
    found = json.loads(call("audit", NAME, "--json").stdout)
    assert [one["run"] for one in found["deleted"]] == ["0003/1", "0004/1"]


def test_notes_and_tags_are_shown_and_filter_the_lists(call):
    before = sorted(path.name for path in (call.lab / NAME).iterdir())
    assert "neither" in call("annotate", NAME).stdout
    assert sorted(path.name for path in (call.lab / NAME).iterdir()) == before, "to show a note writes nothing"
    call("annotate", NAME, "the new disk")
    call("tag", NAME, "nightly", "odd")
    call("tag", NAME, "--remove", "odd")
    call("tag", NAME, "best", "--run", "2/1")
    assert "nightly: the new disk" in call("annotate", NAME).stdout
    assert "nightly: the new disk" in call("list").stdout
    assert [one["experiment"] for one in json.loads(call("list", "--tag", "nightly", "--json").stdout)["experiments"]] == [NAME]
    assert [one["run"] for one in json.loads(call("list", "--runs", "--tag", "best", "--json").stdout)["runs"]] == ["0002/1"]
    assert "up to 60" in call("tag", NAME, "no tag", status=2).stderr


def test_move_and_merge(call, bench):
    other = bench.home / "other"
    assert f"{NAME}: now in" in call("move", NAME, "--to", other).stdout
    assert "11 runs added" in call("merge", other).stdout
    found = json.loads(call("merge", other, "--json").stdout)["experiments"]
    assert [(one["experiment"], one["known"], one["added"]) for one in found] == [(NAME, 11, [])]
