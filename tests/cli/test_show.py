import json
from dataclasses import replace

import pytest

import cli_notebook
import notebook_records as made
from assay.cli.show import show
from assay.errors import DamagedError, UsageError
from assay.notebook import files
from assay.notebook.store import Store
from assay.records import Claim, Durability


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return cli_notebook.lab(tmp_path_factory.mktemp("lab") / "lab")


def test_a_run_in_words_without_reading_another(lab, capsys, monkeypatch):
    read = []
    monkeypatch.setattr(files, "check", lambda path, check=files.check: (read.append(path.parent.name), check(path)))
    assert show(lab, "a-mail", "3/1", json_to=None) == 0
    assert set(read) == {"0003"}
    text = capsys.readouterr().out
    assert text.startswith("run 0003/1 ")
    assert [part in text for part in ("1,001/s", "create 1,001", "cost of the load:")] == [True] * 3
    show(lab, "a-mail", "0001/2", json_to=None)
    assert "error: the load failed" in capsys.readouterr().out


def test_json_owns_its_stream(lab, capsys):
    show(lab, "a-mail", "0003/1", json_to="-")
    found = json.loads(capsys.readouterr().out)
    assert found["run"]["trial"]["id"] == 3
    assert found["verdicts"]["spool.create.ops_per_s"]["state"] == "SOUND"
    assert {phase["name"] for phase in found["run"]["phases"]} == found["costs"].keys()
    assert all("cpu_ns_per_op" in cost for cost in found["costs"].values())


def test_a_trial_alone_is_its_last_run_and_what_is_not_there_is_told(lab, capsys):
    for trial, run, more in (("3", "0003/1", ""), ("1", "0001/2", "0001/1, 0001/2")):
        show(lab, "a-mail", trial, json_to=None)
        found = capsys.readouterr()
        assert found.out.startswith(f"run {run} ")
        assert (more in found.err, bool(found.err)) == (True, bool(more))
    for lab_of, run, words in (
        ("a-mail", "0099/1", "expected one of: 0001/1"),
        ("a-mail", "99", "found no run 0099/1 in a-mail.*expected one of: 0001/1"),
        ("a-mail", "seven", "expected trial and attempt"),
        ("nothing-yet", "1/1", "there is none yet"),
    ):
        with pytest.raises(UsageError, match=words):
            show(lab, lab_of, run, json_to=None)


def test_a_damaged_run_says_what_is_wrong_with_it(tmp_path):
    lab = cli_notebook.lab(tmp_path / "lab", judged=False)
    (kept,) = lab.glob("a-mail*/trials/0003/attempt-1/run.json")
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(DamagedError, match=r"run 0003/1 is damaged: .*run.json: .* bytes instead of .*--resume"):
        show(lab, "a-mail", "3/1", json_to=None)


def test_how_a_figure_was_made_is_said(tmp_path, capsys):
    """The drain is in the figure, and the figure without it beside: nobody can tell from 500/s alone."""
    asked = made.experiment()
    (measure,) = asked.measures
    claimed = replace(asked, measures=(replace(measure, claim=Claim(durability=Durability.STABLE_MEDIA)),))
    with Store.create(tmp_path, claimed, made.plan(claimed), made.TEXT) as kept:
        drained = made.phase(drain_ns=10**9)
        kept.add(made.run(kept.plan.trials[0], phases=(drained,)), made.observations())
    show(tmp_path, None, "1/1", json_to=None)
    line = f"{made.RATE}: drain of 1 s charged; 1,000/s without"
    assert f"corrections:\n    {line}\n" in capsys.readouterr().out
    show(tmp_path, None, "1/1", json_to="-")
    assert json.loads(capsys.readouterr().out)["treatments"] == {made.RATE: line.removeprefix(f"{made.RATE}: ")}
