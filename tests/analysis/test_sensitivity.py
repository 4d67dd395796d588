"""Known effects and interactions are found, ranked and put in words; what cannot be told is not claimed."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from assay.analysis.cells import cells
from assay.analysis.sensitivity import sensitivity
from assay.answer.wording import effects as words
from assay.cli import compare, tables
from assay.experiment.outlook import log_effect
from assay.notebook import read as notebook
from assay.notebook.store import Store
from assay.plain import from_plain, to_plain
from assay.records import Conclusion, Factor, Sensitivity, VerdictState
from stage import notebook_records as made
from stage.effect_cases import ALONE, FRACTION, FULL, SCREEN, answered, no_evidence, plain_effects, planted
from stage.rows import each
from stage.sizes import chance, few_and_many


def said(one):
    return words.statement(made.experiment(measures=(made.RATE, made.LATENCY, "spool.create.errors")), one)


def effect_said(one):
    return words.effect(made.experiment(), one)


def of(one, *paths):
    return next(effect for effect in one.effects if tuple(step.factor for step in effect.steps) == paths)


def test_what_matters_most_and_each_level_are_told():
    (one,) = answered(FULL, (2, 2, 2), plain_effects).sensitivity
    text = r"spool.create.ops_per_s: spool.a matters most: -3\d(\.\d)? % \(-\d\d(\.\d)? to -3\d(\.\d)?\) with 1 instead of 0\. "
    assert re.match(text, said(one)), said(one)
    assert "Too little to matter: spool.b +" in said(one)
    assert "No relevant effect: spool.c " in said(one)
    assert [effect.steps[0].factor for effect in one.effects if len(effect.steps) == 1] == ["spool.a", "spool.b", "spool.c"]
    assert one.verdict is VerdictState.SOUND
    (one,) = answered(FULL, (3, 2, 2), lambda levels: (100.0, 150.0, 250.0)[levels["spool.a"]]).sensitivity
    own = [effect for effect in one.effects if len(effect.steps) == 1]
    found = {effect.steps[0].level: effect.ratio.value for effect in own if effect.steps[0].factor == "spool.a"}
    assert found[1] == pytest.approx(1.5, rel=0.02)
    assert said(one).count("spool.a") == 1, "the largest step stands for the factor"
    assert "spool.a matters most: 2.5 times (2." in said(one).replace("2.49", "2.5").replace("2.51", "2.5")


def test_pairs_are_told_as_a_design_mixes_them():
    (one,) = answered(FRACTION, (2, 2, 2, 2), planted).sensitivity
    mixed = of(one, "spool.a", "spool.c")
    assert [tuple(step.factor for step in steps) for steps in mixed.mixed_with] == [("spool.b", "spool.d")]
    assert mixed.within is None
    assert "spool.a with spool.c, or spool.b with spool.d (aliased)" in said(one)
    assert one.tested == len(one.effects) == 7
    (one,) = answered(SCREEN, (2, 2, 2, 2, 2), planted).sensitivity
    assert all(len(effect.steps) == 1 for effect in one.effects)
    assert of(one, "spool.d").conclusion is Conclusion.MATTERS, "spool.d does nothing: it stands for spool.a with spool.c"
    assert "may be an interaction of two other factors" in said(one)
    assert "aliased with spool.a with spool.c" in effect_said(of(one, "spool.d"))
    (larger,) = answered(SCREEN, (2,) * 9, plain_effects).sensitivity
    assert "may be an interaction of two other factors" in said(larger), "here only in part"
    (one,) = answered(FULL, (2, 2, 2), planted).sensitivity
    both = of(one, "spool.a", "spool.c")
    assert both.ratio.low <= 1.4 <= both.ratio.high
    assert both.conclusion is Conclusion.MATTERS
    assert both.within == pytest.approx((0.62, 0.868), rel=0.03)
    assert "Together: the ratio of spool.a = 1 is 1.4 times" in said(one).replace("1.39", "1.4").replace("1.41", "1.4")
    assert re.search(r"-38 % becomes -1[234] %", said(one)), said(one)
    assert said(one).split(". Together")[0].count("with 1 instead of 0 on average") == 2, "each is another with the other"
    assert "spool.b +2.2 % (+1.6 to +2.9) with 1 instead of 0." in said(one)
    assert of(one, "spool.b", "spool.c").conclusion is Conclusion.EQUIVALENT


def test_where_nothing_matters_that_is_the_answer():
    (one,) = answered(FULL, (2, 2), lambda levels: 100.0).sensitivity
    assert "no factor matters by itself (limit 5 %)" in said(one)
    (noisy,) = answered(FULL, (2, 2), lambda levels: 100.0, cv=0.3, blocks=3).sensitivity
    assert "no factor is shown to matter by itself" in said(noisy)
    assert "Undecided: " in said(noisy)
    assert "Undecided interaction: the ratio of spool.a = 1 is " in said(noisy)
    assert all("minimum detectable difference: " in effect_said(effect) for effect in noisy.effects)


def test_an_effect_that_turns_round_with_another_factor_is_not_called_none():
    """b does nothing on average: +15 % at one level of a, -13 % at the other."""
    (one,) = answered(FULL, (2, 2), lambda levels: 100.0 * (1.15 if levels["spool.a"] == levels["spool.b"] else 1.0)).sensitivity
    assert "no factor matters by itself (limit 5 %). Together: the ratio of spool.a = 1 is 1.3" in said(one)
    assert re.search(r"No relevant effect: .*spool.b \S+ % \(.*\) with 1 instead of 0 on average", said(one))


def test_all_effects_of_all_measures_are_held_together():
    both = answered(FULL, (2, 2), plain_effects, measures=(made.RATE, made.LATENCY)).sensitivity
    assert [one.tested for one in both] == [6, 6]
    assert all(effect.adjusted_p_value >= effect.p_value for one in both for effect in one.effects)
    (one,) = answered(ALONE, (2, 2), plain_effects, measures=(made.LATENCY,)).sensitivity
    assert said(one).endswith("Lower is better.")


@few_and_many("sets", 20, 60)
def test_false_effects_are_as_rare_as_the_level_says(sets):
    """Of experiments in which nothing does anything, at most one in twenty may claim an effect."""
    claimed = 0
    for seed in range(sets):
        (one,) = answered(FRACTION, (2, 2, 2, 2), lambda levels: 100.0, seed=seed, blocks=3, cv=0.05).sensitivity
        claimed += any(effect.adjusted_p_value < 0.05 for effect in one.effects)
    assert claimed <= (8 if sets == 60 else 4)  # 60 at 5 %: 8 or more come in 1 % of cases, as 4 or more of 20 do


@few_and_many("sets", 20, 60)
@each("kind levels", (FULL, (2, 2, 2)), (FRACTION, (2, 2, 2, 2)), (ALONE, (2, 2, 2, 3)))
def test_the_truth_lies_in_the_intervals_as_often_as_they_say(kind, levels, sets):
    hits = []
    for seed in range(sets):
        (one,) = answered(kind, levels, plain_effects, seed=seed, blocks=3, cv=0.04).sensitivity
        for effect in one.effects:
            truth = {("spool.a",): 0.62, ("spool.b",): 1.02}.get(tuple(step.factor for step in effect.steps), 1.0)
            hits.append(effect.ratio.low <= truth <= effect.ratio.high)
    assert abs(np.mean(hits) - 0.95) <= (0.05 if sets == 60 else chance(0.05, len(hits)))


@few_and_many("sets", 40, 150)
@each("kind levels", (FULL, (2, 2, 2)), (FRACTION, (2, 2, 2, 2)), (ALONE, (2, 2, 2)))
def test_what_the_plan_says_it_can_detect_it_detects(kind, levels, sets):
    """With 80 % power, of an effect that is looked at alone."""
    asked = answered(kind, levels, plain_effects, blocks=4).experiment
    spread = 0.03
    planned = math.exp(log_effect(asked, 4, spread))
    seen = [
        of(one, "spool.a").p_value < 0.05
        for seed in range(sets)
        for one in answered(
            kind, levels, lambda found: 100.0 * (planned if found["spool.a"] else 1.0), seed=seed, blocks=4, cv=spread
        ).sensitivity
    ]
    assert abs(np.mean(seen) - 0.8) <= chance(0.8, sets)


def test_missing_runs_and_combinations_cost_what_they_must():
    results = answered(FULL, (2, 2, 2), plain_effects, lost=lambda trial: trial.id == 7)
    (one,) = results.sensitivity
    assert set(one.excluded) == {"0007/1"}
    assert of(one, "spool.a").ratio.value == pytest.approx(0.62, rel=0.02)
    (one,) = answered(
        FULL, (2, 2), plain_effects, lost=lambda trial: trial.levels["spool.a"] == trial.levels["spool.b"] == 1
    ).sensitivity
    assert said(one).endswith("no effect can be estimated: no valid run at spool.a = 1, spool.b = 1.")
    assert {effect.conclusion for effect in one.effects} == {Conclusion.UNDECIDED}
    (alone,) = answered(ALONE, (2, 2), plain_effects, lost=lambda trial: trial.levels["spool.b"] == 1).sensitivity
    assert "spool.a matters most" in said(alone)
    assert "No valid run at spool.a = 0, spool.b = 1." in said(alone)


def test_a_knob_of_another_target_is_estimated_on_that_target():
    two = (
        Factor(path="target", levels=("ext4", "xfs")),
        Factor(path="ext4.k", levels=(1, 2)),
        Factor(path="xfs.k", levels=(1, 2)),
    )

    def value(levels):
        return {"ext4": 100.0 * levels["ext4.k"], "xfs": 30.0 / levels["xfs.k"]}[levels["target"]]

    (one,) = answered(ALONE, two, value).sensitivity
    ratios = {path: of(one, path).ratio.value for path in ("target", "ext4.k", "xfs.k")}
    assert ratios == pytest.approx({"target": 0.3, "ext4.k": 2.0, "xfs.k": 0.5}, rel=0.03)
    assert "xfs.k too: -" in said(one)


def test_too_little_is_no_effect():
    (one,) = answered(FULL, (2, 2), plain_effects, blocks=2).sensitivity
    assert all(effect.ratio.low is None and effect.conclusion is Conclusion.UNDECIDED for effect in one.effects)
    results = answered(FULL, (2, 2), plain_effects)
    assert sensitivity(replace(results.experiment, design=None), results.cells, results.runs) == ()
    bare = cells(results.experiment, results.plan, (), no_evidence)
    assert sensitivity(results.experiment, bare, ()) == ()
    results = answered(FULL, (2, 2), plain_effects, measures=("spool.create.errors",))
    empty = [replace(cell, values=dict.fromkeys(cell.values, 0.0)) for cell in results.cells]
    (one,) = sensitivity(results.experiment, empty, results.runs)
    assert said(one) == "spool.create.errors: no effect can be estimated: a value is 0."


def test_effects_are_kept_read_back_and_shown(tmp_path):
    results = answered(FRACTION, (2, 2, 2, 2), planted)
    assert tuple(from_plain(Sensitivity, to_plain(one)) for one in results.sensitivity) == results.sensitivity
    with Store.create(tmp_path, results.experiment, results.plan, made.TEXT) as store:
        for judged in results.runs:
            store.add(judged.run, made.observations())
        store.derive("r", results)
        assert notebook.results(store.folder, "r").sensitivity == results.sensitivity
    results = answered(FRACTION, (2, 2, 2, 2), planted)
    text = compare.answer_text(results)
    assert text.startswith("SOUND spool.create.ops_per_s: spool.")
    assert "7 effects tested; p-values are Holm-adjusted." in text
    assert tables.effect_tables(results).count("aliased with") == 3
    (one,) = compare.as_plain(results)["sensitivity"]
    assert one["design"] == "fractional"
    assert len(one["effects"]) == 7
