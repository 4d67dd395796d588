import json
from dataclasses import replace

import pytest

import cli_notebook
import notebook_records as made
from assay.analysis.across import settings
from assay.cli.compare import across
from assay.errors import UsageError
from assay.laboratory.gate import Gate
from assay.notebook.store import Store
from assay.records import Fact, FactClass, Requirement, RequirementKind, When

BOUND = Requirement(measure=made.RATE, kind=RequirementKind.NOT_WORSE_THAN, bound=0.05, text="not worse than 5 %")


def fact(key, value, kind=FactClass.PERFORMANCE):
    return Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=kind)


def lab(path, rate=1000.0, *, levels=("ext4", "xfs"), blocks=5, machine="one", more=(), **changed):
    """A notebook in which every run creates `rate` files a second, a tenth of a percent more in each block."""
    asked = replace(made.experiment(levels, requirements=(BOUND,)), **changed)
    with Store.create(path, asked, made.plan(asked, blocks), made.TEXT) as kept:
        for trial in kept.plan.trials:
            done = rate * (1 + trial.block / 1000)
            seen = made.observations(round(done))
            facts = (*seen.facts, fact("host.name", machine, FactClass.IDENTITY), *more)
            kept.add(made.run(trial, phases=cli_notebook.phases(done)), replace(seen, facts=facts))
    return str(path)


def answer(capsys, *labs, gate=Gate.OFF):
    status = across(*labs, json_to="-", gate=gate)
    return status, json.loads(capsys.readouterr().out)


def findings(found):
    """Rule -> finding of the first comparison."""
    return {one["rule"]: one for one in next(iter(found["verdicts"].values()))["findings"]}


def test_cells_of_equal_levels_are_compared_unpaired(tmp_path, capsys):
    _, found = answer(capsys, lab(tmp_path / "a"), lab(tmp_path / "b", 1500.0))
    assert [one["within"] for one in found["comparisons"]] == [{"target": "ext4"}, {"target": "xfs"}]
    assert [one["conclusion"] for one in found["comparisons"]] == ["different and matters"] * 2
    ratio = found["comparisons"][0]["ratio"]
    assert ratio["value"] == pytest.approx(1.5, rel=1e-3)
    assert ratio["method"] == "unpaired geometric means"
    assert found["unlike"] == []


def test_a_notebook_against_its_like_is_equivalent_and_nothing_was_interleaved(tmp_path, capsys):
    status, found = answer(capsys, lab(tmp_path / "a"), lab(tmp_path / "b"), gate=Gate.ON)
    assert status == 0
    assert {one["conclusion"] for one in found["comparisons"]} == {"equivalent"}
    assert {verdict["state"] for verdict in found["verdicts"].values()} <= {"BOUNDED", "UNVERIFIED"}
    assert findings(found)["S04"]["state"] == "fail"
    assert findings(found)["C01"]["state"] == "pass"
    assert findings(found)["C05"]["state"] == "pass"


def test_what_is_required_is_required_of_the_second_and_fails_the_gate(tmp_path, capsys):
    at_least = Requirement(measure=made.RATE, kind=RequirementKind.AT_LEAST, bound=1200.0, text=">= 1,200/s")
    labs = [lab(tmp_path / name, rate, requirements=(BOUND, at_least)) for name, rate in (("slow", 1000.0), ("fast", 1500.0))]
    status, found = answer(capsys, *labs, gate=Gate.ON)
    assert (status, {one["state"] for one in found["requirements"]}) == (0, {"met"}), "the first need not have met it"
    status, found = answer(capsys, *labs[::-1], gate=Gate.ON)
    assert (status, {one["state"] for one in found["requirements"]}) == (4, {"not met"})


def test_other_machines_and_other_settings_are_named_and_taint(tmp_path, capsys):
    first = lab(tmp_path / "a", more=(fact("sysctl.vm.swappiness", "60"),))
    second = lab(tmp_path / "b", machine="two", more=(fact("sysctl.vm.swappiness", "10"),))
    status, found = answer(capsys, first, second, gate=Gate.ON)
    assert status == 3
    assert {verdict["state"] for verdict in found["verdicts"].values()} == {"TAINTED"}
    assert {(one["state"], one["verdict"]) for one in found["requirements"]} == {("met", "TAINTED")}
    assert "one against two" in findings(found)["C05"]["statement"]
    assert "sysctl.vm.swappiness: 60 against 10" in findings(found)["C01"]["statement"]


