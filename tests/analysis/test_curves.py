"""Curves and crossovers: late clients make a false one, and it is not believed."""

import math

import numpy as np
import pytest

import notebook_records as made
from assay.analysis.curves import Curve, NoCrossover, crossover, curves
from assay.errors import DamagedError
from assay.records import Observations

OBJECTS = tuple(range(100, 2001, 100))


def curve(time_of, active=lambda x: 2, seed=0):
    draw = np.random.default_rng(seed)
    return Curve(
        run="0001/1",
        workload="spool",
        operation="create",
        objects=tuple(map(float, OBJECTS)),
        time_per_operation_ns=tuple(time_of(x) * math.exp(draw.normal(0, 0.01)) for x in OBJECTS),
        active_clients=tuple(active(x) for x in OBJECTS),
        clients=2,
    )


def flat(x):
    return 1000.0


def rising(x):
    return 500.0 + x


def pairs_of(second, active=lambda x: 2, n=5):
    return [(curve(flat, seed=i), curve(second, active, seed=100 + i)) for i in range(n)]


def test_two_curves_that_cross():
    found = crossover(pairs_of(rising))
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 500 <= found.high
    assert found.high - found.low < 400
    assert found.unsupported is None


def test_late_clients_make_no_crossover():
    """Up to 700 objects the second system had one client only and looked fast; with both it is slower all along."""

    def helped(x):
        return 800.0 if x <= 700 else 1300.0

    assert crossover(pairs_of(helped)).low is not None, "were all clients there, this would be a crossover"
    found = crossover(pairs_of(helped, active=lambda x: 1 if x <= 700 else 2))
    assert (found.low, found.high) == (None, None)
    assert found.unsupported is not None


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        (pairs_of(rising, n=2), NoCrossover.FEW_PAIRS),
        (pairs_of(lambda x: 1500.0), NoCrossover.NO_CHANGE),
        (pairs_of(flat), NoCrossover.NO_CHANGE),
        (pairs_of(rising, active=lambda x: 1), NoCrossover.NEVER_ALL_CLIENTS),
        (pairs_of(lambda x: 1000 + 300 * math.sin(x / 200)), NoCrossover.SEVERAL_CHANGES),
    ],
)
def test_what_supports_no_crossover(pairs, why):
    found = crossover(pairs)
    assert found.low is None
    assert found.unsupported is why


def checkpoints(first_ns, last_ns, subject):
    at = [first_ns + (last_ns - first_ns) * step // 10 for step in range(1, 11)]
    return (
        made.series("create.count", at, [100.0 * step for step in range(1, 11)], subject),
        made.series("create.busy_ns", at, [1e6 * step for step in range(1, 11)], subject),
    )


def test_curves_are_taken_from_checkpoints_and_say_who_was_active():
    asked = made.experiment()
    plan = made.plan(asked)
    early, late = made.client(0, 0, 10**9), made.client(1, 5 * 10**8, 15 * 10**8)
    runs = [made.judged(made.run(t, phases=[made.phase([early, late])]), {}) for t in plan.trials[:2]]
    series = (*checkpoints(0, 10**9, "client:0"), *checkpoints(5 * 10**8, 15 * 10**8, "client:1"))

    def load(run):
        if run == "0002/1":
            raise DamagedError("cut")
        return Observations(series=series)

    (found,) = curves(runs, load)
    assert (found.run, found.workload, found.operation, found.clients) == ("0001/1", "spool", "create", 2)
    assert found.time_per_operation_ns == pytest.approx([1e4] * len(found.objects))
    assert set(found.active_clients) == {1}, "in every bin one of the two made its step alone"
    assert found.solid() == []
    together = (*checkpoints(0, 10**9, "client:0"), *checkpoints(0, 10**9, "client:1"))
    both = made.judged(made.run(plan.trials[0], phases=[made.phase([early, made.client(1, 0, 10**9)])]), {})
    (found,) = curves([both], lambda run: Observations(series=together))
    assert set(found.active_clients) == {2}
    assert len(found.solid()) == 10
