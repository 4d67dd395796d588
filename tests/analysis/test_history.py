"""A history finds the steps that were planted, seldom one where there is none, and says whether the newest value was expected."""

import math
import random
from dataclasses import replace

import pytest

from assay.analysis.history import NEWEST_ERROR, PastExecution, history
from assay.cli.history import judge
from assay.records import Cell, Estimate, Method, Results
from assay.units import Unit
from stage import notebook_records as made
from stage.sizes import chance, few_and_many


def execution(number, value, measure=made.RATE):
    """An execution of which one figure is known; None is none."""
    asked = made.experiment()
    estimate = None
    if value is not None:
        estimate = Estimate(
            value=value, low=value * 0.98, high=value * 1.02, confidence=0.95, unit=Unit.PER_S, n=5, method=Method.GEOMETRIC_MEAN
        )
    cell = Cell(measure=measure, levels={"target": "ext4"}, estimate=estimate, values={})
    results = Results(experiment=asked, plan=made.plan(asked), runs=(), cells=(cell,))
    return PastExecution(name=f"c{number}", started_utc=f"2026-01-{number + 1:02d}T00:00:00+00:00", results=results)


def series_of(values):
    (found,) = history([execution(number, value) for number, value in enumerate(values)])
    return found


def noisy(seed, count, step=1.0, at=20, spread=0.03):
    draw = random.Random(seed)
    return [1000 * math.exp(draw.gauss(0, spread)) * (step if place >= at else 1) for place in range(count)]


@few_and_many("sets", 40, 100)
def test_a_step_of_ten_per_cent_is_found_and_none_where_there_is_none(sets):
    found = [series_of(noisy(seed, 40, step=0.9)) for seed in range(sets)]
    assert sum(len(one.stretches) == 2 and abs(one.stretches[1].first - 20) <= 3 for one in found) >= 0.95 * sets
    changes = [one.stretches[-1].value / one.stretches[0].value for one in found]
    assert sum(changes) / sets == pytest.approx(0.9, abs=0.005)
    assert sum(len(series_of(noisy(seed, 40)).stretches) > 1 for seed in range(sets)) <= 0.05 * sets
    unexpected = sum(series_of(noisy(seed, 12)).is_unexpected for seed in range(10 * sets))
    assert unexpected / (10 * sets) <= NEWEST_ERROR + chance(NEWEST_ERROR, 10 * sets)


def test_one_bad_value_is_unexpected_before_it_is_a_step():
    found = series_of([*noisy(1, 10), 800.0])
    assert found.is_unexpected
    assert (found.now, len(found.stretches)) == (800.0, 1)
    assert found.level_at(0) == pytest.approx(1000, rel=0.03)
    assert series_of([*noisy(1, 3), 800.0]).expected is None


def test_executions_without_a_value_keep_their_place():
    values = noisy(2, 40, step=0.8)
    values[5] = values[30] = None
    found = series_of(values)
    assert [one.value is None for one in found.points].count(True) == 2
    assert (found.stretches[0].end, found.stretches[1].first, found.stretches[1].end) == (20, 20, 40)
    assert series_of([None, None]).stretches == ()
    asked = made.experiment()
    assert judge(asked, series_of([1000.0, 1010.0, 1005.0]), 0).word == "as before"
    lost = judge(asked, series_of([1000.0, 1010.0, None]), 0)
    assert (lost.word, lost.ratio, lost.is_worse) == ("unknown", None, False)
    both = [execution(0, 100.0), replace(execution(1, 200.0), name="late"), execution(2, 5.0, "files.create.latency_p50_ns")]
    found = {one.measure: [point.value for point in one.points] for one in history(both)}
    assert found == {made.RATE: [100.0, 200.0, None], "files.create.latency_p50_ns": [None, None, 5.0]}
    assert next(iter(found)) == "files.create.latency_p50_ns"
