"""Thousands of synthetic notebooks through the real code path: what the answers of comparisons promise is kept.

Values are drawn, everything behind them is what `assay compare` does: cells, pairs by block, intervals, four answers, correction
for all that were looked at. Most notebooks stay in memory, some are written to Parquet and read again. The seed of a case is
its own name's checksum: none was chosen. Shares are held against their promise with three binomial standard errors.
"""

import math
import zlib
from functools import cache
from statistics import fmean

import numpy as np
import pytest

import cli_notebook
import notebook_records as made
from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.cli.judging import judged_anew
from assay.notebook.store import Store
from assay.records import Conclusion, Observations
from assay.statistics.paired_power import detectable, provable

MATTERS = 0.05
CV = 0.03
BLOCKS = (3, 5, 10)
EQUALS = 200
"""Notebooks of each kind of noise and number of blocks."""
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
    (found,) = comparisons(asked, plan, cells(asked, plan, judged, no_evidence), judged)
    return found


def many(sets: int, n: int, kind: str, effect: float = 0.0):
    draw = source(n, kind, effect)
    return [compared(n, noise(kind, draw, n), effect) for _ in range(sets)]


def error(share: float, sets: int) -> float:
    """Three binomial standard errors."""
    return 3 * math.sqrt(share * (1 - share) / sets)


@cache
def equals(kind: str, n: int) -> tuple[float, float]:
    """Of notebooks without a difference: the share of intervals that hold 1, of answers that one matters."""
    found = many(EQUALS, n, kind)
    covered = sum(one.ratio.low <= 1 <= one.ratio.high for one in found)
    return covered / EQUALS, sum(one.conclusion is Conclusion.MATTERS for one in found) / EQUALS


@pytest.mark.parametrize("n", BLOCKS)
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_the_truth_and_equals_are_not_said_to_matter(kind, n):
    covered, wrong = equals(kind, n)
    assert covered >= 0.93 - error(0.93, EQUALS)
    assert wrong <= 0.05


def test_over_all_kinds_of_noise_93_of_100_intervals_hold_the_truth():
    covered = [equals(kind, n)[0] for kind in KINDS for n in BLOCKS]
    assert fmean(covered) >= 0.93
    assert fmean(covered) <= 0.99, "intervals that hold everything say nothing"


@pytest.mark.parametrize("n", BLOCKS)
def test_power_is_what_the_plan_promised(n):
    sets = 500
    seen = many(sets, n, "lognormal", math.log1p(detectable(n, CV)))
    power = sum(one.p_value <= 0.05 for one in seen) / sets
    assert power == pytest.approx(0.80, abs=0.03 + error(0.8, sets))
    proved = many(sets, n, "lognormal", math.log1p(provable(n, CV, MATTERS)))
    assert sum(one.conclusion is Conclusion.MATTERS for one in proved) / sets == pytest.approx(0.80, abs=0.03 + error(0.8, sets))


@pytest.mark.parametrize("n", [5, 10])
@pytest.mark.parametrize("kind", ["lognormal", "bimodal", "drifting"])
def test_at_the_margin_equivalence_is_claimed_in_five_of_a_hundred_at_most(kind, n):
    sets = 300
    found = many(sets, n, kind, math.log1p(MATTERS))
    wrong = sum(one.conclusion in (Conclusion.EQUIVALENT, Conclusion.IMMATERIAL) for one in found) / sets
    assert wrong <= 0.05 + error(0.05, sets)


@pytest.mark.parametrize("number", range(2))
def test_notebooks_written_and_read_again_say_the_same(tmp_path, number):
    n, draw = 3, source("parquet", number)
    logs = noise("lognormal", draw, n)
    asked, plan, _ = scene(n)
    with Store.create(tmp_path, asked, plan, made.TEXT) as kept:
        for trial, log in zip(plan.trials, logs, strict=True):
            rate = round(1e6 * math.exp(log))
            kept.add(made.run(trial, phases=cli_notebook.phases(rate)), made.observations(rate))
        read = judged_anew(kept.folder)
    (found,) = read.comparisons
    known = compared(n, logs, 0.0)
    ends = [(one.ratio.value, one.ratio.low, one.ratio.high) for one in (found, known)]
    assert ends[0] == pytest.approx(ends[1], rel=1e-5)
    assert found.conclusion is known.conclusion
