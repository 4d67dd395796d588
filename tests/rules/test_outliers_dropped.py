import math
from dataclasses import replace

import numpy as np

from assay import catalogue
from assay.records import Change, Outcome, Severity, State, Summary, VerdictState
from stage import notebook_records as made
from stage.comparison_cases import of_runs
from stage.rows import each

RULE = catalogue.find("rules", "outliers_dropped")


def stage(blocks=6, change=Change.AUTOMATIC, slower=0.0, spread=0.005, seed=4):
    asked = made.experiment(change=change)
    plan = made.plan(asked, blocks)
    draw = np.random.default_rng(seed)
    values = {t.id: 100 * math.exp(draw.normal(0, spread) - slower * (t.levels["target"] == "xfs")) for t in plan.trials}
    return asked, plan, {t.id: made.judged(made.run(t), {made.RATE: values[t.id]}) for t in plan.trials}


def ids(plan, level):
    return [trial.id for trial in plan.trials if trial.levels["target"] == level]


def check(asked, plan, runs):
    return RULE.check(of_runs("S08", asked, plan, list(runs)))


@each("change", *list(Change))
def test_a_whole_schedule_passes(change):
    asked, plan, runs = stage(change=change)
    finding = check(asked, plan, runs.values())
    assert finding.state is State.PASS


def test_runs_that_were_killed_for_being_slow_are_missed():
    asked, plan, runs = stage()
    slow = ids(plan, "xfs")[:2]
    for number in slow:
        runs[number] = made.judged(made.run(runs[number].run.trial, outcome=Outcome.FAILED), {})
    finding = check(asked, plan, runs.values())
    assert (finding.state, finding.severity, finding.bound) == (State.FAIL, Severity.QUALIFIES, None)
    assert finding.observed["without_figure"] == 2
    assert f"trial {slow[0]} (failed: the load failed)" in finding.statement


def test_a_trial_that_was_removed_from_the_notebook_is_missed():
    asked, plan, runs = stage()
    gone = ids(plan, "ext4")[1]
    del runs[gone]
    finding = check(asked, plan, runs.values())
    assert finding.state is State.FAIL
    assert f"trial {gone} (in the schedule, not in the notebook)" in finding.statement


def test_what_was_not_reached_yet_is_not_missed():
    asked, plan, runs = stage()
    begun = [runs[trial.id] for trial in plan.trials[:9]]
    assert check(asked, plan, begun).state is State.PASS


def test_a_trial_interrupted_by_hand_waits_to_be_resumed():
    asked, plan, runs = stage()
    last = plan.trials[8]
    cut = made.judged(made.run(last, outcome=Outcome.INTERRUPTED), {})
    assert check(asked, plan, [*(runs[trial.id] for trial in plan.trials[:8]), cut]).state is State.PASS


def test_a_trial_that_failed_and_was_done_again_has_its_figure():
    asked, plan, runs = stage()
    trial = plan.trials[3]
    first = made.judged(made.run(trial, outcome=Outcome.FAILED), {})
    again = made.judged(made.run(trial, attempt=2), {made.RATE: 100.0})
    rest = [run for number, run in runs.items() if number != trial.id]
    assert check(asked, plan, [*rest, first, again]).state is State.PASS


def by_rule(judged, rule):
    """The run made INVALID by one rule."""
    verdict = judged.verdicts[made.RATE]
    finding = replace(verdict.findings[0], rule=rule, state=State.FAIL, severity=Severity.INVALIDATES)
    return replace(judged, verdicts={made.RATE: replace(verdict, state=VerdictState.INVALID, findings=(finding,))})


def test_runs_that_are_no_measure_of_the_claim_are_rightly_left_out():
    asked, plan, runs = stage()
    number = ids(plan, "xfs")[0]
    runs[number] = by_rule(made.judged(runs[number].run, {made.RATE: 9000.0}), "T01")
    finding = check(asked, plan, runs.values())
    assert finding.state is State.PASS
    assert finding.observed["counted"] == 10  # its partner has none either
    assert "10 of 12" in finding.statement


def test_runs_repeated_until_they_are_quiet_make_the_answer():
    """Of xfs every first attempt was slow and was set aside as noise; the second ones are as fast as ext4."""
    asked, plan, runs = stage()
    repeated = []
    for number in ids(plan, "xfs"):
        slow = made.judged(runs[number].run, {made.RATE: 70.0 + number / 10})
        repeated += [
            by_rule(slow, "N02"),
            made.judged(made.run(runs[number].run.trial, attempt=2), {made.RATE: 100.0 + number / 10}),
        ]
    finding = check(asked, plan, [*repeated, *(runs[number] for number in ids(plan, "ext4"))])
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert finding.bound is not None
    assert finding.bound.low < 0.73
    assert finding.bound.high > 1
    assert "adjustment" not in finding.statement
    case = of_runs("S08", asked, plan, [*repeated, *(runs[number] for number in ids(plan, "ext4"))])
    several = replace(case, comparison=replace(case.comparison, p_value=0.02, adjusted_p_value=0.1))
    assert "adjustment" in RULE.check(several).statement


def test_one_repeated_run_that_changes_nothing_passes():
    asked, plan, runs = stage()
    number = ids(plan, "xfs")[0]
    again = made.judged(made.run(runs[number].run.trial, attempt=2), {made.RATE: 100.0})
    noisy = by_rule(made.judged(runs[number].run, {made.RATE: 99.0}), "N02")
    rest = [run for other, run in runs.items() if other != number]
    finding = check(asked, plan, [*rest, noisy, again])
    assert finding.state is State.PASS


def test_a_far_value_is_kept_and_named():
    asked, plan, runs = stage(blocks=8)
    number = ids(plan, "xfs")[2]
    runs[number] = made.judged(runs[number].run, {made.RATE: 60.0})
    finding = check(asked, plan, runs.values())
    assert finding.state is State.PASS
    assert f"kept: trial {number}" in finding.statement
    assert "equivalent" in finding.statement


def test_an_arm_without_any_run_says_what_is_gone():
    asked, plan, runs = stage()
    for number in ids(plan, "xfs"):
        runs[number] = made.judged(made.run(runs[number].run.trial, outcome=Outcome.FAILED), {})
    assert check(asked, plan, runs.values()).observed["without_figure"] == 6


@each("summary said", (None, "times, "), (Summary.MEDIAN, "times by geometric means, "))
def test_an_answer_of_other_means_than_the_comparison_has_is_said_to_be_of_those(summary, said):
    """The rule asks the geometric means; beside a median its "1.02 times, equivalent" would contradict the table."""
    asked, plan, runs = stage(blocks=10)
    asked = replace(asked, measures=(replace(asked.measures[0], summary=summary),))
    far = ids(plan, "xfs")[3]
    runs[far] = made.judged(runs[far].run, {made.RATE: 140.0})
    finding = check(asked, plan, runs.values())
    assert f"outliers kept: trial {far} (without: " in finding.statement
    assert said in finding.statement
