"""`assay predict` as a user calls it, on the shipped files that need no notebook."""

import json
from pathlib import Path

import pytest

from assay_process import Bench

SHIPPED = Path(__file__).parents[2] / "experiments" / "predictions"


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_the_change_of_an_operating_system_is_answered_first(bench):
    done = bench.run("predict", SHIPPED / "netware_to_linux.toml")
    assert (done.returncode, done.stderr) == (0, "")
    answer = done.stdout.split("\n\n")[1]
    assert answer.startswith("Production will keep 70 % of 2 CPUs busy (56 % to 84 %).")
    assert "takes 1 such machine, 2 at the upper end" in answer


def test_the_document_owns_its_stream(bench):
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


def test_the_manual_shows_what_is_printed(bench):
    manual = (SHIPPED.parents[1] / "docs" / "howto" / "predict.md").read_text()
    shown = manual.split("netware_to_linux.toml\n", 1)[1].split("```", 1)[0]
    assert shown == bench.run("predict", SHIPPED / "netware_to_linux.toml").stdout
