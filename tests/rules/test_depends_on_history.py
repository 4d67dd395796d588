"""S14: a first run apart from the others, a slope over the order, an interval over a large factor, and runs that begin alike."""

from dataclasses import replace

import pytest

import notebook_records as made
from assay.answer.answer import leads
from assay.audit import limits
from assay.catalogue import ExperimentCase
from assay.cli.summary import summary
from assay.laboratory.results import answered
from assay.records import Change, Results, Severity, State, VerdictState
from assay.rules.depends_on_history import RULE

JOURNAL = (30_000.0, 31_000.0, 29_000.0, 30_500.0, 29_500.0)
HISTORY = (28_763.0, 2_231.0, 2_112.0, 2_065.0, 1_995.0)
"""Creates a second on ext4 without a journal, as measured."""


def results(**arms):
    asked = made.experiment(levels=tuple(arms), change=Change.AUTOMATIC)
    asked = replace(asked, compare="target" if len(arms) > 1 else None)
    plan = made.plan(asked, len(next(iter(arms.values()))))
    runs = [
        made.judged(
            replace(made.run(t), started_utc=f"2026-01-01T00:00:{t.position:02d}+00:00"),
            {made.RATE: arms[t.levels["target"]][t.block]},
        )
        for t in plan.trials
    ]
    return Results(experiment=asked, plan=plan, runs=tuple(runs))


def case(**arms):
    found = results(**arms)
    return ExperimentCase(
        subject="experiment",
        experiment=found.experiment,
        plan=found.plan,
        runs=found.runs,
        thresholds=limits.thresholds("S14"),
    )


def test_a_first_run_apart_qualifies_the_figure_of_one_arm():
    found = RULE.check(case(here=HISTORY))
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert "the first run is 13.7 times the mean of the other 4" in found.statement
    assert tuple(found.observed) == (made.RATE,)


def test_of_two_arms_it_names_the_one_that_changes():
    found = RULE.check(case(journal=JOURNAL, none=HISTORY))
    assert found.state is State.FAIL
    assert "target = none" in found.statement


def test_a_slope_over_the_order_is_found_within_a_narrow_interval():
    found = RULE.check(case(here=tuple(1000 * 0.9**place * (1 + place % 2 / 200) for place in range(8))))
    assert found.state is State.FAIL
    assert "from the first to the last run 0.4" in found.statement


@pytest.mark.parametrize("values", [(100.0, 900.0, 300.0), (30_147.0, 1_314.0, 697.0, 460.0)])
def test_an_interval_over_a_factor_above_three_is_enough(values):
    assert "95 % interval over a factor of" in RULE.check(case(here=values)).statement


def test_runs_that_begin_alike_pass():
    assert RULE.check(case(journal=JOURNAL, other=JOURNAL[::-1])).state is State.PASS


def test_too_few_runs_are_no_case():
    assert "3 runs" in RULE.applies(case(here=HISTORY[:2]))
    assert RULE.applies(case(here=HISTORY[:3])) is None


@pytest.mark.parametrize(("values", "state"), [(HISTORY, VerdictState.BOUNDED), (JOURNAL, VerdictState.SOUND)])
def test_the_headline_and_its_row_are_no_plain_sound(values, state):
    found = answered(results(here=values), lambda run: made.observations())
    assert [one.state for one in leads(found)] == [state]
    text = summary(found)
    assert text.splitlines()[0].endswith(f"[{state.value}]")
    assert f"\n{state.value:<7}  {made.RATE}" in text
    assert ("S14 depends-on-history: spool.create" in text) == (state is VerdictState.BOUNDED)
