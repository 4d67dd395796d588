"""`assay delete`, `trash`, `annotate`, `tag`, `move`, `merge` and the lists that show them, as a user calls them."""

import json
import re

import pytest

import cli_notebook
from cli_notebook import NAME


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
    found = call("delete", NAME, status=2)
    assert "expected --yes" in found.stderr
    assert (call.lab / NAME).is_dir()
    assert "expected --why" in call("delete", NAME, "1/1", "--yes", status=2).stderr
    assert "expected --why" in call("delete", NAME, "1/1", "--yes", "--why", " ", status=2).stderr
    assert "found no run 0077/1" in call("delete", NAME, "77/1", "--yes", "--why", "x", status=2).stderr


def test_an_experiment_is_deleted_listed_and_restored(call):
    found = json.loads(call("delete", "a-mail", "--yes", "--json").stdout)
    assert (found["schema"], found["experiment"]) == ("assay.delete/1", NAME)
    assert not (call.lab / NAME).exists()
    (one,) = json.loads(call("trash", "--json").stdout)["trash"]
    assert one["experiment"] == NAME
    assert NAME in call("trash").stdout
    assert "11 runs restored" in call("trash", one["name"], "--restore").stdout
    assert (call.lab / NAME).is_dir()
    assert "is empty" in call("trash").stdout


def test_the_trash_is_emptied_only_with_a_word(call):
    call("delete", NAME, "--yes")
    assert NAME in call("trash", "--empty", status=2).stderr
    assert "deleted for good" in call("trash", "--empty", "--yes").stdout
    assert not list((call.lab / ".trash").iterdir())
    assert "found --restore" in call("trash", "--restore", status=2).stderr


def test_deleted_runs_are_named_in_the_lists(call):
    assert "To bring it back" in call("delete", NAME, "3/1", "--yes", "--why", "a neighbour worked").stdout
    assert "1 run was deleted" in call("list").stdout
    found = call("list", NAME).stdout
    assert "0003/1" in found.splitlines()[-1]
    assert "a neighbour worked" in found.splitlines()[-1]
    (gone,) = json.loads(call("list", "--runs", "--json").stdout)["deleted"]
    assert (gone["run"], gone["outcome"], gone["why"]) == ("0003/1", "finished", "a neighbour worked")


def test_deleted_runs_are_named_wherever_figures_are(call):
    """A report of what is left said nothing of the runs that were taken out."""
    call("delete", NAME, "3/1", "4/1", "--yes", "--why", "a neighbour worked")
    for form in ("html", "md"):
        text = call("report", NAME, "--format", form, "--out", "-").stdout
        assert "2 runs deleted" in text
        assert re.search(
            r"2 runs were deleted on 20\d\d-\d\d-\d\d \(0003/1 finished, 0004/1 finished\): a neighbour worked", text
        )
        assert not re.search(r"\d trials? not run|of \d+ trials? not run", text)
    said = call("audit", NAME).stdout
    assert "2 runs deleted" in said.splitlines()[0] or "2 runs deleted" in said.splitlines()[1]
    assert "0003/1 finished, 0004/1 finished" in said
    found = json.loads(call("audit", NAME, "--json").stdout)
    assert [one["run"] for one in found["deleted"]] == ["0003/1", "0004/1"]


def test_notes_and_tags_are_shown_and_filter_the_lists(call):
    call("annotate", NAME, "the new disk")
    call("tag", NAME, "nightly", "odd")
    call("tag", NAME, "--remove", "odd")
    call("tag", NAME, "best", "--run", "2/1")
    assert "nightly: the new disk" in call("annotate", NAME).stdout
    assert "nightly: the new disk" in call("list").stdout
    assert [one["experiment"] for one in json.loads(call("list", "--tag", "nightly", "--json").stdout)["experiments"]] == [NAME]
    assert [one["run"] for one in json.loads(call("list", "--runs", "--tag", "best", "--json").stdout)["runs"]] == ["0002/1"]
    assert "expected up to 60" in call("tag", NAME, "no tag", status=2).stderr


def test_to_show_a_note_writes_nothing(call):
    before = sorted(path.name for path in (call.lab / NAME).iterdir())
    assert "neither note nor tag" in call("annotate", NAME).stdout
    assert sorted(path.name for path in (call.lab / NAME).iterdir()) == before


def test_move_and_merge(call, bench):
    other = bench.home / "other"
    assert f"{NAME}: now in" in call("move", NAME, "--to", other).stdout
    assert "11 runs added" in call("merge", other).stdout
    found = json.loads(call("merge", other, "--json").stdout)["experiments"]
    assert [(one["experiment"], one["known"], one["added"]) for one in found] == [(NAME, 11, [])]
