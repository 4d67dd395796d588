import json
import re
import shlex
from pathlib import Path

import pytest

import cli_notebook
from assay.cli.export import sql
from assay.errors import UsageError


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return cli_notebook.lab(tmp_path_factory.mktemp("lab") / "lab")


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
