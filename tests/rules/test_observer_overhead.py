"""E04: what looking took of a processor, by the lab's own account; what else costs is seen by pairs alone."""

import pytest

from assay.audit.judge import examine
from assay.records import Observations, State
from assay.rules.observer_overhead import RULE
from noise_cases import phase, run, series, trial_case

MS = 1_000_000


def judged(*found, seconds=10.0):
    return examine(RULE, trial_case("E04", run(of=phase(seconds)), Observations(series=found)))


def looks(*points, subject=""):
    return series("lab", "cpu_ns", list(points), subject=subject, source="sampler")


@pytest.mark.parametrize(("spent_ms", "state"), [(5, State.PASS), (200, State.PASS), (201, State.FAIL), (5000, State.FAIL)])
def test_more_than_two_per_cent_of_a_processor_is_too_much(spent_ms, state):
    assert judged(looks((-0.1, 0), (0.5, 0), (9.9, spent_ms * MS))).state is state


def test_looks_before_and_after_the_clock_are_no_cost_to_it():
    finding = judged(looks((-0.2, 300 * MS), (-0.1, 900 * MS), (5, 901 * MS), (10.1, 1900 * MS)))
    assert (finding.state, finding.observed["cpu_ns"]) == (State.PASS, MS)


def test_a_phase_without_a_look_inside_cost_nothing():
    assert judged(looks((-0.1, 5 * MS), (10.2, 12 * MS))).observed["cpu_share"] == 0


def test_a_program_beside_the_phase_counts_from_edge_to_edge_and_is_named():
    finding = judged(looks((-0.1, 0), (10.1, 0)), looks((-0.1, 40 * MS), (10.1, 540 * MS), subject="observer:tracepoints"))
    assert finding.state is State.FAIL
    assert "5 %" in finding.statement
    assert "tracepoints included" in finding.statement


def test_without_an_account_it_is_not_known():
    finding = judged()
    assert finding.state is State.UNVERIFIED
    assert "lab.cpu_ns" in finding.statement


def test_another_phases_cost_is_not_this_ones():
    assert judged(looks((-0.1, 0), (9, 0))).observed["cpu_share"] == 0
    assert examine(RULE, trial_case("E04", run(of=phase(0.0)), Observations())).state is State.NOT_APPLICABLE
