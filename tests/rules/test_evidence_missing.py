"""E01: what a claim needs and nobody saw; runs that were not finished."""

from dataclasses import replace

import pytest

from assay.records import Claim, Missing, Observations, Outcome, Severity, State, Tier
from assay.rules.evidence_missing import RULE
from audit.case_builder import MIB, Made, Seen, case_of


def judged(**made):
    return RULE.check(case_of(Made(**made), "E01"))


def test_as_is_needs_no_rung():
    assert judged().state is State.PASS


def test_device_claim_needs_two_rungs():
    claim = Claim(tier=Tier.DEVICE)
    assert judged(claim=claim, seen=Seen(storage_bytes=1, lower_bytes=1)).state is State.PASS
    finding = judged(claim=claim, seen=Seen(storage_bytes=1), missing={"L9.read": "no block device was named"})
    assert finding.state is State.UNVERIFIED
    assert "2 of L2.read, L9.read, page_cache.cached_bytes" in finding.statement
    assert "no block device was named" in finding.statement


def test_what_nobody_watched_is_unverified_whatever_is_claimed():
    why = {"watch": "the figures were imported from a.json"}
    for claim in (Claim(), Claim(tier=Tier.DEVICE)):
        finding = judged(claim=claim, seen=Seen(storage_bytes=1, lower_bytes=1), missing=why)
        assert finding.state is State.UNVERIFIED
        assert finding.statement == "Nobody watched the run: the figures were imported from a.json."
        assert "a run of the tool under `assay stat`" in str(finding.advice)


def test_unfinished_run_is_invalid():
    finding = judged(outcome=Outcome.PARTIAL, error="client 1 was lost")
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert "client 1 was lost" in finding.statement


def test_no_value_is_unverified():
    assert judged(count=0).state is State.UNVERIFIED
    assert judged(seen=Seen(storage_bytes=MIB), figure="latency_p99_ns", timed=0).state is State.UNVERIFIED


def test_a_figure_of_busy_time_that_cannot_be_says_why():
    case = case_of(Made(figure="busy_ops_per_s"), "E01")
    assert RULE.check(case).state is State.PASS
    finding = RULE.check(replace(case, value=None))
    assert finding.state is State.UNVERIFIED
    assert "no busy time with several requests in flight" in finding.statement
    assert "no operation completed" in RULE.check(replace(case_of(Made(count=0), "E01"), value=None)).statement


@pytest.mark.parametrize(
    ("operation", "words"), [("read", "reads leave nothing to flush"), ("write", "no flush followed the last write")]
)
def test_a_rate_with_the_flush_says_that_nothing_was_flushed(operation, words):
    """It said that no operation had completed, beside a thousand of them."""
    case = case_of(Made(operation=operation, figure="synced_bytes_per_s", drain_s=None), "E01")
    finding = RULE.check(case)
    assert finding.state is State.UNVERIFIED
    assert finding.statement.startswith(f"No synced_bytes_per_s of {operation}: {words}")
    assert finding.statement.endswith("sk for bytes_per_s.")
    assert "no operation completed" not in finding.statement
    flushed = case_of(Made(operation="write", figure="synced_bytes_per_s", drain_s=0.1), "E01")
    assert RULE.check(flushed).state is State.PASS


def test_a_figure_of_a_host_that_is_missing_gives_its_reason():
    case = replace(case_of(Made(), "E01"), value=None)
    why = Missing(host="s", phase=None, key="observe.hits", reason="netstat: exit status 1")
    asked = replace(case, measure=replace(case.measure, figure="@s.observe.hits.max"), everywhere=Observations(missing=(why,)))
    assert "host s gave no observe.hits: netstat: exit status 1" in RULE.check(asked).statement
    bare = replace(asked, measure=replace(case.measure, figure="@c.1.cpu_share"))
    assert "host c.1 gave no cpu.total_ns beside the operations" in RULE.check(bare).statement
