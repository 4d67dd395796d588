import json
from dataclasses import replace

import pytest

import cli_notebook
import mix_cases
from assay.cli.compare import answer_text, as_plain, compare, demand_text, group_as_plain
from assay.errors import UsageError
from assay.laboratory.gate import Gate
from assay.laboratory.results import current
from assay.notebook import read as notebook
from assay.plain import to_plain
from assay.prediction.demand import groups
from assay.records import Fit, Growth, LawName, Scaling, ScalingKind, Shape


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    return cli_notebook.lab(tmp_path_factory.mktemp("lab") / "lab")


def test_the_answer_with_interval_and_conclusion(lab, capsys):
    assert compare(lab, "a-mail", json_to=None, gate=Gate.ON) == 0
    text = capsys.readouterr().out
    assert "1.500  1.499 to 1.500  different and matters" in text
    assert text.count("met") == 2
    assert "How the arms differ" in text
    compare(lab, "a-mail", json_to="-", gate=Gate.OFF)
    found = json.loads(capsys.readouterr().out)
    assert found["comparisons"][0]["conclusion"] == "different and matters"
    assert found["scaling"] == []


def test_how_it_scales_is_told_where_nothing_else_is_compared(lab):
    """One system over a number of clients: the answer is the curve's."""
    said = "spool.create.ops_per_s grows in proportion up to 8 clients: no limit reached, nothing follows for more."
    growth = Growth(fit=Fit(law=LawName.LINEAR, contention=0.0, coherency=0.0), times=8.0)
    law = Scaling(
        kind=ScalingKind.LAW,
        shape=Shape.PROPORTIONAL,
        measure="spool.create.ops_per_s",
        factor="clients",
        within={},
        at=None,
        lowest=1,
        highest=8,
        growth=growth,
    )
    results = replace(current(notebook.choose(lab, "a-mail")), comparisons=(), scaling=(law,))
    assert said in answer_text(results)
    assert as_plain(results)["scaling"] == [{**to_plain(law), "kind": "law", "statement": said}]


def test_unjudged_runs_are_judged_in_memory_and_nothing_is_written(tmp_path, capsys):
    lab = cli_notebook.lab(tmp_path / "lab", judged=False)
    before = sorted(lab.rglob("*"))
    assert compare(lab, "a-mail", json_to=None, gate=Gate.OFF) == 0
    assert "different and matters" in capsys.readouterr().out
    assert sorted(lab.rglob("*")) == before


def test_nothing_compared_and_an_unmet_requirement_fails_the_gate(lab, tmp_path, capsys):
    with pytest.raises(UsageError, match="found nothing compared in nothing-yet"):
        compare(lab, "nothing", json_to=None, gate=Gate.OFF)
    worse = cli_notebook.lab(tmp_path / "lab", difference=0.5)
    assert compare(worse, "a-mail", json_to=None, gate=Gate.ON) == 4
    assert compare(worse, "a-mail", json_to=None, gate=Gate.OFF) == 0
    assert "not met" in capsys.readouterr().out


def test_what_an_operation_uses_is_told_in_words_and_in_numbers():
    found = groups(*mix_cases.results())
    text = demand_text(found)
    assert text.startswith("Resource use of one operation")
    assert "Rate limits by resource" in text
    (told,) = json.loads(json.dumps([group_as_plain(one) for one in found]))
    load = next(one for one in told["resources"] if one["resource"] == "load_cpu")
    assert load["operations"]["random_write"]["value"] == pytest.approx(90e-6, rel=0.01)
    assert load["background"] is None
    assert {bound["because"] for bound in told["bounds"]} == {"the 4 CPUs of the host"}
    assert demand_text(()) == ""
