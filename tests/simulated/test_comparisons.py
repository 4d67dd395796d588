"""Thousands of synthetic notebooks through the real code path: what the answers of comparisons promise is kept.

Values are drawn, everything behind them is what `assay compare` does: cells, pairs by block, intervals, four answers, correction
for all that were looked at. Most notebooks stay in memory, some are written to Parquet and read again. The seed of a case is
its own name's checksum: none was chosen. Shares are held against their promise with three binomial standard errors.
"""

import itertools
import math
import zlib
from functools import cache
from statistics import fmean

import numpy as np
import pytest

from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.experiment import outlook as forecast
from assay.experiment import plan as planning
from assay.laboratory.results import judged_anew
from assay.notebook import read
from assay.notebook.store import Store
from assay.records import Conclusion, Observations
from stage import cli_notebook
from stage import notebook_records as made
from stage.sizes import few_and_many, first_and_all

MATTERS = 0.05
CV = 0.03
BLOCKS = (3, 5, 10)
EQUALS = few_and_many("sets", 60, 400)
"""Notebooks of each kind of noise and number of blocks."""
POWERS = few_and_many("sets", 150, 3000)
"""Of each number of blocks: three points are four standard errors of a power of 80 % of 3000."""
PARQUET = 20
KINDS = ("lognormal", "bimodal", "drifting", "outliers")


def no_evidence(run: str) -> Observations:
    raise AssertionError(f"the verdict of {run} has the value")


def source(*name) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(name).encode()))


def noise(kind: str, draw: np.random.Generator, n: int, cv: float = CV) -> np.ndarray:
    """Logarithms of a baseline and a candidate that differ in nothing, in the order in which the runs were made."""
    found = draw.normal(0, cv, 2 * n)
    if kind == "bimodal":
        found += np.where(draw.random(2 * n) < 0.3, 0.1, 0.0)
    elif kind == "drifting":
        found += np.cumsum(draw.normal(0, cv / 4, 2 * n)) + 0.1 * np.arange(2 * n) / (2 * n)
    elif kind == "outliers":
        found += np.where(draw.random(2 * n) < 0.1, draw.choice([-1, 1], 2 * n) * draw.exponential(0.2, 2 * n), 0.0)
    return found


@cache
def scene(n: int):
    """An experiment of n blocks and its runs, in which only the values are left open."""
    asked = made.experiment()
    plan = made.plan(asked, n)
    return asked, plan, [made.run(trial) for trial in plan.trials]


def compared(n: int, logs: np.ndarray, effect: float):
    """The comparison of one synthetic notebook whose candidate is exp(effect) times as fast."""
    asked, plan, runs = scene(n)
    values = [math.exp(log + effect * (run.trial.levels["target"] == "xfs")) for run, log in zip(runs, logs, strict=True)]
    judged = [made.judged(run, {made.RATE: value}) for run, value in zip(runs, values, strict=True)]
    (found,) = comparisons(asked, cells(asked, plan, judged, no_evidence), judged)
    return found


def many(sets: int, n: int, kind: str, effect: float = 0.0):
    draw = source(n, kind, effect)
    return [compared(n, noise(kind, draw, n), effect) for _ in range(sets)]


def error(share: float, sets: int) -> float:
    """Three binomial standard errors."""
    return 3 * math.sqrt(share * (1 - share) / sets)


@cache
def equals(kind: str, n: int, sets: int) -> tuple[float, float]:
    """Of notebooks without a difference: the share of intervals that hold 1, of answers that one matters."""
    found = many(sets, n, kind)
    covered = sum(one.ratio.low <= 1 <= one.ratio.high for one in found)
    return covered / sets, sum(one.conclusion is Conclusion.MATTERS for one in found) / sets


@EQUALS
def test_intervals_hold_the_truth_and_equals_are_not_said_to_matter(subtests, sets):
    for n, kind in itertools.product(BLOCKS, KINDS):
        with subtests.test(n=n, kind=kind):
            covered, wrong = equals(kind, n, sets)
            assert covered >= 0.93 - error(0.93, sets)
            assert wrong <= 0.05


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_over_all_numbers_of_blocks_93_of_100_intervals_hold_the_truth(kind, record_property):
    covered = [equals(kind, n, 400)[0] for n in BLOCKS]
    record_property("share of intervals that hold the truth", round(fmean(covered), 4))
    assert fmean(covered) >= 0.93
    assert fmean(covered) <= 0.995, "intervals that hold everything say nothing"


