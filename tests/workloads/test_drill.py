"""The plug `drill`: appends by an open loop, then each client looks for its own records and for the next client's."""

from dataclasses import replace

import pytest

from assay.answer.wording.drill import _appended
from assay.catalogue import Order, Pace
from assay.errors import InputErrors
from assay.experiment import read
from assay.measures.drill import away_ns, backlog_ns, drill_figure, up_share
from assay.records import (
    Client,
    Direction,
    DrillEnd,
    Endpoint,
    EndpointKind,
    FurtherAway,
    Outcome,
    Phase,
    Role,
    StopRule,
    TimeAway,
    WorkloadSpec,
)
from assay.workloads.drill import WORKLOAD
from stage.rows import each
from stage.trial_stage import HURRY, Laboratory

SECOND = 10**9


def plans(clients=1, **knobs):
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=f"/x/{client}") for client in range(clients))
    return WORKLOAD.phases(Order(workload="d", knobs=knobs, endpoints=endpoints, seed=1, token="t" * 32))


def test_it_appends_and_then_looks_for_its_own_records():
    append, check = plans()
    assert (append.name, append.stop, append.is_drained) == ("append", StopRule.TIME, False)
    assert dict(append.directions) == {"append": Direction.WRITE}
    assert append.settings[0]["load"]["rate"] == 100
    assert append.data_files == (), "nothing of the lab may touch a mount that hangs"
    assert not check.is_first, "a wait for quiet flushes"
    for name in ("path", "journal", "token"):
        assert append.settings[0][name] == check.settings[0][name]
    assert append.settings[0]["journal"].startswith("{scratch}/")


def test_records_seen_from_the_other_mount_are_a_measure_where_clients_is_a_factor():
    text = """title = "T"
[targets.t]
kind = "sftp_openssh"
[workloads.d]
kind = "drill"
[factors]
clients = [{}]
[measures]
"d.check_other.lost" = {{}}
"""
    assert [one.name for one in read.parse(text.format(2), "x.toml").measures] == ["d.check_other.lost"]
    with pytest.raises(InputErrors, match="check_other"):
        read.parse(text.format(1), "x.toml")


def test_with_several_clients_each_looks_for_the_next_ones_records_from_its_own_mount():
    append, check, other = plans(3)
    assert len({one["path"] for one in append.settings}) == 3
    assert [one["path"] for one in check.settings] == [one["path"] for one in append.settings]
    assert [one["path"] for one in other.settings] == ["/x/0/d-records-1", "/x/1/d-records-2", "/x/2/d-records-0"]
    assert [one["token"][-1] for one in other.settings] == ["1", "2", "0"]
    assert set(WORKLOAD.operations({"clients": 3})) == {"append", "check", "check_other"}
    assert set(WORKLOAD.operations({})) == {"append", "check"}


@each(
    "knobs says",
    ({"retry": 20 * SECOND}, "retry above deadline"),
    ({"schedule": ("soon",)}, "'soon'"),
    ({"schedule": ("1 s at 5 /s",), "duration": SECOND}, "schedule with duration"),
    ({"schedule": ("1 s at 5 /s",), "rate": 5}, "rate with schedule"),
)
def test_mistakes_between_knobs_are_named(knobs, says):
    assert any(says in mistake for mistake in WORKLOAD.check(knobs))


def test_space_and_time_follow_the_load():
    assert WORKLOAD.check({}) == ()
    assert WORKLOAD.space({"rate": 10, "duration": 2 * SECOND, "record_size": 1000}) == 20_000
    assert WORKLOAD.space({"schedule": ("2 s at 10 /s", "1 s pause")}) == 20 * 4096
    assert WORKLOAD.seconds({"duration": 10 * SECOND}, Pace()) == pytest.approx(12)


def phase(*outages):
    client = Client(
        index=0,
        host="local",
        pid=1,
        role=Role.LOAD,
        workers=1,
        armed_ns=0,
        started_ns=0,
        first_ns=0,
        last_ns=10 * SECOND,
        stopped_by="time",
        operations=(),
        cost=None,
        drill=DrillEnd(acknowledged=5, outages=outages),
    )
    return Phase(
        name="d.append",
        workload="d",
        measured=True,
        operations=("append",),
        directions={"append": Direction.WRITE},
        cache_asked="unchanged",
        hosts=(),
        start_ns=0,
        end_ns=9 * SECOND,
        due_ns=10 * SECOND,
        stop=StopRule.TIME,
        flush_in_clock=True,
        clients=(client,),
    )


def test_the_time_away_and_the_backlog_are_told_apart_also_beyond_what_is_kept():
    one = phase(TimeAway(from_ns=2 * SECOND, to_ns=4 * SECOND, caught_up_ns=5 * SECOND))
    assert (away_ns(one), backlog_ns(one), up_share(one)) == (2 * SECOND, SECOND, pytest.approx(0.8))
    never = phase(TimeAway(from_ns=2 * SECOND, to_ns=4 * SECOND), TimeAway(from_ns=6 * SECOND))
    assert away_ns(never) == 6 * SECOND, "from 6 s until the end of the schedule"
    assert backlog_ns(never) == 6 * SECOND
    assert (away_ns(phase()), backlog_ns(phase()), up_share(phase())) == (0, 0, 1)
    kept = TimeAway(from_ns=SECOND, to_ns=2 * SECOND, caught_up_ns=3 * SECOND)
    one = of_drill(outages=(kept,), further=FurtherAway(count=500, away_ns=3 * SECOND, backlog_ns=4 * SECOND))
    assert (away_ns(one), backlog_ns(one), up_share(one)) == (4 * SECOND, 4 * SECOND, pytest.approx(0.6))
    text = "\n".join(_appended(one, one.clients[0], one.clients[0].drill))
    assert "away 500 further times, 3 s in all; longest backlog 4 s" in text


def of_drill(**counts):
    one = phase()
    return replace(one, clients=(replace(one.clients[0], drill=DrillEnd(acknowledged=9, **counts)),))


def test_records_that_cannot_be_read_are_not_called_lost():
    figures = ("lost", "changed", "unreadable")
    assert [drill_figure(of_drill(intact=9), name) for name in figures] == [0, 0, 0]
    assert [drill_figure(of_drill(intact=6, lost=2, changed=1), name) for name in figures] == [2, 1, 0]
    assert [drill_figure(of_drill(intact=4, unreadable=5), name) for name in figures] == [None, None, 5], "nobody knows"
    assert [drill_figure(of_drill(intact=2, lost=2, unreadable=5), name) for name in figures] == [2, None, 5]


def test_it_runs_in_the_fleet(tmp_path):
    stage = Laboratory(tmp_path)
    spec = WorkloadSpec(name="d", kind="drill", knobs={"rate": 200, "duration": SECOND, "clients": 2, **HURRY})
    run, _ = stage.conduct(spec, clients=2)
    assert run.outcome is Outcome.FINISHED, run.error
    assert [one.name for one in run.phases] == ["d.append", "d.check", "d.check_other"]
    noted = [client.drill.acknowledged for client in run.phases[0].clients]
    for found in run.phases[1:]:
        assert [client.drill.bad for client in found.clients] == [0, 0]
        assert sorted(client.drill.intact for client in found.clients) == sorted(noted)
    assert list(stage.scratch.iterdir()) == [], "the journals are outside the target, and removed with the trial"
