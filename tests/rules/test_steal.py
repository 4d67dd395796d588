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
from noise_cases import phase, run, series, trial_case
from observer_looks import look

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


@pytest.mark.parametrize(
    ("share", "state", "severity"),
    [
        (0.0, State.PASS, Severity.QUALIFIES),
        (0.009, State.PASS, Severity.QUALIFIES),
        (0.02, State.FAIL, Severity.QUALIFIES),
        (0.11, State.FAIL, Severity.INVALIDATES),
    ],
)
def test_a_little_steal_passes_more_qualifies_much_invalidates(share, state, severity):
    finding = judged(lambda at: at * 2e9 * share)
    assert (finding.state, finding.severity) == (state, severity)
    assert finding.observed["steal_share"] == pytest.approx(share, abs=0.001)


def test_one_bad_second_is_enough():
    finding = judged(lambda at: 0.15e9 if at >= 5 else 0.0)
    assert finding.observed["steal_share"] == pytest.approx(0.0075, abs=0.001)
    assert finding.observed["worst_second_share"] == pytest.approx(0.07)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.QUALIFIES)
    assert "worst second" in finding.statement


def test_steal_outside_the_clock_does_not_count():
    assert judged(lambda at: 5e9 if at > 10 else 0.0).state is State.PASS


def test_one_tick_of_steal_in_a_short_phase_is_within_the_uncertainty():
    points = (("total_ns", 0.0, 120e6), ("steal_ns", 0.0, 10e6), ("cpus", 2.0, 2.0))
    short = tuple(series("cpu", metric, [(-0.05, before), (0.01, after)]) for metric, before, after in points)
    assert RULE.check(trial_case("N02", run(of=phase(0.01)), Observations(series=short))).state is State.PASS


def test_waiting_threads_count_unless_they_are_more_than_the_processors():
    waits = judged(lambda at: 0.0, waited=0.2)
    assert waits.state is State.FAIL
    assert "waited for a CPU" in waits.statement
    crowded = judged(lambda at: 0.0, waited=0.2, workers=3)
    assert (crowded.state, crowded.observed["run_delay_share"]) == (State.PASS, None)


def test_waiting_after_the_clock_is_not_held_against_the_run():
    late = series("process", "run_delay_ns", [(-1, 0.0), (0.1, 0.09e9)], subject="pid:4242")
    host = (("total_ns", 0.0, 2e9), ("steal_ns", 0.0, 0.0), ("cpus", 2.0, 2.0))
    times = [series("cpu", metric, [(-1, before), (0.1, after)]) for metric, before, after in host]
    observations = Observations(series=(late, *times))
    finding = RULE.check(trial_case("N02", run(of=phase(0.01)), observations))
    assert (finding.state, finding.observed["run_delay_share"]) == (State.PASS, 0.0)


def test_waiting_before_the_clock_is_not_held_against_the_run():
    early = series("process", "run_delay_ns", [(-0.1, 0.0), (0.01, 0.09e9)], subject="pid:4242")
    host = (("total_ns", 0.0, 0.22e9), ("steal_ns", 0.0, 0.0), ("cpus", 2.0, 2.0))
    times = [series("cpu", metric, [(-0.1, before), (0.01, after)]) for metric, before, after in host]
    finding = RULE.check(trial_case("N02", run(of=phase(0.01)), Observations(series=(early, *times))))
    assert (finding.state, finding.observed["run_delay_share"]) == (State.PASS, 0.0)


def test_without_the_processors_time_nothing_is_said():
    finding = RULE.check(
        trial_case("N02", run(), Observations(missing=missing_on("local", None, {"cpu.steal_ns": "no /proc/stat"})))
    )
    assert finding.state is State.UNVERIFIED
    assert "no /proc/stat" in finding.statement


@given(st.lists(st.floats(0, 1), min_size=len(TICKS), max_size=len(TICKS)))
def test_the_worst_second_is_never_better_than_the_whole(shares):
    taken = {at: sum(shares[: index + 1]) * 2e9 for index, at in enumerate(TICKS)}
    observed = judged(lambda at: taken[at]).observed
    assert observed["worst_second_share"] >= observed["steal_share"] - 0.005


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
