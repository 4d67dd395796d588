"""T10: one key over all keys, as a rate and as a time, and where nobody repeats."""

from dataclasses import replace

import pytest

from assay.records import Claim, Severity, State, Tier, WorkloadSpec
from assay.rules.application_cache import RULE
from audit.case_builder import Made, case_of
from server_cases import served

DEVICE = Claim(tier=Tier.DEVICE)


def case(times, figure="ops_per_s", claim=DEVICE, own=1000.0, **made):
    """A read, and the same with one key that was so many times as large a figure."""
    found = served("T10", claim=claim, figure=figure, values={f"read.{figure}": own}, **made)
    again = replace(found.phase, name="again", workload="same", values={f"read.{figure}": own * times} if times else {})
    same = WorkloadSpec(name="same", kind="command", knobs={"variables.same_key_of": "w"})
    experiment = replace(found.experiment, workloads=(*found.experiment.workloads, same))
    return replace(found, run=replace(found.run, phases=(found.phase, again)), experiment=experiment)


def judged(*args, **kwargs):
    one = case(*args, **kwargs)
    assert RULE.applies(one) is None
    return RULE.check(one)


def test_one_key_that_is_answered_faster_shows_a_cache():
    found = judged(3.0)
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert "3.0 times as fast" in found.detail
    assert judged(3.0, claim=Claim()).severity is Severity.NOTES


def test_of_a_time_less_is_faster():
    assert judged(1 / 3, figure="elapsed_ns", own=1e9).state is State.FAIL
    assert judged(3.0, figure="elapsed_ns", own=1e9).state is State.PASS


@pytest.mark.parametrize(("times", "state"), [(0.5, State.PASS), (1.1, State.PASS), (1.3, State.UNVERIFIED)])
def test_what_makes_no_difference_passes_and_a_little_is_too_little_to_tell(times, state):
    assert judged(times).state is state


def test_without_its_figure_it_is_unverified():
    assert judged(None).state is State.UNVERIFIED


def test_a_claim_of_the_servers_storage_is_told_how_to_ask():
    found = RULE.check(served("T10", claim=DEVICE))
    assert found.state is State.UNVERIFIED
    assert 'variables.same_key_of = "w"' in found.statement


def test_it_is_asked_of_reads_that_are_repeated_and_not_of_the_repetition():
    assert RULE.applies(served("T10")) == "no workload repeats it with one key"
    assert RULE.applies(case_of(Made(claim=DEVICE), "T10")) == "no workload repeats it with one key"
    assert RULE.applies(served("T10", claim=DEVICE, operation="write")) == "neither a read nor a search"
    one = case(2.0)
    one = replace(one, measure=replace(one.measure, workload="same"))
    assert RULE.applies(one) == "the repetition with one key itself"