def test_what_the_file_says_to_belong_to_the_machines_is_implied(tmp_path, capsys):
    implied = ("host.name", "sysctl.vm.*")
    first = lab(tmp_path / "a", implied=implied, more=(fact("sysctl.vm.swappiness", "60"),))
    second = lab(tmp_path / "b", implied=implied, machine="two", more=(fact("sysctl.vm.swappiness", "10"),))
    status, found = answer(capsys, first, second, gate=Gate.ON)
    assert status == 0
    assert {findings(found)[rule]["state"] for rule in ("C01", "C05")} == {"pass"}


def test_what_only_one_has_is_left_out_and_named(tmp_path, capsys):
    first = lab(tmp_path / "a", levels=("ext4", "xfs"))
    second = lab(tmp_path / "b", levels=("ext4", "btrfs"), matters_share=0.1)
    _, found = answer(capsys, first, second)
    assert [one["within"] for one in found["comparisons"]] == [{"target": "ext4"}]
    said = "\n".join(found["unlike"])
    assert f"xfs: only in {first}" in said
    assert f"btrfs: only in {second}" in said
    assert f"matters_share: 0.05 in {first}, 0.1 in {second}" in said
    assert across(first, second, json_to=None, gate=Gate.OFF) == 0
    assert "Differences between the notebooks" in capsys.readouterr().out


def test_the_same_experiment_is_taken_from_a_notebook_of_several(tmp_path, capsys):
    first = lab(tmp_path / "a")
    lab(tmp_path / "b", 1500.0)
    second = lab(tmp_path / "b", 100.0, digest="cd" * 32, title="Another one")
    _, found = answer(capsys, first, second)
    assert found["comparisons"][0]["ratio"]["value"] == pytest.approx(1.5, rel=1e-3)
    _, found = answer(capsys, first, found["notebooks"][1].replace("a-mail-spool-abababab", "another-one-cdcdcdcd"))
    assert found["comparisons"][0]["ratio"]["value"] == pytest.approx(0.1, rel=1e-2)


def test_what_cannot_be_compared_is_refused_in_a_few_words(tmp_path):
    first = lab(tmp_path / "a", levels=("ext4",), measures=made.experiment(measures=(made.RATE,)).measures)
    other, unlike = tmp_path / "other", made.experiment(measures=(made.LATENCY,)).measures
    lab(other, measures=unlike, requirements=(), matters_share=0.1)
    for second, words in (
        (f"{first}/", "found one experiment twice"),
        (lab(tmp_path / "b", levels=("btrfs",)), r"found nothing in common \(.*btrfs: only in"),
        (str(other), f"measure {made.RATE}: only in {first}"),
    ):
        with pytest.raises(UsageError, match=words) as refused:
            across(first, second, json_to=None, gate=Gate.OFF)
        assert "matters_share" not in str(refused.value)
    one = {"limit": None, "operations": ["create", "stat"], "observers": [], "count": 5}
    assert dict(settings(one)) == {"operations": "create, stat", "observers": "none", "count": "5"}


def test_what_is_required_and_not_measured_fails_the_gate(tmp_path, capsys):
    """A job whose file lost the measure, or a level of it, must not pass for that."""
    both = made.experiment(measures=(made.RATE, made.LATENCY)).measures
    tail = Requirement(measure=made.LATENCY, kind=RequirementKind.NOT_WORSE_THAN, bound=0.05, text="not worse than 5 %")
    first = lab(tmp_path / "a", measures=both, requirements=(BOUND, tail))
    for name, changed, where in (("b", {}, {}), ("c", {"levels": ("ext4",), "measures": both}, {"target": "xfs"})):
        second = lab(tmp_path / name, **changed)
        status, found = answer(capsys, first, second, gate=Gate.ON)
        missing = [one for one in found["requirements"] if one["levels"] == {**where, "notebook": second}]
        assert [one["measure"] for one in missing] == [made.LATENCY] if name == "b" else [made.RATE, made.LATENCY]
        assert {(one["state"], one["verdict"]) for one in missing} == {("undecided", "UNVERIFIED")}
        assert status == 4
        assert answer(capsys, first, second)[0] == 0


def test_arms_that_stood_apart_are_not_called_drifting_and_trials_are_told_apart(tmp_path, capsys):
    first, second = lab(tmp_path / "a"), lab(tmp_path / "b")
    across(first, second, json_to=None, gate=Gate.OFF)
    said = capsys.readouterr().out
    assert "not interleaved (S04)" in said
    assert "drifts" not in said
    assert f"Trials of {second} are renumbered: its trial 1 is 11 here" in said
