"""`assay predict` as a user calls it, on the shipped files that need no notebook."""

import json
from pathlib import Path

import pytest

SHIPPED = Path(__file__).parents[2] / "experiments" / "predictions"


def test_the_change_of_an_operating_system_is_answered_as_the_manual_shows_and_as_a_document(bench):
    done = bench.run("predict", SHIPPED / "netware_to_linux.toml")
    assert (done.returncode, done.stderr) == (0, "")
    manual = (SHIPPED.parents[1] / "docs" / "howto" / "predict.md").read_text()
    assert done.stdout == manual.split("netware_to_linux.toml\n", 1)[1].split("```", 1)[0]
    told = json.loads(bench.run("predict", SHIPPED / "netware_to_linux.toml", "--json").stdout, parse_constant=pytest.fail)
    assert told["schema"] == "assay.predict/1"
    assert told["utilisation"] == pytest.approx({"low": 0.56, "value": 0.70, "high": 0.84})


def test_mistakes_are_told_with_their_places(bench, tmp_path):
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('[production]\nused = "much"\n[new]\nnotebook = "nowhere"\n[machine]\ncpus = 0\n')
    done = bench.run("predict", wrong)
    assert done.returncode == 2
    assert [line.split(".toml:")[1].split(":")[0] for line in done.stderr.splitlines()] == ["1", "2", "2", "4", "6"]
    assert bench.run("predict", "missing.toml").returncode == 2
