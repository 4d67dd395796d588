"""Comparisons over records: pairs by block, sittings apart, four answers, Holm; A/A says no difference at its level."""

import math
from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.require import requirements
from assay.answer.marks import exclusion
from assay.answer.wording.comparison import statement
from assay.laboratory.gate import became_worse
from assay.records import (
    Adjustment,
    Change,
    Conclusion,
    Exclusion,
    Method,
    Observations,
    Outcome,
    Pairs,
    Requirement,
    RequirementKind,
    Results,
    VerdictState,
    WorkloadSpec,
    WorkSide,
)
from assay.records import ExclusionReason as Reason
from stage import notebook_records as made
from stage.rows import each
from stage.sizes import chance, few_and_many


def no_evidence(run: str) -> Observations:
    raise AssertionError(f"the verdict of {run} has the value")


def answer(asked, plan, runs):
    found = cells(asked, plan, runs, no_evidence)
    return comparisons(asked, found, runs)


def experiment_of(values, measures=(made.RATE,), **changes):
    """Runs of a plan whose value is `values(trial, measure)`."""
    asked = made.experiment(measures=measures, **changes)
    plan = made.plan(asked)
    runs = tuple(made.judged(made.run(t), {m: values(t, m) for m in measures}) for t in plan.trials)
    return asked, plan, runs


def test_a_limit_below_the_clients_is_not_compared_and_takes_nothing_from_their_family():
    """One measure of clients, and the same of a workload at the server's side: one test is made."""
    asked, plan, runs = experiment_of(lambda t, _: 100.0 * (1.2 if t.levels["target"] == "xfs" else 1) * (1 + t.block / 100))
    (alone,) = answer(asked, plan, runs)
    below = replace(asked.measures[0], workload="disk")
    disk = WorkloadSpec(name="disk", kind="metadata", side=WorkSide.SERVER)
    both = replace(asked, measures=(*asked.measures, below), workloads=(*asked.workloads, disk))
    judged = tuple(
        replace(one, verdicts={**one.verdicts, below.name: replace(one.verdicts[made.RATE], measure=below.name)}) for one in runs
    )
    (found,) = answer(both, plan, judged)
    assert (found.measure, found.tested, found.adjusted_p_value) == (made.RATE, 1, alone.adjusted_p_value)
    required = Requirement(measure=below.name, kind=RequirementKind.NOT_WORSE_THAN, bound=0.05, text="not worse than 5 %")
    first, second = answer(replace(both, requirements=(required,)), plan, judged)
    assert [(one.tested, one.secondary) for one in (first, second)] == [(1, False), (1, True)]


def test_a_difference_that_matters_and_of_latencies_lower_is_better():
    (found,) = answer(*experiment_of(lambda t, _: 100.0 * (1.2 if t.levels["target"] == "xfs" else 1) * (1 + t.block / 100)))
    assert found.conclusion is Conclusion.MATTERS
    assert (found.baseline, found.candidate, found.factor, found.interleaved) == ("ext4", "xfs", "target", True)
    assert found.ratio is not None
    assert found.ratio.value == pytest.approx(1.2)
    assert found.ratio.n == 5
    assert statement(made.experiment(), found) == (
        "spool create: operations per second: xfs is faster: 1.200 times the rate of ext4 (95 % interval 1.200 to 1.200)"
    )
    asked, plan, runs = experiment_of(lambda t, _: 100.0 + 20 * (t.levels["target"] == "xfs"), measures=(made.LATENCY,))
    assert "xfs is slower: it takes 1.200 times as long as ext4" in statement(asked, answer(asked, plan, runs)[0])


def test_every_two_levels_are_held_against_each_other_where_the_file_asks_for_it():
    factor = {"ext4": 1.0, "xfs": 1.2, "btrfs": 1.8}
    asked, plan, runs = experiment_of(lambda t, _: 100.0 * factor[t.levels["target"]] * (1 + t.block / 100), levels=tuple(factor))
    assert len(answer(asked, plan, runs)) == 2
    every = answer(replace(asked, pairs=Pairs.ALL), plan, runs)
    assert [(one.baseline, one.candidate) for one in every] == [("ext4", "xfs"), ("ext4", "btrfs"), ("xfs", "btrfs")]
    assert [round(one.ratio.value, 6) for one in every if one.ratio] == [1.2, 1.8, 1.5]
    assert {(one.adjusted_by, one.tested, one.conclusion) for one in every} == {(Adjustment.HOLM, 3, Conclusion.MATTERS)}
    assert len({one.id for one in every}) == 3
    limits = (Requirement(measure=made.RATE, kind=RequirementKind.NOT_WORSE_THAN, bound=0.05, text="not worse than 5 %"),)
    against = replace(asked, pairs=Pairs.ALL, requirements=limits)
    found = requirements(against, cells(against, plan, runs, no_evidence), every, runs)
    assert [one.levels for one in found] == [{"target": "xfs"}, {"target": "btrfs"}]


