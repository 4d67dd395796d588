import json
import shutil

import pytest

import cli_notebook
from assay.cli.list import list_experiments
from assay.errors import UsageError


def entries(lab, capsys):
    assert list_experiments(lab, json_to="-") == 0
    return json.loads(capsys.readouterr().out)["experiments"]


def test_experiments_with_runs_and_verdicts(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab")
    nothing, spool = entries(lab, capsys)
    assert (nothing["experiment"], nothing["runs"], nothing["verdicts"]) == ("nothing-yet-00000000", 0, {})
    assert (spool["finished"], spool["trials"], spool["runs"]) == (10, 10, 11)
    assert spool["verdicts"] == {"SOUND": 10}
    list_experiments(lab, json_to=None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["verdict", "experiment", "runs/trials", "last", "run", "(UTC)", "verdicts"]
    assert lines[2].startswith("SOUND")
    assert "10/10" in lines[2]


def test_the_list_is_the_same_without_the_index(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab")
    before = entries(lab, capsys)
    for path in lab.glob("*/index.sqlite*"):
        path.unlink()
    assert entries(lab, capsys) == before


def test_a_damaged_plan_is_named(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab")
    next(lab.glob("nothing*/plan.json")).write_text("{")
    found = {one["experiment"]: one["damaged"] for one in entries(lab, capsys)}
    assert "no valid JSON" in found["nothing-yet-00000000"]
    assert found["a-mail-spool-abababab"] is None
    assert list_experiments(lab, json_to=None) == 0
    assert "DAMAGED" in capsys.readouterr().out


def test_no_lab_and_an_empty_one(tmp_path, capsys):
    with pytest.raises(UsageError, match="no notebook"):
        list_experiments(tmp_path / "none", json_to=None)
    (tmp_path / "lab").mkdir()
    assert list_experiments(tmp_path / "lab", json_to=None) == 0
    assert "no experiments" in capsys.readouterr().out
    shutil.rmtree(tmp_path / "lab")
