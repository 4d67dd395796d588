import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.hosts.local import Local
from assay.observers.cpu import OBSERVER
from assay.records import Edge, Observations, Severity, State, Subject, missing_on
from assay.rules.steal import RULE
from stage.noise_cases import phase, run, series, trial_case
from stage.observer_looks import look
from stage.rows import each
from stage.said import FAIL, PASS, QUALIFIES, UNBOUNDED, UNVERIFIED, high, hold

TICKS = range(-1, 12)


def judged(steal, *, total=None, cpus=2.0, waited=0.0, workers=1):
    """`steal` gives the stolen ns up to each second; two processors have 2 s each second."""
    of = phase(workers=workers)
    observations = Observations(
        series=(
            series("cpu", "steal_ns", [(at, steal(at)) for at in TICKS]),
            series("cpu", "total_ns", [(at, total(at) if total else at * 2e9) for at in TICKS]),
            series("cpu", "cpus", [(at, cpus) for at in TICKS]),
            series("process", "run_delay_ns", [(at, at * waited * 1e9) for at in TICKS], subject="pid:4242"),
        )
    )
    return RULE.check(trial_case("N02", run(of=of), observations))


@each(
    "share state severity",
    (0.0, State.PASS, Severity.QUALIFIES),
    (0.009, State.PASS, Severity.QUALIFIES),
    (0.03, State.FAIL, Severity.NOTES),
    (0.11, State.FAIL, Severity.QUALIFIES),
    (0.60, State.FAIL, Severity.QUALIFIES),
)
def test_steal_counts_by_what_it_can_have_taken_from_the_load(share, state, severity):
    finding = judged(lambda at: at * 2e9 * share, workers=2)
    assert (finding.state, finding.severity) == (state, severity)
    assert finding.observed["steal_share"] == pytest.approx(share, abs=0.001)
    if severity is Severity.QUALIFIES and state is State.FAIL:
        assert finding.bound.low == 50e6
        assert finding.bound.high == pytest.approx(50e6 / (1 - share), rel=0.01)


def test_waiting_threads_count_unless_they_are_more_than_the_processors():
    waits = judged(lambda at: 0.0, waited=0.2)
    assert (waits.state, waits.severity) == (State.FAIL, Severity.QUALIFIES)
    assert waits.bound.high == pytest.approx(50e6 / 0.8)
    crowded = judged(lambda at: 0.0, waited=0.2, workers=3)
    assert (crowded.state, crowded.observed["run_delay_share"]) == (State.PASS, None)


@given(st.floats(0, 0.9), st.floats(0, 0.9))
def test_more_waiting_never_has_less_effect(one, other):
    less, more = sorted((one, other))
    assert (
        judged(lambda at: 0.0, waited=less).observed["effect_share"]
        <= judged(lambda at: 0.0, waited=more).observed["effect_share"]
    )


def burner() -> subprocess.Popen:
    code = (
        "import os, sys, time\n"
        f"os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}})\n"
        "print(flush=True); sys.stdin.readline()\n"
        "while time.process_time() < 0.4: pass\n"
        "print(flush=True); sys.stdin.readline()"
    )
    return subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def told(child: subprocess.Popen) -> None:
    child.stdin.write(b"\n")
    child.stdin.flush()


def test_two_real_processes_on_one_processor_wait_for_each_other():
    with burner() as ours, burner() as other:
        ours.stdout.readline()
        other.stdout.readline()
        subject, host = Subject(pids=(ours.pid,)), Local()
        start = host.monotonic_ns()
        armed = look(OBSERVER, host, subject, Edge.ARMED, 0)
        told(other)
        told(ours)
        ours.stdout.readline()
        seconds = (host.monotonic_ns() - start) / 1e9
        last = look(OBSERVER, host, subject, Edge.LAST, seconds)
        other.stdout.readline()
        told(ours)
        told(other)
    evidence = OBSERVER.parse("local", "write", [armed, last], subject)
    of = run(of=phase(seconds, pid=ours.pid))
    finding = RULE.check(trial_case("N02", of, Observations(series=evidence.series)))
    assert finding.state is State.FAIL
    assert finding.observed["run_delay_share"] > 0.1


def test_states():
    hold(
        "all stolen time may have been of the one worker",
        (judged(lambda at: at * 2e9 * 0.2), high(pytest.approx(50e6 / 0.6, rel=0.01))),
        ("steal outside the clock does not count", judged(lambda at: 5e9 if at > 10 else 0.0), PASS),
        "one tick of steal in a short phase is within the uncertainty",
        (
            RULE.check(
                trial_case(
                    "N02",
                    run(of=phase(0.01)),
                    Observations(
                        series=tuple(
                            series("cpu", metric, [(-0.05, before), (0.01, after)])
                            for metric, before, after in (("total_ns", 0.0, 120e6), ("steal_ns", 0.0, 10e6), ("cpus", 2.0, 2.0))
                        )
                    ),
                )
            ),
            UNVERIFIED,
        ),
        "a load that waited all the time has no bound",
        (judged(lambda at: 0.0, waited=1.0), FAIL, QUALIFIES, UNBOUNDED, "unknown"),
        "without the processors time nothing is said",
        (
            RULE.check(
                trial_case("N02", run(), Observations(missing=missing_on("local", None, {"cpu.steal_ns": "no /proc/stat"})))
            ),
            UNVERIFIED,
            "no /proc/stat",
        ),
    )