def test_pairs_take_out_what_blocks_share_and_conditions_are_kept_apart():
    draw = np.random.default_rng(1)
    block = np.exp(draw.normal(0, 0.3, 5))
    (found,) = answer(*experiment_of(lambda t, _: block[t.block] * (1.001 if t.levels["target"] == "xfs" else 1.0)))
    assert found.conclusion is Conclusion.IMMATERIAL
    found = answer(*experiment_of(lambda t, _: 10.0 * int(t.levels["clients"]), clients=(1, 2, 4)))
    assert [one.within for one in found] == [{"clients": 1}, {"clients": 2}, {"clients": 4}]
    assert {one.conclusion for one in found} == {Conclusion.EQUIVALENT}


def test_runs_that_do_not_count_are_named():
    asked, plan, runs = experiment_of(lambda t, _: 100.0 + t.block)
    by_id = {judged.id: judged for judged in runs}
    first, second, third, fourth = (plan.trials[i] for i in (0, 2, 4, 6))
    by_id["0001/1"] = made.judged(made.run(first, outcome=Outcome.FAILED), {})
    by_id["0003/1"] = made.judged(made.run(second), {made.RATE: 1e9}, VerdictState.INVALID)
    by_id["0005/1"] = made.judged(made.run(third), {made.RATE: 7.0})
    by_id["0005/2"] = made.judged(made.run(third, attempt=2), {made.RATE: 102.0})
    by_id["0007/1"] = made.judged(made.run(fourth), {made.RATE: None})
    counted = tuple(by_id.values())
    table = {cell.levels["target"]: cell for cell in cells(asked, plan, counted, no_evidence)}
    arm, other = (table[plan.trials[i].levels["target"]] for i in (0, 1))
    (found,) = answer(asked, plan, counted)
    everything = {**arm.excluded, **other.excluded}
    assert everything["0001/1"] == Exclusion(reason=Reason.OUTCOME, outcome=Outcome.FAILED, error="the load failed")
    assert everything["0003/1"] == Exclusion(reason=Reason.INVALID, rules={"T01": "client-page-cache"})
    assert everything["0005/1"] == Exclusion(reason=Reason.REPEATED, attempt=2)
    assert everything["0007/1"] == Exclusion(reason=Reason.NO_FIGURE)
    assert [exclusion(everything[run]) for run in ("0001/1", "0003/1", "0005/1", "0007/1")] == [
        "failed: the load failed",
        "INVALID: client-page-cache (T01)",
        "repeated as attempt 2",
        "no figure",
    ]
    assert set(everything) < set(found.excluded)
    assert Exclusion(reason=Reason.NO_PARTNER) in found.excluded.values()
    assert found.ratio is not None
    assert found.ratio.n == 2
    assert found.conclusion is Conclusion.UNDECIDED
    invalid = table[plan.trials[2].levels["target"]]
    assert invalid.unfiltered is not None
    assert invalid.estimate is not None
    assert invalid.unfiltered.n == invalid.estimate.n + 1
    assert invalid.unfiltered.value > invalid.estimate.value


def test_a_cell_says_how_many_clean_runs_it_rests_on_and_excluded_ones_are_shown():
    asked, plan, runs = experiment_of(lambda t, _: 100.0 * (1.2 if t.levels["target"] == "xfs" else 1) * (1 + t.block / 100))
    (found,) = answer(asked, plan, runs)
    assert found.unfiltered is None
    assert "INVALID" not in statement(asked, found)
    wild = next(judged for judged in runs if judged.run.trial.levels["target"] == "xfs")
    invalid = made.judged(wild.run, {made.RATE: 1000.0}, VerdictState.INVALID)
    (found,) = answer(asked, plan, tuple(invalid if judged is wild else judged for judged in runs))
    assert (found.ratio.n, found.unfiltered.n) == (4, 5)
    assert found.ratio.value == pytest.approx(1.2)
    assert found.unfiltered.value > 1.5
    assert "including excluded runs: 1.8 times" in statement(asked, found).replace("1.83", "1.8")
    assert found.conclusion is Conclusion.MATTERS, "the answer is that of the runs that count"
    asked, plan, runs = experiment_of(lambda t, _: 100.0 + t.block)
    few = tuple(made.disturbed(one) if one.run.trial.block < 2 else one for one in runs)
    for cell in cells(asked, plan, few, no_evidence):
        assert (cell.estimate.n, cell.unfiltered.n, len(cell.excluded)) == (3, 5, 2)
    most = tuple(made.disturbed(one) if one.run.trial.block < 3 else one for one in runs)
    assert all((cell.estimate.n, cell.unfiltered) == (5, None) for cell in cells(asked, plan, most, no_evidence))


