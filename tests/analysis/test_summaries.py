"""Totals and medians in place of geometric means: what is asked for, what the unit asks for, and where there is no interval."""

from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons, summary_ratio
from assay.records import Change, Conclusion, Measure, Method, Observations, Summary
from stage import notebook_records as made
from stage.rows import each

SHARE = Measure(workload="spool", operation="create", figure="@local.cpu_share")


def no_evidence(run: str) -> Observations:
    raise AssertionError(f"the verdict of {run} has the value")


def answer(value, summary=None, blocks=6, measure=None, **changes):
    asked = made.experiment(**changes)
    measure = replace(measure or asked.measures[0], summary=summary)
    asked = replace(asked, measures=(measure,))
    plan = made.plan(asked, blocks)
    runs = [made.judged(made.run(trial), {measure.name: value(trial)}) for trial in plan.trials]
    table = cells(asked, plan, runs, no_evidence)
    (found,) = comparisons(asked, table, runs)
    return found, table


def outlier(trial):
    """Xfs does a tenth more, but for one run that did ten times as much."""
    return (1000.0 if trial.block == 2 else 110.0 + trial.block) if trial.levels["target"] == "xfs" else 100.0 + trial.block


def test_each_summary_gives_its_own_ratio():
    ratios = {one: answer(outlier, one)[0].ratio for one in Summary}
    assert ratios[Summary.MEDIAN].value == pytest.approx(1.098, abs=0.001)
    assert ratios[Summary.TOTAL].value == pytest.approx((1000 + 5 * 110 + 13) / (600 + 15))
    assert ratios[Summary.MEDIAN].value < ratios[Summary.GEOMETRIC].value < ratios[Summary.TOTAL].value
    assert ratios[Summary.MEDIAN].method is Method.PAIRED_MEDIANS
    assert ratios[Summary.TOTAL].method is Method.PAIRED_TOTALS
    assert all(one.method.paired for one in ratios.values())


def test_shares_are_totals_without_being_asked():
    draw = np.random.default_rng(2)
    found, (cell, _) = answer(lambda trial: float(draw.uniform(0.4, 0.5)), measure=SHARE)
    assert found.ratio.method is Method.PAIRED_TOTALS
    assert cell.estimate.method is Method.MEAN


@each("blocks there", (5, False), (6, True))
def test_a_median_of_fewer_than_six_has_no_interval_and_decides_nothing(blocks, there):
    found, (cell, _) = answer(lambda t: 100.0 * (2 if t.levels["target"] == "xfs" else 1) + t.block, Summary.MEDIAN, blocks)
    assert (found.ratio.low is not None) == (cell.estimate.low is not None) == there
    assert (found.conclusion is Conclusion.MATTERS) == there
    assert (cell.estimate.value, cell.estimate.method) == (102.0 if blocks == 5 else 102.5, Method.MEDIAN)


@each("blocks there", (19, False), (20, True))
def test_medians_apart_are_resampled_from_twenty_runs_on(blocks, there):
    draw = np.random.default_rng(4)

    def value(trial):
        return float(100 * draw.lognormal(0, 0.02)) * (2 if trial.levels["target"] == "xfs" else 1)

    found, _ = answer(value, Summary.MEDIAN, blocks, change=Change.MANUAL)
    assert (found.ratio.low is not None) == there
    assert (found.conclusion is Conclusion.MATTERS) == there
    assert found.ratio.method is Method.UNPAIRED_MEDIANS


@each("paired", True, False)
@each("summary", Summary.TOTAL, Summary.MEDIAN)
def test_interval_and_p_value_never_disagree(summary, paired):
    """Else a difference would be taken away by a test of something else, of which the sentence says nothing."""
    draw, apart = np.random.default_rng(6), 0
    for number in range(10):
        logs = draw.normal(0, 0.05, (2, 20)) + np.where(draw.random((2, 20)) < 0.1, 0.5, 0.0)
        first, second = np.exp(logs[0]), np.exp(logs[1] + 0.04 * number)
        found = summary_ratio(summary, first.tolist(), second.tolist(), paired=paired)
        differs = not found.wide[0] <= 0 <= found.wide[1]
        assert differs == (found.p_value <= 0.05)
        apart += differs
    assert 1 <= apart <= 9, "both must be there for the test to say anything"


@each("summary", Summary.TOTAL, Summary.MEDIAN)
def test_among_equals_nothing_is_claimed_to_matter(summary):
    draw, wrong = np.random.default_rng(5), 0
    for _ in range(100):
        found, _ = answer(lambda trial: float(draw.lognormal(0, 0.03)), summary)
        wrong += found.conclusion is Conclusion.MATTERS
    assert wrong <= 5


COUNTED = Measure(workload="spool", operation="create", figure="@local.box_drops")
BY_COMMAND = replace(COUNTED, figure="@local.observe.level", unit="count")


@each("measure lowest", (COUNTED, 0.0), (SHARE, 0.0), (BY_COMMAND, pytest.approx(-29.0, abs=0.1)))
def test_an_interval_of_what_cannot_be_negative_ends_at_0(measure, lowest):
    """27.7 drops with an interval from -22.7 to 78.1: nobody can drop less than nothing."""
    _, (cell, _) = answer(lambda trial: 130.0 if trial.block == 0 else 1.0 + trial.block, measure=measure)
    assert cell.estimate.low == lowest
    assert cell.estimate.high > cell.estimate.value > 0


def test_a_command_that_prints_negative_numbers_keeps_its_interval_and_a_ratio_of_0_says_so():
    _, (cell, _) = answer(lambda trial: (-1.0) ** trial.block + 0.1, measure=BY_COMMAND)
    assert cell.estimate.low < 0
    found, _ = answer(lambda trial: float(trial.block), measure=COUNTED)
    assert (found.ratio, found.has_zero) == (None, True)
    whole, _ = answer(lambda trial: 1.0 + trial.block, measure=COUNTED)
    assert (whole.ratio is None, whole.has_zero) == (False, False)
