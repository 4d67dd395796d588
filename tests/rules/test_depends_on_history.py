"""S14: a first run apart from the others, a slope over the order, an interval over a large factor, and runs that begin alike."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from assay.answer.answer import leads
from assay.answer.doubts import doubts
from assay.audit import limits
from assay.catalogue import ExperimentCase
from assay.cli.summary import summary
from assay.laboratory.results import answered
from assay.records import Change, HostClock, Results, Severity, State, VerdictState
from assay.rulekit.chronology import in_order
from assay.rules.depends_on_history import RULE
from stage import notebook_records as made
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, QUALIFIES, hold

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
    return case_of(results(**arms))


def case_of(found):
    return ExperimentCase(
        subject="experiment", experiment=found.experiment, plan=found.plan, runs=found.runs, thresholds=limits.thresholds("S14")
    )


def test_a_first_run_apart_qualifies_the_figure_of_one_arm():
    found = RULE.check(case(here=HISTORY))
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert "13.7" in found.statement
    assert tuple(found.observed) == (made.RATE,)


@each("values", (100.0, 900.0, 300.0), (30_147.0, 1_314.0, 697.0, 460.0))
def test_an_interval_over_a_factor_above_three_is_enough(values):
    statement = RULE.check(case(here=values)).statement
    assert "95 % interval over a factor of" in statement
    assert "(limit 3)" in statement


def test_runs_that_disagree_without_an_order_are_not_called_a_history():
    assert "the order of the runs does not explain it" in RULE.check(case(here=(100.0, 900.0, 300.0))).statement
    assert "does not explain" not in RULE.check(case(here=HISTORY)).statement


@each("values state", (HISTORY, VerdictState.BOUNDED), (JOURNAL, VerdictState.SOUND))
def test_the_headline_and_its_row_are_no_plain_sound(values, state):
    found = answered(results(here=values), lambda run: made.observations())
    assert [one.state for one in leads(found)] == [state]
    text = summary(found)
    assert text.splitlines()[0].endswith(f"[{state.value}]")
    assert f"\n{state.value:<7}  {made.RATE}" in text
    assert ("S14 depends-on-history: spool.create" in text) == (state is VerdictState.BOUNDED)
    assert ("runs disagree (S14)" in text.splitlines()[0]) == (state is VerdictState.BOUNDED)


def test_what_is_wrong_with_the_whole_experiment_comes_before_its_runs():
    """Each run is spoiled by a rule of its own, five times as often."""
    found = results(here=HISTORY)
    spoiled = replace(made.finding("run:0001/1", State.FAIL), rule="N03", severity=Severity.INVALIDATES)
    runs = (
        replace(one, verdicts={name: replace(each, findings=(spoiled,)) for name, each in one.verdicts.items()})
        for one in found.runs
    )
    shown = answered(replace(found, runs=tuple(runs)), lambda run: made.observations())
    assert [one.rule for one in doubts(shown)][:2] == ["S14", "N03"]
    lines = summary(shown).splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("S14 ", "N03 "))] == ["S14", "N03"]


def set_back(found, seconds, after):
    """The same results of one boot, with the wall clock set back so much once this many runs were over."""

    def moved(judged):
        place = judged.run.trial.position
        began = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=10 * place - (seconds if place > after else 0))
        clock = HostClock(host="local", offset_ns=0, error_ns=0, t0_mono_ns=(1_000 + 10 * place) * 10**9)
        end = began + timedelta(seconds=8)
        return replace(judged, run=replace(judged.run, started_utc=began.isoformat(), ended_utc=end.isoformat(), hosts=(clock,)))

    return replace(found, runs=tuple(moved(one) for one in found.runs))


@each("values", JOURNAL, JOURNAL[:2])
def test_a_wall_clock_that_was_set_back_is_noted_with_one_arm(values):
    found = set_back(results(here=values), 3_600, 1)
    assert RULE.applies(case_of(found)) is None
    finding = RULE.check(case_of(found))
    assert (finding.state, finding.severity) == (State.FAIL, Severity.NOTES)
    shown = answered(found, lambda run: made.observations())
    assert [one.state for one in leads(shown)] == [VerdictState.SOUND]
    assert "The wall clock was set back by at least 3.6e+03 s between two runs" in summary(shown)


def test_a_trial_that_was_done_later_is_no_clock_that_was_set_back():
    """The second trial failed, and `--resume` did it after the last one."""
    found = set_back(results(here=JOURNAL), 0, 0)
    second = found.runs[1].run
    clock = replace(second.hosts[0], t0_mono_ns=2_000 * 10**9)
    later = {"started_utc": "2026-01-01T01:00:00+00:00", "ended_utc": "2026-01-01T01:00:08+00:00"}
    runs = list(found.runs)
    runs[1] = replace(runs[1], run=replace(second, attempt=2, hosts=(clock,), **later))
    ordered = in_order(runs)
    assert [one.run.trial.position for one in ordered] == [1, 3, 4, 5, 2]
    assert RULE.check(case_of(replace(found, runs=tuple(runs)))).state is State.PASS


def test_states():
    hold(
        ("of two arms it names the one that changes", RULE.check(case(journal=JOURNAL, none=HISTORY)), FAIL),
        "a slope over the order is found within a narrow interval",
        (RULE.check(case(here=tuple(1000 * 0.9**place * (1 + place % 2 / 200) for place in range(8)))), FAIL, "0.4"),
        ("runs that begin alike pass", RULE.check(case(journal=JOURNAL, other=JOURNAL[::-1])), PASS),
        "too few runs are no case",
        (RULE.applies(case(here=HISTORY[:2])), NOT_ASKED),
        (RULE.applies(case(here=HISTORY[:3])), ASKED),
        # By the wall clock the fourth and fifth run would be the first ones.
        "a wall clock that was set back changes no order",
        (RULE.check(case_of(set_back(results(here=HISTORY), 172_800, 3))), FAIL, QUALIFIES, "13.7", "1.73"),
    )
