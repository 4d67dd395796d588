"""Why two arms differ: the part of the time of an operation that differs most, by pairs."""

from dataclasses import replace

import pytest

from assay.analysis import time_differences
from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.time_differences import Spent
from assay.answer.wording import time_spent
from assay.evidence.time_ladder import TimeLadder
from assay.records import Observations, TimePart
from stage import notebook_records as made
from stage.comparison_cases import no_evidence
from stage.time_cases import counted, course, series

MS = 1_000_000


def spent(ns, **shares):
    """An operation of so many ns, by states."""
    parts = [TimePart(process="fio", state=state, share=share, error=0.01, threads=share) for state, share in shares.items()]
    return Spent(found=TimeLadder(group="load", looks=400, parts=tuple(parts), fresh=0.0, connections=None), ns=ns)


def pair(times, flush):
    """4 ms an operation, half of it computing, against `times` as long, the rest of it in flushes."""
    computing = 2 / (4 * times)
    return spent(4 * MS, running=0.5, flush=0.5), spent(4 * MS * times, running=computing, flush=1 - computing, lock=flush)


def test_the_part_that_differs_most_is_found_with_its_interval():
    found = time_differences.most([pair(times, 0.0) for times in (1.9, 2.0, 2.1, 2.0)])
    assert (found.state, found.process, found.n) == ("flush", "fio", 4)
    assert found.difference_ns == pytest.approx(4 * MS)
    assert found.low_ns < 4 * MS < found.high_ns < 5 * MS
    assert found.whole_ns == pytest.approx(4 * MS)
    assert time_spent.difference("xfs", found).startswith(
        "why: of the 4 ms that each operation of xfs takes more, 4 ms are spent in flushes (95 % interval 3."
    )


def test_nothing_is_said_of_parts_that_may_not_differ_or_explain_little():
    assert time_differences.most([pair(times, 0.0) for times in (0.5, 2.0, 1.0, 0.7)]) is None
    small = [
        (spent(1000.0 * MS, running=0.5, flush=0.5), spent(1500.0 * MS, running=0.34, flush=0.33 + add)) for add in (0.0, 0.001)
    ]
    assert all(one is None or one.state != "lock" for one in [time_differences.most(small * 2)])


def test_comparisons_get_it_from_the_evidence_of_their_runs():
    asked = made.experiment(measures=(made.RATE,))
    plan = made.plan(asked, 4)
    values = {"ext4": 200.0, "xfs": 100.0}
    runs = [made.judged(made.run(t), {made.RATE: values[t.levels["target"]] * (1 + t.block / 1000)}) for t in plan.trials]
    table = cells(asked, plan, runs, no_evidence)
    (found,) = comparisons(asked, table, runs)
    by_id = {one.id: one for one in runs}

    def load(run):
        judged = by_id[run]
        (phase,) = [one for one in judged.run.phases if one.measured][:1]
        flush = 0.2 if judged.run.trial.levels["target"] == "ext4" else 0.6
        looks = counted(course({("fio", "running"): 1 - flush, ("fio", "flush"): flush}, seed=judged.run.trial.id))
        length_s = (phase.end_ns - phase.start_ns) / 1e9
        return Observations(series=tuple(replace(one, host="local") for one in series(length_s, phase.name, load=looks)))

    (one,) = time_differences.explained(asked, table, [found], runs, load)
    assert one.time is not None
    assert {one.time.state} <= {"flush", "running"}
    (without,) = time_differences.explained(asked, table, [found], runs, lambda run: Observations())
    assert without.time is None
