"""A budget of time and a wanted precision end the schedule, really run; numbered repeats are no licence to overrun."""

import json

import pytest

TEXT = """
title = "Until it is enough"
question = "When does it stop?"
{asked}
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
"""


def conducted(bench, asked, *words, sleep="0.1"):
    """The trials that were run, with the news of the progress."""
    path = bench.home / "enough.toml"
    path.write_text(TEXT.format(asked=asked, sleep=sleep))
    done = bench.run("run", path, "--lab", "lab", "--json", "--progress", "json", *words)
    assert done.returncode == 0, done.stderr
    news = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    runs = [run["run"] for run in json.loads(done.stdout)["runs"]]
    return runs, news


def reasons(news):
    return [item["reason"] for item in news if item.get("event") == "enough"]


@pytest.mark.slow
@pytest.mark.parametrize("asked", ['budget = "5 s"', 'repeats = 200\nbudget = "5 s"'])
def test_a_block_starts_only_if_the_longest_so_far_fits_the_rest_of_the_budget(bench, asked):
    runs, news = conducted(bench, asked, sleep="1")
    (reason,) = reasons(news)
    assert "of the budget are left" in reason
    assert 1 <= len({run["trial"]["id"] for run in runs}) <= 4


@pytest.mark.slow
def test_a_budget_that_is_not_used_up_leaves_the_repeats_as_they_are(bench):
    runs, news = conducted(bench, 'repeats = 3\nbudget = "10 min"')
    assert {run["trial"]["id"] for run in runs} == {1, 2, 3}
    assert reasons(news) == []


PRECISE = 'repeats = "until 20 %"\nbudget = "4 min"'


@pytest.mark.slow
def test_repeats_end_when_the_interval_is_narrow_enough_and_resume_asks_again(bench):
    before, news = conducted(bench, PRECISE, sleep="0.5")
    (reason,) = reasons(news)
    assert "every figure is known to" in reason
    assert 6 <= len({run["trial"]["id"] for run in before}) < 30
    after, news = conducted(bench, PRECISE, "--resume", sleep="0.5")
    assert [run["trial"]["id"] for run in after] == [run["trial"]["id"] for run in before]
    assert len(reasons(news)) == 1


@pytest.mark.slow
def test_repeats_end_at_their_bound_where_the_interval_stays_wide(bench):
    runs, news = conducted(bench, 'repeats = "until 0.0001 %, at most 4"')
    assert {run["trial"]["id"] for run in runs} == {1, 2, 3, 4}
    assert reasons(news) == []
    resumed, _ = conducted(bench, 'repeats = "until 0.0001 %, at most 4"', "--resume")
    assert [run["trial"]["id"] for run in resumed] == [run["trial"]["id"] for run in runs]


BY_HAND = """
compare = "system"
repeats = "until 20 %"
budget = "4 min"
"""
SYSTEM = """
[factors.system]
levels = ["old", "new"]
change = "manual"
"""


@pytest.mark.slow
def test_a_sitting_ends_when_two_like_it_would_be_precise(bench):
    path = bench.home / "enough.toml"
    path.write_text(TEXT.format(asked=BY_HAND, sleep="0.5") + SYSTEM)
    done = bench.run("run", path, "--lab", "lab", "--json", "--progress", "json", "--sitting", "old")
    assert done.returncode == 0, done.stderr
    (reason,) = reasons([json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")])
    assert "a contrast of two sittings like this one is known to" in reason
