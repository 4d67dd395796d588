"""Trials over an emulated path: what its delay does, what an event does, what is evidence; nothing is left of a killed lab."""

import os
import re

import pytest

from assay import catalogue, measures
from assay.hosts.local import Local
from assay.records import Action, Claim, Event, Experiment, Measure, Outcome, Path, PathSpec, TargetSpec, WorkloadSpec
from assay.trial.runner import TrialRunner
from assay.undo.ledger import Ledger
from stage.kill_moments import killed
from stage.sizes import few_and_many
from stage.trial_stage import HURRY, engine, trial

SECOND = 1_000_000_000
MS = 1_000_000
WAN = {"rate": 12_500_000, "delay": 5 * MS, "queue": 500_000, "framing": "ethernet"}
EXPERIMENT = """
title = "Killed"
repeats = 250
[paths.a]
rate = "50 Mbit/s"
delay = "2 ms"
queue = "100 kB"
[paths.b]
rate = "50 Mbit/s"
delay = "2 ms"
queue = "100 kB"
[targets.line]
kind = "line"
paths = ["a", "b"]
[workloads.w]
kind = "net_stream"
mptcp = true
duration = "1 s"
quiesce = "0 s"
"""

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")]


def conduct(tmp_path, *events, path=WAN, **knobs):
    kind = knobs.pop("kind", "net_rr")
    claim = Claim(path=Path.EMULATED)
    experiment = Experiment(
        title="t",
        question="q",
        targets=(TargetSpec(name="line", kind="line", knobs={"through": "wan"}),),
        workloads=(WorkloadSpec(name="n", kind=kind, knobs={**HURRY, **knobs}, events=events),),
        factors=(),
        measures=(Measure(workload="n", operation="transaction", figure="latency_max_ns", claim=claim),),
        paths=(PathSpec(name="wan", knobs=path),),
    )
    runner = TrialRunner(
        experiment=experiment,
        host=Local(),
        ledger=Ledger(tmp_path / "ledger"),
        scratch=str(tmp_path),
        engine=engine(),
        observers=(catalogue.find("observers", "line"),),
    )
    return runner.run(trial(clients=1), 1)


def figure(run, observations, name):
    found = measures.value(run, observations, Measure(workload="n", operation="transaction", figure=name))
    return found.value


def test_a_round_trip_takes_the_delay_and_the_line_says_what_it_did(tmp_path):
    run, observations = conduct(tmp_path, ops=50)
    assert run.outcome is Outcome.FINISHED, run.error
    assert figure(run, observations, "latency_p50_ns") >= 10 * MS
    carried = {one.subject: one.value[-1] for one in observations.over_time(run.phases[0].name, "line", "delivered_packets")}
    assert set(carried) == {"line:wan.up", "line:wan.down"}
    assert min(carried.values()) >= 50
    assert observations.fact("target.line") == "wan"
    assert run.places[0].address == "198.18.0.2"


def test_a_cut_is_waited_out_and_undone(tmp_path):
    cut = Event(phase="rr", at_ns=SECOND // 2, on="wan", action=Action.CUT, for_ns=SECOND)
    plan = catalogue.find("workloads", "net_rr")
    assert plan.engine == "net"
    name = phase_of(plan)
    run, observations = conduct(tmp_path, Event(**{**vars_of(cut), "phase": name}), duration=4 * SECOND, rate=50)
    assert run.outcome is Outcome.FINISHED, run.error
    assert figure(run, observations, "latency_max_ns") >= SECOND
    said = [fact.value for fact in observations.facts if fact.key.startswith("event.")]
    assert len(said) == 2
    assert "cut path wan for 1 s: exit status 0" in said[0]
    assert "mend path wan: exit status 0" in said[1]


def vars_of(event):
    return {name: getattr(event, name) for name in ("at_ns", "on", "action", "for_ns")}


def phase_of(workload):
    from assay.catalogue import Order
    from assay.records import Endpoint, EndpointKind

    knobs = catalogue.resolved(workload.knobs, {"clients": 1})
    end = Endpoint(kind=EndpointKind.SOCKET, address="127.0.0.1")
    return workload.phases(Order(workload="n", knobs=knobs, endpoints=(end,), seed=1))[0].name


def test_a_rate_of_a_path_holds_changes_and_comes_back(tmp_path):
    low, name = WAN["rate"] // 20, phase_of(catalogue.find("workloads", "net_stream"))
    event = Event(phase=name, at_ns=2 * SECOND, on="wan", action=Action.RATE, rate_bytes_per_s=low, for_ns=4 * SECOND)
    run, observations = conduct(tmp_path, event, kind="net_stream", message=65_536, duration=11 * SECOND)
    assert run.outcome is Outcome.FINISHED, run.error
    words = [fact.value for fact in observations.facts if fact.key.startswith("event.")]
    lower_s, back_s = sorted(float(re.match(r"at ([\d.]+) s: ", one)[1]) for one in words)
    (phase,) = run.phases
    (up,) = [one for one in observations.over_time(phase.name, "line", "delivered_bytes") if one.subject == "line:wan.up"]

    def rate(from_s, to_s):
        """What arrived between the first and the last look in that time, per second."""
        span = [phase.start_ns + round(at_s * SECOND) for at_s in (from_s, to_s)]
        seen = [(at, value) for at, value in zip(up.at_ns, up.value, strict=True) if span[0] <= at <= span[1]]
        return (seen[-1][1] - seen[0][1]) * SECOND / (seen[-1][0] - seen[0][0])

    before, lowered, after = rate(0, lower_s), rate(lower_s + 1, back_s), rate(back_s + 1, 11)
    assert before <= WAN["rate"] * 1.1
    assert lowered <= low * 1.1
    assert min(before, after) > 2 * low, "both ends move more than that where the path lets them"


@pytest.mark.slow
@few_and_many("points", 3, 50)
def test_nothing_is_left_of_a_lab_that_is_killed(bench, points):
    (bench.home / "e.toml").write_text(EXPERIMENT)
    assert len(list(killed(bench, points))) == points + 1
