"""Sittings really run one after the other into one notebook: A/A is bounded, and a planted drift is seen on the way back."""

import json
import platform
import shlex
from statistics import geometric_mean

import pytest

from stage.assay_process import rebooted
from stage.own_disk import ahead

TEXT = """
title = "Two systems"
question = "Is the new system slower?"
compare = "system"
repeats = 5
matters = "10 %"
seed = 4
observers = ["environment", "cpu", "memory", "process_io"]

[targets.here]
kind = "directory"
path = "."

[workloads.w]
kind = "command"
argv = ["sh", "-c", {script}]
direction = "metadata"
quiesce = "0 s"

[factors.system]
levels = ["old", "new"]
change = "manual"
returns = 1

[measures]
"w.command.elapsed_ns" = {{}}
"""


def written(bench):
    """The experiment's file: the system under test takes as long as a file says that a person can change."""
    path = bench.home / "two.toml"
    if not path.exists():
        (bench.home / "pace").write_text("0.3")
        script = json.dumps(f"sleep $(cat {shlex.quote(str(bench.home / 'pace'))})")
        path.write_text(TEXT.format(script=script))
    return path


def sit(bench, level, *words):
    """One sitting, whose times others do not lengthen; its answer as the command says it in JSON."""
    words = ("run", written(bench), "--lab", "lab", "--sitting", level, "--json", "--progress", "none", *words)
    with ahead():
        sitting = bench.start(*words)
    answer, complaint = sitting.communicate()
    assert sitting.returncode == 0, complaint
    return json.loads(answer)


def elapsed(answer, sitting):
    """The mean time of the command in the runs of one sitting."""
    runs = [one for one in answer["runs"] if one["run"]["trial"]["sitting"] == sitting]
    return geometric_mean(one["verdicts"]["w.command.elapsed_ns"]["value"] for one in runs)


def order_effects(answer):
    (verdict,) = answer["comparison_verdicts"].values()
    (finding,) = [finding for finding in verdict["findings"] if finding["rule"] == "S04"]
    return verdict, finding


@pytest.mark.slow
def test_the_same_system_twice_is_bounded_and_said_to_be_not_interleaved(bench):
    first = sit(bench, "old")
    assert [comparison["ratio"] for comparison in first["comparisons"]] == [None], "there is nothing to compare with yet"
    sit(bench, "new")
    last = sit(bench, "old")
    trials = {run["run"]["trial"]["id"]: run["run"]["trial"]["sitting"] for run in last["runs"]}
    assert list(trials.values()) == [0] * 5 + [1] * 5 + [2] * 5
    (comparison,) = last["comparisons"]
    assert "not interleaved" in comparison["statement"]
    assert comparison["conclusion"] != "different and matters"
    verdict, finding = order_effects(last)
    assert verdict["state"] not in ("SOUND", "INVALID")
    assert "not interleaved" in finding["statement"]
    assert abs(finding["observed"]["drift_share"]) < 0.1
    assert "matters by itself" not in finding["statement"]


@pytest.mark.slow
def test_a_drift_between_the_sittings_is_seen_when_the_first_level_returns(bench):
    sit(bench, "old")
    (bench.home / "pace").write_text("0.36")
    (comparison,) = sit(bench, "new")["comparisons"]
    assert comparison["conclusion"] == "different and matters", "so far it looks like the system"
    (bench.home / "pace").write_text("0.42")
    answer = sit(bench, "old")
    _, finding = order_effects(answer)
    drift = finding["observed"]["drift_share"]
    assert drift > 0.25, "0.4 was planted, and a busy machine adds to the last sitting"
    assert drift == pytest.approx(elapsed(answer, 2) / elapsed(answer, 0) - 1, abs=0.15)
    assert "a relevant drift" in finding["statement"]
    (comparison,) = answer["comparisons"]
    assert comparison["conclusion"] == "undecided"
    assert comparison["ratio"]["low"] < 1 < comparison["ratio"]["high"]


@pytest.mark.slow
def test_a_level_that_is_not_there_and_a_sitting_too_many_are_refused(bench):
    path = written(bench)
    path.write_text(path.read_text().replace("repeats = 5", "repeats = 1").replace("returns = 1", "returns = 0"))
    for words, told in (
        (("--sitting", "newer"), "found --sitting newer; expected one of: old, new"),
        ((), "found no --sitting; expected one of: old, new"),
    ):
        refused = bench.run("run", path, "--lab", "lab", *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert told in " ".join(refused.stderr.split())
    first = bench.run("run", path, "--lab", "notes", "--sitting", "new")
    assert first.stdout.endswith(f"\nnext: set system = old by hand, then: assay run {path} --lab notes --sitting old\n")
    last = bench.run("run", path, "--lab", "notes", "--sitting", "old")
    assert "\nnext: " not in last.stdout, "both sittings are complete"
    sit(bench, "new")
    again = bench.run("run", path, "--lab", "lab", "--sitting", "new")
    assert again.returncode == 2
    assert "found every trial of sitting new finished" in " ".join(again.stderr.split())
    assert {run["run"]["trial"]["sitting"] for run in sit(bench, "old")["runs"]} == {0, 1}


@pytest.mark.slow
def test_a_sitting_goes_on_where_it_was_interrupted(bench):
    path = written(bench)
    (bench.home / "pace").write_text("1")
    going = bench.start("run", path, "--lab", "lab", "--sitting", "old", "--progress", "json")
    for line in going.stderr:
        if '"trial": 2' in line or '"trial":2' in line:
            break
    going.send_signal(2)
    going.communicate(timeout=300)
    assert going.returncode == 130
    (bench.home / "pace").write_text("0.2")
    answer = sit(bench, "old")
    finished = {run["run"]["trial"]["id"] for run in answer["runs"] if run["run"]["outcome"] == "finished"}
    assert finished == {1, 2, 3, 4, 5}
    assert bench.traces() == []


@pytest.mark.slow
def test_a_sitting_on_another_machine_after_a_reboot_comes_into_the_same_notebook(bench):
    sit(bench, "old")
    done = rebooted(bench).run("run", written(bench), "--lab", "lab", "--sitting", "new")
    assert done.returncode == 0, done.stderr
    last = sit(bench, "old")
    assert {run["run"]["outcome"] for run in last["runs"]} == {"finished"}
    (comparison,) = last["comparisons"]
    assert comparison["ratio"]["n"] >= 2, "what others disturbed is left out"
    assert comparison["conclusion"] != "different and matters"
    answer = json.loads(
        bench.run(
            "sql", "SELECT DISTINCT value FROM facts WHERE key IN ('host.name', 'host.boot')", "--lab", "lab", "--json"
        ).stdout
    )
    values = {row["value"] for row in answer["rows"]}
    assert {platform.node(), "elsewhere"} < values
    assert len(values) == 4, "two boots"
