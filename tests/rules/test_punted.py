"""L11: threads of the kernel at the requests, beside flushes, under claims and without one."""

from dataclasses import replace

from assay.records import Claim, Durability, OperationTotal, QueueTotal, Severity, State, Tier
from assay.rules.punted import RULE
from audit.case_builder import DIRECTIONS, Made, case_of
from stage.rows import each
from stage.said import ASKED, FAIL, NOT_ASKED, NOTES, PASS, UNVERIFIED, hold

DEVICE = Claim(tier=Tier.DEVICE)


def queue(threads):
    return QueueTotal(depth=16, registered=False, punted=threads > 0, punted_threads=threads, submissions=5)


def case(*threads, flushes=0, **made):
    """Clients that found so many threads of the kernel; None = one that used no ring."""
    found = case_of(Made(**{"operation": "write", "claim": DEVICE, "starts": (0.0,) * len(threads), **made}), "L11")
    flush = OperationTotal(operation="flush", count=flushes, bytes=0, errors=0, busy_ns=1, first_ns=0, last_ns=1)
    clients = tuple(
        replace(
            client,
            queue=None if seen is None else queue(seen),
            operations=(*client.operations, flush) if flushes else client.operations,
        )
        for client, seen in zip(found.phase.clients, threads, strict=True)
    )
    return replace(found, phase=replace(found.phase, clients=clients, directions=DIRECTIONS))


def test_no_threads_pass():
    found = RULE.check(case(0, 0))
    assert (found.state, found.observed["punted_threads"]) == (State.PASS, 0.0)


def test_threads_of_any_client_qualify_and_bound_the_rate_from_below():
    one = case(0, 3)
    found = RULE.check(one)
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert (found.bound.low, found.bound.high) == (one.value, None)


def test_a_latency_is_bounded_from_above():
    one = case(1, figure="latency_mean_ns")
    found = RULE.check(one)
    assert (found.bound.low, found.bound.high) == (None, one.value)


@each("claim", Claim(), Claim(durability=Durability.ACKED))
def test_what_is_said_to_be_of_no_layer_is_only_noted(claim):
    found = RULE.check(case(1, claim=claim))
    assert (found.state, found.severity) == (State.FAIL, Severity.NOTES)
    assert found.relabel == "by kernel worker threads (io-wq)"


def test_states():
    hold(
        "without a ring it is not asked",
        (RULE.applies(case(None, None)), NOT_ASKED),
        (RULE.applies(case(0)), ASKED),
        (RULE.applies(case(None, 0)), ASKED),
        "beside flushes in the ring nothing can be told of the writes",
        (RULE.check(case(1, flushes=64)), UNVERIFIED),
        (RULE.check(case(0, flushes=64)), PASS),
        "the last flush of each worker is a call of its own",
        (RULE.check(case(1, flushes=1)), FAIL),
        (RULE.check(case(1, flushes=2, workers=2)), FAIL),
        (RULE.check(case(1, flushes=2)), UNVERIFIED),
        "flushes themselves always go that way",
        (RULE.check(case(1, operation="flush", figure="latency_p99_ns", count=64)), FAIL, NOTES),
    )
