"""Curves over the number of objects: taken from checkpoints, with the clients that were active; damaged evidence has none."""

import pytest

from assay.errors import DamagedError
from assay.laboratory.pages import curves
from assay.records import Observations
from stage import notebook_records as made


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
    together = (*checkpoints(0, 10**9, "client:0"), *checkpoints(0, 10**9, "client:1"))
    both = made.judged(made.run(plan.trials[0], phases=[made.phase([early, made.client(1, 0, 10**9)])]), {})
    (found,) = curves([both], lambda run: Observations(series=together))
    assert set(found.active_clients) == {2}
    assert len(found.objects) == 10