@each("disturbed n", (range(2), (8, 10)), (range(4), (10, 10)), (range(5), (10, 10)))
def test_noisy_runs_are_set_aside_only_where_every_sitting_keeps_enough(disturbed, n):
    asked, plan, runs = experiment_of(lambda t, _: 100.0 + t.block)
    again = tuple(
        replace(one, run=replace(one.run, trial=replace(one.run.trial, id=one.run.trial.id + 100, sitting=1))) for one in runs
    )
    marked = tuple(made.disturbed(one) if one.run.trial.block in disturbed else one for one in again)
    left, every = n
    for cell in cells(asked, plan, (*runs, *marked), no_evidence):
        assert (cell.estimate.n, len(cell.values) + len(cell.excluded)) == (left, every)


@each("noisy pairs", ((), 5), ((1,), 4), ((1, 3), 3), ((0, 1, 3), 5))
def test_a_pair_that_noise_disturbed_counts_only_where_too_few_are_clean(noisy, pairs):
    asked, plan, runs = experiment_of(lambda t, _: 100.0 * (1.2 if t.levels["target"] == "xfs" else 1) * (1 + t.block / 100))
    first = dict.fromkeys(noisy[:1], "ext4") | dict.fromkeys(noisy[1:], "xfs")
    (found,) = answer(asked, plan, tuple(made.disturbed(one) if matches(one, first) else one for one in runs))
    assert found.ratio.n == pairs
    assert (found.unfiltered is None) == (pairs == 5)
    assert found.ratio.value == pytest.approx(1.2)
    reasons = [why.reason for why in found.excluded.values()]
    assert reasons.count(Reason.NOISE) == 5 - pairs


def matches(judged, noisy):
    return noisy.get(judged.run.trial.block) == judged.run.trial.levels["target"]


@each("n", 0, 1, 2)
def test_fewer_than_three_pairs_decide_nothing(n):
    asked, plan, runs = experiment_of(lambda t, _: 100.0 * (2 if t.levels["target"] == "xfs" else 1))
    few = tuple(judged for judged in runs if judged.run.trial.block < n)
    (found,) = answer(asked, plan, few)
    assert found.conclusion is Conclusion.UNDECIDED
    assert (found.ratio is None) == (n == 0)
    assert found.ratio is None or found.ratio.low is None


def test_what_is_compared_ran_interleaved_and_nothing_else_is():
    asked, plan, runs = experiment_of(lambda t, _: 100.0 + t.block)
    from dataclasses import replace

    order = sorted(runs, key=lambda judged: str(judged.run.trial.levels["target"]))
    apart = tuple(
        replace(judged, run=replace(judged.run, started_utc=f"2026-01-01T00:00:{place:02d}+00:00"))
        for place, judged in enumerate(order)
    )
    assert answer(asked, plan, runs)[0].interleaved
    assert not answer(asked, plan, apart)[0].interleaved
    from dataclasses import replace

    asked, plan, runs = experiment_of(lambda t, _: 1.0)
    assert answer(replace(asked, compare=None), plan, runs) == ()
    asked, plan, runs = experiment_of(lambda t, _: 0.0 if t.block == 0 else 5.0)
    found = cells(asked, plan, runs, no_evidence)
    assert [(cell.estimate.value, cell.estimate.n, cell.estimate.method) for cell in found] == [(4.0, 5, Method.MEAN)] * 2
    assert all(one.has_zero and one.ratio is None for one in answer(asked, plan, runs)), "no ratio to a figure of 0"
    asked, plan, runs = experiment_of(lambda t, _: -1.0 if t.block == 0 else 5.0)
    found = cells(asked, plan, runs, no_evidence)
    assert all(why == Exclusion(reason=Reason.NOT_POSITIVE, value=-1.0) for cell in found for why in cell.excluded.values())
    assert [cell.estimate.n for cell in found if cell.estimate] == [4, 4]


def sitting_values(drift, seed=2):
    draw = np.random.default_rng(seed)
    return lambda t, _: 100.0 * math.exp(drift * t.sitting + draw.normal(0, 0.005))