def promised(n: int) -> tuple[float, float]:
    """What `assay plan` says of so many blocks where the notebook knows this spread: the differences it can show and prove."""
    asked, plan, _ = scene(n)
    (effect,) = forecast.outlook(asked, plan, planning.History(trial_ns=10**9, cv={made.RATE: CV})).effects
    assert effect.cv_share == CV
    return effect.detectable_share, effect.provable_share


@POWERS
def test_power_is_what_the_plan_promised_within_three_points(subtests, sets, record_property):
    for n in BLOCKS:
        with subtests.test(n=n):
            shown, proved = promised(n)
            within = max(0.03, error(0.80, sets))
            seen = sum(one.p_value <= 0.05 for one in many(sets, n, "lognormal", math.log1p(shown))) / sets
            record_property("power at the difference that can be shown", round(seen, 4))
            assert seen == pytest.approx(0.80, abs=within)
            answers = [one.conclusion for one in many(sets, n, "lognormal", math.log1p(proved))]
            assert answers.count(Conclusion.MATTERS) / sets == pytest.approx(0.80, abs=within)


@few_and_many("sets", 40, 200)
def test_the_power_among_many_contrasts_is_what_the_plan_promised_at_least(sets):
    """One of four arms differs at one condition; at the size for one contrast alone that is seen in 54 of 100 notebooks."""
    asked = made.experiment(("a", "b", "c", "d"), clients=(1, 2))
    plan = made.plan(asked)
    outlook = forecast.outlook(asked, plan, planning.History(trial_ns=10**9, cv={made.RATE: CV}))
    runs, draw, seen = [made.run(trial) for trial in plan.trials], source("among many"), 0
    effect = {("b", 1): math.log1p(outlook.effects[0].detectable_share)}
    for _ in range(sets):
        logs = draw.normal(0, CV, len(runs))
        at = [(run.trial.levels["target"], run.trial.levels["clients"]) for run in runs]
        judged = [
            made.judged(run, {made.RATE: math.exp(log + effect.get(levels, 0.0))})
            for run, log, levels in zip(runs, logs, at, strict=True)
        ]
        first = comparisons(asked, cells(asked, plan, judged, no_evidence), judged)[0]
        assert (first.candidate, first.within, first.tested) == ("b", {"clients": 1}, outlook.family_size)
        seen += first.adjusted_p_value <= 0.05
    assert seen / sets >= 0.80 - error(0.80, sets)


@EQUALS
def test_at_the_margin_equivalence_is_claimed_in_five_of_a_hundred_at_most(subtests, sets):
    for n, kind in itertools.product(BLOCKS, KINDS):
        with subtests.test(n=n, kind=kind):
            found = many(sets, n, kind, math.log1p(MATTERS))
            wrong = sum(one.conclusion in (Conclusion.EQUIVALENT, Conclusion.IMMATERIAL) for one in found) / sets
            assert wrong <= 0.05 + error(0.05, sets)


@few_and_many("sets", 200, 400)
def test_at_the_margin_the_five_are_reached_where_the_noise_is_small(sets):
    """Else the test above would hold for a comparison that never calls anything equivalent."""
    n, spread = 10, 0.005
    draw = source("margin", n)
    found = [compared(n, noise("lognormal", draw, n, spread), math.log1p(MATTERS)) for _ in range(sets)]
    wrong = sum(one.conclusion in (Conclusion.EQUIVALENT, Conclusion.IMMATERIAL) for one in found) / sets
    assert 0.05 - error(0.05, sets) <= wrong <= 0.05 + error(0.05, sets)


def ends(one) -> tuple[float, float, float]:
    return one.ratio.value, one.ratio.low, one.ratio.high


@pytest.mark.parametrize("number", first_and_all(range(PARQUET), few=6))
def test_notebooks_written_and_read_again_say_the_same(tmp_path, number):
    """Every fifth with the audit of all its runs and comparisons, the others with the figures made of what was read."""
    kind, n = KINDS[number % len(KINDS)], 5 if number % 10 == 9 else 3
    logs = noise(kind, source("parquet", number), n)
    asked, plan, _ = scene(n)
    with Store.create(tmp_path, asked, plan, made.TEXT) as kept:
        for trial, log in zip(plan.trials, logs, strict=True):
            rate = round(1e6 * math.exp(log))
            kept.add(made.run(trial, phases=cli_notebook.phases(rate)), made.observations(rate))
        bare = read.results(kept.folder)
        if number % 5:
            load = read.load(kept.folder)
            (found,) = comparisons(asked, cells(bare.experiment, bare.plan, bare.runs, load), bare.runs)
        else:
            (found,) = judged_anew(kept.folder).comparisons
    known = compared(n, logs, 0.0)
    assert ends(found) == pytest.approx(ends(known), rel=1e-5)
    assert found.conclusion is known.conclusion
