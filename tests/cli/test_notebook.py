"""`assay list` and `assay sql`: a whole notebook."""

import json
import re
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import cli_notebook
from assay.cli.notebook import figures_text, list_experiments, list_runs, sql
from assay.cli.show import show
from assay.errors import UsageError


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return cli_notebook.lab(tmp_path_factory.mktemp("lab") / "lab")


def entries(lab, capsys):
    assert list_experiments(lab, json_to="-") == 0
    return json.loads(capsys.readouterr().out)["experiments"]


def test_experiments_with_runs_and_verdicts_also_without_the_index(lab, tmp_path, capsys):
    nothing, spool = entries(lab, capsys)
    assert (nothing["experiment"], nothing["runs"], nothing["verdicts"]) == ("nothing-yet-00000000", 0, {})
    assert (spool["finished"], spool["trials"], spool["runs"]) == (10, 10, 11)
    assert spool["verdicts"] == {"SOUND": 10}
    list_experiments(lab, json_to=None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["verdict", "experiment", "runs/trials", "last", "run", "(UTC)", "verdicts"]
    assert (lines[2].split()[0], "10/10" in lines[2]) == ("SOUND", True)
    bare = shutil.copytree(lab, tmp_path / "lab", ignore=shutil.ignore_patterns("index.sqlite*"))
    assert entries(bare, capsys) == [nothing, spool]


def test_a_damaged_plan_is_named(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab")
    for path in lab.glob("nothing*/plan*.json"):
        path.write_text("{")
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


QUERY = "SELECT run, value FROM verdicts WHERE run IS NOT NULL ORDER BY run LIMIT 2"


def test_three_forms(lab, capsys):
    assert sql(lab, QUERY, json_to="-", as_csv=False) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "assay.sql/1"
    assert found["rows"] == [{"run": "0001/1", "value": 1500.0}, {"run": "0002/1", "value": 1000.0}]
    sql(lab, QUERY, json_to=None, as_csv=True)
    assert capsys.readouterr().out == "run,value\n0001/1,1500.0\n0002/1,1000.0\n"
    sql(lab, QUERY, json_to=None, as_csv=False)
    assert capsys.readouterr().out.splitlines() == ["run     value", "0001/1   1500", "0002/1   1000", "2 rows"]


def test_wrong_words(lab):
    with pytest.raises(UsageError, match="expected one of them"):
        sql(lab, QUERY, json_to="-", as_csv=True)
    with pytest.raises(UsageError, match="expected SQL over runs"):
        sql(lab, "SELECT nothing FROM nowhere", json_to=None, as_csv=False)


README = Path(__file__).parents[2] / "README.md"


def test_what_the_readme_asks_is_answered(lab, capsys):
    asked = [shlex.split(line)[2] for line in re.findall(r"^assay sql .*", README.read_text(), re.MULTILINE)]
    assert asked
    for query in asked:
        assert sql(lab, query, json_to="-", as_csv=False) == 0
        assert {"trial": 1, "measure": "spool.create.ops_per_s", "value": 1500.0} in [
            {key: row[key] for key in ("trial", "measure", "value")} for row in json.loads(capsys.readouterr().out)["rows"]
        ]


def test_the_runs_of_an_experiment_and_of_all_are_listed(lab, capsys):
    assert list_runs(lab, "a-mail", json_to="-") == 0
    found = json.loads(capsys.readouterr().out)["runs"]
    assert len(found) == 11
    assert found[0]["verdicts"] == {"SOUND": 1}
    assert {one["outcome"] for one in found} == {"finished", "interrupted"}
    assert found[0]["figures"] == [{"measure": "spool.create.ops_per_s", "value": 1500.0, "unit": "1/s", "verdict": "SOUND"}]
    list_runs(lab, "a-mail", json_to=None)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["run", "outcome", "started", "(UTC)", "levels", "figures", "verdicts"]
    assert [part in lines[1] for part in ("target=xfs", "spool.create 1,500/s")] == [True, True]
    with pytest.raises(UsageError, match="`assay list EXPERIMENT`"):
        show(lab, None, "x", json_to=None)
    assert list_runs(lab, None, json_to="-") == 0
    assert {one["experiment"] for one in json.loads(capsys.readouterr().out)["runs"]} == {"a-mail-spool-abababab"}
    list_runs(lab, None, json_to=None)
    assert capsys.readouterr().out.split()[:2] == ["experiment", "run"]


def test_observed_figures_of_a_run_have_their_whole_name():
    found = [
        ("w.write.bytes_per_s", 1.2e9, "bytes/s"),
        ("w.write.ops_per_s", 300.0, "1/s"),
        ("w.write.@local.cpu_share", 0.8, "share"),
    ]
    run = SimpleNamespace(figures=tuple({"measure": name, "value": value, "unit": unit} for name, value, unit in found))
    text = figures_text(run)
    assert text.startswith("w.write 1.20 GB/s, 300/s; w.write.@local.cpu_share ")
