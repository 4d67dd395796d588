"""G04: failed operations, few, some and many; failed flushes; what an external tool tells; what is no failure."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.records import Claim, CoherenceEnd, CoherenceStep, Durability, EngineError, OperationTotal, Severity, State, Tier
from assay.rules.errors_hidden import RULE
from audit.case_builder import DIRECTIONS, Made, case_of
from stage.rows import each
from stage.said import ASKED, NOT_ASKED, PASS, QUALIFIES, hold


def case(*, kinds=(), failed_flushes=0, **made):
    """A client that failed in these ways: (operation, errno, count, what)."""
    found = case_of(Made(**{"count": 10_000, "record_bytes": 4096, **made}), "G04")
    errors = tuple(EngineError(operation=op, code=number, count=n, path="/x", what=what) for op, number, n, what in kinds)
    flush = OperationTotal(operation="flush", count=9, bytes=0, errors=failed_flushes, busy_ns=1, first_ns=0, last_ns=1)
    (client,) = found.phase.clients
    client = replace(client, errors=errors, operations=(*client.operations, flush))
    return replace(found, phase=replace(found.phase, clients=(client,), directions=DIRECTIONS))


@each("errors severity", (50, Severity.QUALIFIES), (500, Severity.INVALIDATES))
def test_some_qualify_and_many_invalidate(errors, severity):
    found = RULE.check(case(errors=errors, kinds=[("read", 5, errors, None)]))
    assert (found.state, found.severity, found.bound) == (State.FAIL, severity, None)
    assert f"({errors} times Input/output error at /x)" in found.statement


@given(st.integers(1, 100_000), st.integers(0, 100_000))
def test_the_share_decides(count, errors):
    found = RULE.check(case(count=count, errors=errors))
    share = errors / (errors + count)
    assert (found.state is State.PASS) == (share <= 0.001)
    assert (found.state is State.FAIL and found.severity is Severity.INVALIDATES) == (share > 0.01)


def test_a_record_that_is_not_what_was_written_is_no_failure():
    """The engine counts it as a failed operation too; E05 speaks of it."""
    found = RULE.check(case(errors=500, kinds=[("read", 84, 500, "verify")]))
    assert (found.state, found.observed["error_share"]) == (State.PASS, 0.0)


def looked_for(never, figure, errors=0):
    """A reader that looked five times for what a writer did, at most 5 s each."""
    step = CoherenceStep(
        tries=5, unprepared=0, seen=5 - never, never=never, stale=0, granted_twice=0, expected=0, lost=0,
        resolution_p50_ns=1, resolution_max_ns=1,
    )  # fmt: skip
    made = case(figure=figure, errors=errors)
    (client,) = made.phase.clients
    client = replace(client, coherence=CoherenceEnd(limit_ns=5 * 10**9, steps={"read": step}))
    return RULE.check(replace(made, phase=replace(made.phase, clients=(client,))))


def test_what_was_never_seen_took_at_least_so_long_as_it_was_looked_for():
    hold(
        ("some are never seen", looked_for(2, "latency_p50_ns"), State.FAIL, Severity.NOTES, "2 of 5 were not seen within 5 s"),
        ("all are seen", looked_for(0, "latency_p50_ns"), PASS),
        ("how often is the figure itself", looked_for(2, "never"), PASS),
        ("failures come first", looked_for(2, "latency_p50_ns", errors=5000), Severity.INVALIDATES),
    )


MEDIA = Claim(durability=Durability.STABLE_MEDIA)


@each("claim", MEDIA, Claim(tier=Tier.DEVICE))
def test_one_failed_flush_is_enough_where_the_claim_rests_on_it(claim):
    found = RULE.check(case(operation="write", claim=claim, failed_flushes=1))
    assert (found.state, found.severity) == (State.FAIL, Severity.INVALIDATES)
    assert found.relabel == "writes with a failed flush"


def test_a_external_tool_is_judged_by_what_it_tells():
    silent = case(values={"read.bytes_per_s": 1e6})
    assert "exit status 0" in RULE.applies(silent)
    told = {"read.bytes_per_s": 1e6, "read.count": 990.0, "read.errors": 10.0}
    assert RULE.applies(case(values=told)) is None
    assert RULE.check(case(values=told)).severity is Severity.QUALIFIES
    assert RULE.check(case(values={**told, "read.errors": 0.0})).state is State.PASS
    assert RULE.check(case(values={**told, "read.errors": 11.0})).severity is Severity.INVALIDATES


def test_states():
    hold(
        ("no failure passes", RULE.check(case()), PASS),
        ("a few are told and pass", RULE.check(case(errors=5, kinds=[("read", 5, 4, None), ("read", 4, 1, None)])), PASS),
        ("failures of another operation are not this ones", RULE.check(case(kinds=[("write", 5, 500, None)])), PASS),
        "a failed flush is nothing to a read nor without the claim",
        (RULE.check(case(operation="write", failed_flushes=1)), PASS),
        (RULE.check(case(operation="read", claim=Claim(tier=Tier.DEVICE), failed_flushes=1)), PASS),
        "the flushes themselves are judged by their share",
        (RULE.check(case(operation="flush", count=10_000, errors=50, claim=MEDIA)), QUALIFIES),
        "where failures are the figure it is not asked",
        (RULE.applies(case(figure="errors")), NOT_ASKED),
        (RULE.applies(case()), ASKED),
    )


def test_answers_of_another_length_may_be_failures():
    told = {"read.errors": 0.0, "read.count": 5000.0, "read.attempts": 5000.0}
    assert RULE.check(case_of(Made(values={**told, "read.doubtful": 4711.0}), "G04")).state is State.UNVERIFIED
    assert RULE.check(case_of(Made(values={**told, "read.doubtful": 1.0}), "G04")).state is State.PASS
    assert RULE.check(case_of(Made(values={**told, "read.errors": 4711.0}), "G04")).state is State.FAIL
    rates = {"read.errors": 0.0, "read.attempts": 100_000.0}
    assert RULE.check(case_of(Made(values={**rates, "read.doubtful": 10_000.0}), "G04")).state is State.UNVERIFIED


@each(
    "more error state words",
    ({}, "the command ended with status 8", State.UNVERIFIED, "The command ended with status 8: a part"),
    ({"read.errors": 1.0, "read.attempts": 1.0, "read.http_status": 404.0}, None, State.FAIL, "(HTTP status 404)"),
    (
        {"read.errors": 0.0, "read.attempts": 1.0, "read.count": 1.0, "read.doubtful": 1.0},
        None,
        State.UNVERIFIED,
        "curl may have",
    ),
    ({"read.errors": 0.0, "read.attempts": 1.0, "read.count": 1.0}, None, State.PASS, "No operation failed"),
)
def test_a_command_whose_bytes_were_seen(more, error, state, words):
    one = case_of(Made(values={"read.bytes": 9e6, **more}, knobs={"parse": "observed"}, error=error), "G04")
    assert RULE.applies(one) is None
    assert (RULE.check(one).state, words in RULE.check(one).statement) == (state, True)


@each(
    "answers state severity words",
    ({"seen": 200.0, "redirected": 200.0, "status": 301.0}, State.FAIL, Severity.QUALIFIES, "no page was sent (HTTP status 301)"),
    ({"seen": 200.0, "refused": 3.0, "status": 503.0}, State.FAIL, Severity.INVALIDATES, "pages of errors (HTTP status 503)"),
    ({"seen": 200.0, "empty": 200.0}, State.UNVERIFIED, None, "are empty"),
    ({"seen": 200.0, "redirected": 1.0, "status": 301.0}, State.PASS, None, "No operation failed"),
    ({"seen": 19.0, "redirected": 19.0}, State.UNVERIFIED, None, "360 B each"),  # too few: by their size
    ({}, State.UNVERIFIED, None, "360 B each"),
)  # fmt: skip
def test_what_a_load_generator_calls_a_success_may_be_no_page(answers, state, severity, words):
    told = {"read.count": 1000.0, "read.errors": 0.0, "request.count": 1000.0, "response.bytes": 360_000.0}
    found = RULE.check(case(values={**told, **{f"read.answers_{name}": value for name, value in answers.items()}}))
    assert (found.state, severity or found.severity) == (state, found.severity)
    assert words in found.statement
    assert RULE.check(case(values={**told, "response.bytes": 9e6})).state is State.PASS
