"""What spoils the runs of a control: noise of the platform on the side that is looked at, and runs that failed."""

from dataclasses import replace

from assay.experiment.read import Control
from assay.records import Outcome, Results, Severity, VerdictState
from assay.selftest.control import false_alarms, findings, spoiled
from stage import notebook_records as made
from stage.rows import each

LIE, TWIN = {"target": "ext4"}, {"target": "xfs"}


def control(rule="T01"):
    return Control(rule=rule, measure=made.RATE, fail=LIE, passes=TWIN, needs=())


def results(*runs):
    asked = made.experiment()
    return Results(experiment=asked, plan=made.plan(asked, 1), runs=runs)


def trial(levels):
    return next(one for one in made.plan(made.experiment(), 1).trials if one.levels == levels)


def judged(levels, rule, attempt=1):
    """A run that one rule fails."""
    found = made.judged(made.run(trial(levels), attempt), {made.RATE: 1.0}, VerdictState.INVALID)
    ((name, verdict),) = found.verdicts.items()
    severity = Severity.QUALIFIES if rule.startswith("N") else Severity.INVALIDATES
    failed = tuple(replace(one, rule=rule, severity=severity) for one in verdict.findings)
    return replace(found, verdicts={name: replace(verdict, findings=failed)})


@each("rule is_noise", ("N02", True), ("N05", True), ("T01", False), ("L01", False))
def test_only_rules_of_noise_spoil_and_only_the_side_that_they_fail(rule, is_noise):
    found = results(judged(LIE, rule))
    assert bool([*spoiled(found, control(), LIE)]) is is_noise
    assert [*spoiled(found, control(), TWIN)] == []
    assert len([*false_alarms(results(judged(TWIN, rule)), control())]) == (0 if is_noise else 1)


def test_a_rule_of_noise_is_not_excused_by_its_own_word():
    found = results(judged(LIE, "N02"))
    assert [*spoiled(found, control("N02"), LIE)] == []
    assert len([*findings(found, control("N02"), LIE)]) == 1


def test_only_the_last_attempt_counts():
    assert [*spoiled(results(judged(LIE, "N02"), judged(LIE, "T01", 2)), control(), LIE)] == []


def test_a_run_that_failed_spoils_and_says_nothing():
    failed = made.judged(made.run(trial(LIE), outcome=Outcome.FAILED), {})
    (why,) = spoiled(results(failed), control(), LIE)
    assert why == "a run failed: the load failed"
    assert [*findings(results(failed), control(), LIE)] == []
