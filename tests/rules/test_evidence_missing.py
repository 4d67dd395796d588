"""E01: what a claim needs and nobody saw; runs that were not finished."""

from dataclasses import replace

from assay.records import Claim, Missing, Observations, Outcome, State, Tier
from assay.rules.evidence_missing import RULE
from audit.case_builder import MIB, Made, Seen, case_of
from stage.rows import each
from stage.said import FAIL, INVALIDATES, PASS, UNVERIFIED, hold


def judged(**made):
    return RULE.check(case_of(Made(**made), "E01"))


def test_device_claim_needs_two_rungs():
    claim = Claim(tier=Tier.DEVICE)
    assert judged(claim=claim, seen=Seen(storage_bytes=1, lower_bytes=1)).state is State.PASS
    finding = judged(claim=claim, seen=Seen(storage_bytes=1), missing={"L9.read": "no block device was named"})
    assert finding.state is State.UNVERIFIED


def test_what_nobody_watched_is_unverified_whatever_is_claimed():
    why = {"watch": "the figures were imported from a.json"}
    for claim in (Claim(), Claim(tier=Tier.DEVICE)):
        finding = judged(claim=claim, seen=Seen(storage_bytes=1, lower_bytes=1), missing=why)
        assert finding.state is State.UNVERIFIED
        assert "a run of the tool under `assay stat`" in str(finding.advice)


def test_a_figure_of_busy_time_that_cannot_be_says_why():
    case = case_of(Made(figure="busy_ops_per_s"), "E01")
    assert RULE.check(case).state is State.PASS
    finding = RULE.check(replace(case, value=None))
    assert finding.state is State.UNVERIFIED


@each("operation words", ("read", "reads leave nothing to flush"), ("write", "no flush followed the last write"))
def test_a_rate_with_the_flush_says_that_nothing_was_flushed(operation, words):
    """It said that no operation had completed, beside a thousand of them."""
    case = case_of(Made(operation=operation, figure="synced_bytes_per_s", drain_s=None), "E01")
    finding = RULE.check(case)
    assert finding.state is State.UNVERIFIED
    assert finding.statement.startswith(f"No synced_bytes_per_s of {operation}: {words}")
    flushed = case_of(Made(operation="write", figure="synced_bytes_per_s", drain_s=0.1), "E01")
    assert RULE.check(flushed).state is State.PASS


def test_a_figure_of_a_host_that_is_missing_gives_its_reason():
    case = replace(case_of(Made(), "E01"), value=None)
    why = Missing(host="s", phase=None, key="observe.hits", reason="netstat: exit status 1")
    asked = replace(case, measure=replace(case.measure, figure="@s.observe.hits.max"), everywhere=Observations(missing=(why,)))
    assert "host s gave no observe.hits: netstat: exit status 1" in RULE.check(asked).statement
    bare = replace(asked, measure=replace(case.measure, figure="@c.1.cpu_share"))
    assert "host c.1 gave no cpu.total_ns beside the operations" in RULE.check(bare).statement


def test_states():
    hold(
        ("as is needs no rung", judged(), PASS),
        ("unfinished run is invalid", judged(outcome=Outcome.PARTIAL, error="client 1 was lost"), FAIL, INVALIDATES),
        "no value is unverified",
        (judged(count=0), UNVERIFIED),
        (judged(seen=Seen(storage_bytes=MIB), figure="latency_p99_ns", timed=0), UNVERIFIED),
    )
