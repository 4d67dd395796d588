"""Two notebooks that were really written are held against each other by the command itself."""

import json

import pytest

from stage.assay_process import Bench

TEXT = """
title = "A job"
question = "Is this branch slower?"
repeats = 5
matters = "20 %"
observers = ["environment", "cpu", "memory", "process_io"]

[targets.here]
kind = "directory"
path = "."

[workloads.w]
kind = "command"
argv = ["sleep", "{sleep}"]
direction = "metadata"
quiesce = "0 s"

[measures]
"w.command.elapsed_ns" = {{}}

[require]
"w.command.elapsed_ns" = ["not worse than 20 %"]
"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Three notebooks: main, the same once more, and a branch that takes twice as long."""
    found = Bench(tmp_path_factory.mktemp("job"))
    for lab, sleep in (("main", "0.2"), ("again", "0.2"), ("branch", "0.4")):
        (found.home / "job.toml").write_text(TEXT.format(sleep=sleep))
        done = found.run("run", "job.toml", "--lab", lab)
        assert done.returncode == 0, done.stderr
    return found


def compared(bench, *words):
    done = bench.run("compare", *words, "--json", "--gate")
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
def test_the_same_twice_raises_no_alarm(bench):
    status, found = compared(bench, "main", "again")
    (comparison,) = found["comparisons"]
    (verdict,) = found["verdicts"].values()
    assert comparison["conclusion"] != "different and matters"
    assert "not interleaved" in comparison["statement"]
    states = {finding["rule"]: finding["state"] for finding in verdict["findings"]}
    assert (states["C05"], states["S04"]) == ("pass", "fail")
    assert [one["state"] for one in found["requirements"]] != ["not met"]
    assert status != 4


@pytest.mark.slow
def test_a_slower_branch_fails_its_requirement(bench):
    status, found = compared(bench, "main", "branch")
    (comparison,) = found["comparisons"]
    assert comparison["conclusion"] == "different and matters"
    assert comparison["ratio"]["value"] == pytest.approx(2, rel=0.2)
    assert [one["state"] for one in found["requirements"]] == ["not met"]
    assert status in (3, 4), "3 where noise on this machine spoiled a run"
    assert any(line.startswith("workloads.w.knobs.argv") for line in found["unlike"])
