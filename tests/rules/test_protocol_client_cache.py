"""T09: more operations than requests, as many, and where nobody counted."""

import pytest

from assay.records import Claim, Severity, State, Tier
from assay.rules.protocol_client_cache import RULE
from audit.case_builder import Made, case_of
from server_cases import served

SERVER = Claim(tier=Tier.SERVER_CACHE)


def judged(done, requests, claim=SERVER, **more):
    values = {"read.count": float(done), "read.ops_per_s": float(done)} if done else {"read.ops_per_s": 5.0}
    gauges = {} if requests is None else {"requests": (7, 7 + requests)}
    return RULE.check(served("T09", gauges=gauges, claim=claim, values=values, **{"figure": "ops_per_s", **more}))


def test_answers_of_the_client_are_not_those_of_the_server():
    found = judged(500, 20)
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.bound.high == pytest.approx(20)
    assert judged(500, 0).bound.high == 0


def test_under_no_claim_it_is_a_note():
    found = judged(500, 20, claim=Claim())
    assert (found.severity, found.bound) == (Severity.NOTES, None)


@pytest.mark.parametrize("requests", [477, 500, 900])
def test_a_request_for_each_operation_passes(requests):
    assert judged(500, requests).state is State.PASS


def test_uncounted_operations_or_requests_are_unverified():
    assert judged(None, 20).state is State.UNVERIFIED
    found = judged(500, None)
    assert found.state is State.UNVERIFIED
    assert "server.requests" in found.statement


def test_operations_of_our_own_engines_count_too():
    assert RULE.check(served("T09", gauges={"requests": (0, 10)}, claim=SERVER)).state is State.FAIL
    assert RULE.applies(case_of(Made(), "T09")) == "the target names no server"
