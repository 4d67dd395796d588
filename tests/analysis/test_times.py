"""Where the time of each phase went at each combination of levels, over its runs, and what the limit was."""

from dataclasses import replace

import pytest

from assay.analysis import times
from assay.analysis.cells import cells
from assay.answer.wording import time_spent
from assay.errors import DamagedError
from assay.records import Cause, Missing, Observations, VerdictState
from stage import notebook_records as made
from stage.comparison_cases import no_evidence
from stage.time_cases import counted, course, series

ASKED = made.experiment(measures=(made.RATE,))
PLAN = made.plan(ASKED, 4)
RUNS = [made.judged(made.run(trial), {made.RATE: 100.0 + trial.block}) for trial in PLAN.trials]
TABLE = cells(ASKED, PLAN, RUNS, no_evidence)


def evidence(flush_of, *, server=None):
    """What looks at the threads of each run say: `flush_of` gives the share of flushes of its trial, None without looks."""
    by_id = {one.id: one for one in RUNS}

    def load(run):
        trial = by_id[run].run.trial
        phase = next(one for one in by_id[run].run.phases if one.measured)
        share, length_s = flush_of(trial), (phase.end_ns - phase.start_ns) / 1e9
        if share is None:
            why = Missing(host="local", phase=phase.name, key="time.share", reason="hidden")
            return Observations(missing=(why,))
        groups = {"load": counted(course({("fio", "running"): 1 - share, ("fio", "flush"): share}, seed=trial.id))}
        if server:
            groups["server"] = counted(course(server, seed=trial.id))
        return Observations(series=tuple(replace(one, host="local") for one in series(length_s, phase.name, **groups)))

    return load


def found(flush_of, **how):
    """Level -> where its time went."""
    return {one.levels["target"]: one for one in times.spent(ASKED, TABLE, RUNS, evidence(flush_of, **how))}


def test_each_cell_has_its_own_limit():
    both = found(lambda trial: 0.9 if trial.levels["target"] == "xfs" else 0.1)
    assert {level: (one.limit.cause, one.alike, one.of) for level, one in both.items()} == {
        "ext4": (Cause.CPU, 4, 4),
        "xfs": (Cause.FLUSH, 4, 4),
    }
    assert all(one.state is VerdictState.SOUND and one.measures == (made.RATE,) for one in both.values())
    shares = {part.state: part.share for part in both["xfs"].load}
    assert shares == {"flush": pytest.approx(0.9), "running": pytest.approx(0.1)}


def test_runs_that_differ_leave_it_unverified_and_widen_the_interval():
    same = found(lambda trial: 0.9)["xfs"]
    mixed = found(lambda trial: 0.9 if trial.block % 4 else 0.2)["xfs"]
    assert (mixed.limit.cause, mixed.alike, mixed.of, mixed.state) == (Cause.FLUSH, 3, 4, VerdictState.UNVERIFIED)
    assert mixed.load[0].error > 4 * same.load[0].error
    assert "in 3 of 4 runs" in time_spent.of_runs(mixed)


def test_a_share_near_a_half_is_unverified():
    near = found(lambda trial: 0.52)["xfs"]
    assert (near.limit.cause, near.state) == (Cause.FLUSH, VerdictState.UNVERIFIED)


def test_nothing_had_most_of_the_time():
    even = times.spent(ASKED, TABLE, RUNS, evidence(lambda trial: 0.5))
    assert all(one.limit is None and one.state is VerdictState.UNVERIFIED for one in even)


def test_the_reason_is_kept_where_nobody_could_look():
    one = found(lambda trial: None)["xfs"]
    assert (one.runs, one.missing, one.limit, one.state) == (0, "hidden", None, VerdictState.UNVERIFIED)
    assert "hidden" in time_spent.of_runs(one)


def test_looks_of_some_runs_do_not_speak_for_all():
    some = found(lambda trial: 0.9 if trial.block % 4 else None)["xfs"]
    assert (some.runs, some.of, some.alike, some.state) == (3, 4, 3, VerdictState.UNVERIFIED)


def test_nothing_is_said_where_nobody_looked_or_evidence_is_damaged():
    assert times.spent(ASKED, TABLE, RUNS, lambda run: Observations()) == ()

    def damaged(run):
        raise DamagedError(run)

    assert times.spent(ASKED, TABLE, RUNS, damaged) == ()


def test_the_server_has_its_own_parts():
    one = found(lambda trial: 0.9, server={("slapd", "sleep"): 1.0})["ext4"]
    assert [(part.process, part.state) for part in one.server] == [("slapd", "sleep")]
