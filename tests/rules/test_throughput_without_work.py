"""G05: answers that were expected, none at all, an archive that nobody made, bytes that memory may have answered."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import Claim, Direction, EngineCost, Rung, Severity, State, Tier, Unfinished
from assay.rules.throughput_without_work import RULE
from audit.case_builder import MIB, Made, Seen, case_of, reading
from stage.directory_cases import loaded
from stage.rows import each
from stage.said import ASKED, FAIL, INVALIDATES, NOT_ASKED, PASS, QUALIFIES, UNVERIFIED, hold

GIB = 1 << 30


def case(values, *, cpu_ms=5, calls=0, clients=1, extra=(), **made):
    """Commands that say this of themselves, and what their calls moved; `extra` are further readings."""
    described = Made(values=values, starts=(0.0,) * clients, seen=made.pop("seen", Seen(call_bytes=calls)), **made)
    found = case_of(described, "G05")
    cost = EngineCost(cpu_user_ns=cpu_ms * 500_000, cpu_system_ns=cpu_ms * 500_000)
    working = tuple(replace(one, cost=cost if cpu_ms else None) for one in found.phase.clients)
    observations = replace(found.observations, readings=(*found.observations.readings, *extra))
    return replace(found, phase=replace(found.phase, clients=working), observations=observations)


def test_a_rate_of_0_is_the_figure_where_an_operation_got_no_answer():
    found = case_of(Made(figure="ops_per_s"), "G05")
    (client,) = found.phase.clients
    (total,) = client.operations
    left = Unfinished(count=1, from_ns=0, waited_ns=10**9, longest_ns=10**9)
    for unfinished, asked in ((None, True), (left, False)):
        clients = (replace(client, operations=(replace(total, count=0, unfinished=unfinished),)),)
        nothing = replace(found, value=0.0, phase=replace(found.phase, clients=clients))
        assert (RULE.applies(nothing) is None) is asked


def test_our_own_engine_and_tools_that_tell_no_amount_are_not_judged():
    assert "own engines" in (RULE.applies(case_of(Made(), "G05")) or "")
    assert "reports no amount" in (RULE.applies(case({"read.elapsed_ns": 5.0})) or "")
    assert RULE.applies(case({"read.elapsed_ns": 5.0}, knobs={"expected_count": 5})) is None
    assert RULE.applies(case({"read.bytes": 0.0})) is None


@each("received state", (990, State.PASS), (1010, State.PASS), (989, State.FAIL), (1011, State.FAIL))
def test_answers_are_held_against_what_was_declared(received, state):
    found = RULE.check(case({"read.count": float(received)}, knobs={"expected_count": 1000}, figure="elapsed_ns"))
    assert (found.state, found.severity) == (state, Severity.INVALIDATES)


@given(st.integers(1, 64), st.integers(1, 10**6))
def test_each_client_is_expected_to_do_it_all(clients, each):
    found = RULE.check(case({"read.count": float(clients * each)}, clients=clients, knobs={"expected_count": each}))
    assert found.state is State.PASS


@each("rung", Rung.CLIENT_CACHE, Rung.CLIENT_NIC, Rung.UPPER_DEVICE, Rung.LOWEST_DEVICE)
@each("way", Direction.READ, Direction.WRITE)
def test_a_trace_at_any_rung_in_any_direction_is_enough(rung, way):
    """What falls short of it is for E05 and T01 to say."""
    seen = reading(rung, "x", way, (GIB // 10, 9))
    assert RULE.check(case({"read.bytes": 1.0 * GIB}, extra=(seen,))).state is State.PASS


@each(
    "figure value",
    ("bytes_per_s", 0.0),
    ("ops_per_s", 0.0),
    ("count", 0.0),
    ("bytes", 0.0),
    ("ops_per_s", 5.0),
    ("elapsed_ns", 0.0),
)
def test_a_rate_or_an_amount_of_nothing_is_no_work_whoever_says_it(figure, value):
    lie = case({f"read.{figure}": value}, figure=figure)
    assert (RULE.applies(lie) is None and RULE.check(lie).state is State.FAIL) is (value == 0 and figure != "elapsed_ns")
    ours = replace(case_of(Made(figure="ops_per_s"), "G05"), value=value)
    assert (RULE.applies(ours) is None) is (value == 0)
    assert value or RULE.check(ours).state is State.FAIL


def test_nothing_is_found_where_nothing_is_expected():
    assert RULE.check(case({"read.count": 0.0}, figure="count", knobs={"expected_count": 0})).state is State.PASS


@each("entries state", (4000, State.PASS), (3970, State.PASS), (3000, State.FAIL), (0, State.FAIL))
def test_searches_of_a_directory_that_find_nothing_are_no_work(entries, state):
    found = RULE.check(loaded("G05", {"search": 4000}, entries=entries))
    assert (found.state, found.severity) == (state, Severity.INVALIDATES)
    assert found.observed["empty_share"] == pytest.approx(1 - entries / 4000)


def test_misses_are_asked_for_and_so_is_nothing():
    assert RULE.check(loaded("G05", {"search": 4000}, entries=3000, misses=1000)).state is State.PASS
    nothing = loaded("G05", {"search": 4000}, entries=0)
    load = replace(nothing.experiment.workloads[0], knobs={"found": 0})
    assert RULE.check(replace(nothing, experiment=replace(nothing.experiment, workloads=(load,)))).state is State.PASS


def test_states():
    hold(
        "bytes are held too and both where both are declared",
        (
            RULE.check(
                case(
                    {"read.count": 10.0, "read.bytes": 32.0 * MIB},
                    calls=32 * MIB,
                    knobs={"expected_count": 10, "expected_bytes": 64 * MIB},
                )
            ),
            FAIL,
            "33.6 MB",
        ),
        "what was declared and is not told is unverified",
        (RULE.check(case({"read.elapsed_ns": 5.0}, knobs={"expected_count": 5})), UNVERIFIED),
        "a search that found nothing is the time of finding nothing",
        (RULE.check(case({"read.count": 0.0, "read.elapsed_ns": 9.0}, figure="elapsed_ns")), FAIL, INVALIDATES),
        (RULE.check(case({"read.count": 0.0}, figure="elapsed_ns", knobs={"expected_count": 0})), PASS),
        (RULE.check(case({"read.count": 0.0}, figure="count")), FAIL, INVALIDATES, "no work"),
        "bytes that nothing here moved are no work",
        (RULE.check(case({"read.bytes": 2.0 * GIB}, cpu_ms=5, calls=MIB)), FAIL, QUALIFIES),
        (RULE.check(case({"read.bytes": 2.0 * GIB}, calls=MIB, claim=Claim(tier=Tier.DEVICE))), INVALIDATES),
        ("mapped files leave no trace but take processor time", RULE.check(case({"read.bytes": 2.0 * GIB}, cpu_ms=300)), PASS),
        "without calls or processor time nothing is known",
        (RULE.check(case({"read.bytes": 2.0 * GIB}, seen=Seen(lower_bytes=0))), UNVERIFIED),
        (RULE.check(case({"read.bytes": 2.0 * GIB}, cpu_ms=0)), UNVERIFIED),
        ("a few bytes leave no trace among the libraries", RULE.check(case({"read.bytes": 1.0 * MIB})), PASS),
        "only searches can find nothing",
        (RULE.applies(loaded("G05", {"search": 5})), ASKED),
        (RULE.applies(loaded("G05", {"search": 5, "compare": 5}, operation="compare")), NOT_ASKED),
    )


def test_an_engine_that_does_nothing_did_no_work():
    finding = RULE.check(case({"read.bytes": 2.0 * GIB, "read.idle": 1.0}, cpu_ms=3000))
    assert (finding.state, finding.severity, "ioengine=null" in finding.statement) == (State.FAIL, Severity.INVALIDATES, True)