def test_going_back_shows_a_planted_drift_and_keeps_the_answer_without():
    asked, plan, runs = experiment_of(sitting_values(0.0), change=Change.MANUAL)
    (found,) = answer(asked, plan, runs)
    assert not found.interleaved
    assert found.conclusion is Conclusion.EQUIVALENT
    assert found.ratio is not None
    assert (found.ratio.method, found.baseline_sittings) == (Method.UNPAIRED_GEOMETRIC, 1)
    assert "returns = 1" in statement(asked, found)
    asked, plan, runs = experiment_of(sitting_values(0.1), change=Change.MANUAL)
    assert answer(asked, plan, runs)[0].conclusion is Conclusion.MATTERS, "without going back a drift looks like a difference"
    asked, plan, runs = experiment_of(sitting_values(0.1), change=Change.MANUAL, returns=1)
    (found,) = answer(asked, plan, runs)
    assert found.conclusion is Conclusion.UNDECIDED
    asked, plan, runs = experiment_of(sitting_values(0.0), change=Change.MANUAL, returns=1)
    assert answer(asked, plan, runs)[0].conclusion is Conclusion.EQUIVALENT


@each("n share", (3, 0.149), (5, 0.074), (10, 0.043))
def test_the_detectable_effect_at_a_spread_of_three_percent(n, share):
    from assay.analysis.together import shown_in_errors

    assert math.expm1(0.03 * math.sqrt(2 / n) * shown_in_errors(n - 1, 0.05)) == pytest.approx(share, abs=0.0006)


def test_arms_apart_detect_by_their_own_degrees_of_freedom():
    """As the plan has it of independent arms (6.3 % at n = 5 and 3 %), not by those of pairs (7.4 %)."""
    spread = (-1.2, -0.6, 0.0, 0.6, 1.2)
    logs = [0.03 * one / np.std(spread, ddof=1) for one in spread]
    asked = made.experiment(change=Change.MANUAL)
    plan = made.plan(asked)
    runs = [made.judged(made.run(t), {made.RATE: 100 * math.exp(logs[t.block])}) for t in plan.trials]
    (found,) = comparisons(asked, cells(asked, plan, runs, no_evidence), runs)
    assert found.detectable_share == pytest.approx(0.063, abs=0.0006)


@few_and_many("sets", 400, 2000)
@each("kind", "lognormal", "heavy")
def test_a_a_experiments_do_not_say_that_a_difference_matters(kind, sets):
    draw, wrong, different = np.random.default_rng(8), 0, 0
    asked, plan, template = experiment_of(lambda t, _: 1.0)
    for _ in range(sets):
        noise = draw.normal(0, 0.03, 10) if kind == "lognormal" else 0.03 * draw.standard_t(3, 10)
        values = np.exp(noise).tolist()
        runs = tuple(made.judged(one.run, {made.RATE: value}) for one, value in zip(template, values, strict=True))
        (found,) = answer(asked, plan, runs)
        wrong += found.conclusion is Conclusion.MATTERS
        different += found.p_value is not None and found.p_value <= 0.05
    assert wrong / sets <= 0.05
    assert different / sets <= 0.05 + chance(0.05, sets, errors=2)


@few_and_many("sets", 40, 150)
def test_many_contrasts_together_keep_the_level(sets):
    measures = (made.RATE, made.LATENCY)
    draw, wrong, taken = np.random.default_rng(9), 0, 0
    for _ in range(sets):
        noise = lambda t, m: float(np.exp(draw.normal(0, 0.002)))  # noqa: E731
        asked, plan, runs = experiment_of(noise, measures=measures, clients=(1, 2, 4, 8))
        found = answer(asked, plan, runs)
        claims = [one.conclusion in (Conclusion.MATTERS, Conclusion.IMMATERIAL) for one in found]
        wrong += any(claims)
        taken += any("Holm" in statement(asked, one) for one in found)
    assert wrong / sets <= 0.05 + chance(0.05, sets)
    assert taken > 0


def test_one_pair_that_a_neighbour_disturbed_hides_a_change_from_the_mean_and_not_from_the_typical_pair():
    ratios = [0.90, 0.91, 0.89, 0.90, 0.92, 0.88, 0.90, 1.80, 0.90, 0.87, 0.89, 0.91, 0.90]
    asked = made.experiment()
    plan = made.plan(asked, len(ratios))
    values = (({"ext4": 1000.0}.get(t.levels["target"], 1000.0 * ratios[t.block]), t) for t in plan.trials)
    runs = tuple(made.judged(made.run(t), {made.RATE: value}) for value, t in values)
    (found,) = answer(asked, plan, runs)
    assert found.conclusion is Conclusion.UNDECIDED
    assert (found.typical.method, found.typical.n) == (Method.SIGNED_RANKS, len(ratios))
    assert found.typical.value == pytest.approx(0.90, abs=0.01)
    assert found.typical.high < 1
    results = Results(experiment=asked, plan=plan, runs=runs, comparisons=(found,))
    assert became_worse(results, found)
    assert not became_worse(results, replace(found, typical=None))
    assert "of the typical pair 0.900 times (95 % interval 0.890 to 0.910" in statement(asked, found)
