"""A run operation by operation and all together: rates are the judged figures, flushes are apart, costs are per operation."""

from dataclasses import replace

import pytest

from assay import measures
from assay.measures import sums
from assay.records import Claim, Durability, EngineCost, LoadTotal, Measure, PhaseHost, QueueTotal
from audit.case_builder import Made, observations_of, run_of

COST = EngineCost(cpu_user_ns=500_000, cpu_system_ns=500_000, voluntary_switches=4, minor_faults=2)


def case(*operations, **client):
    """A run whose one phase did each of these operations 1,000 times, by one client."""
    made = Made(count=1000, record_bytes=4096, operation=operations[0])
    run, observations = run_of(made), observations_of(made)
    (phase,) = run.phases
    (one,) = phase.clients
    (total,) = one.operations
    clients = (replace(one, cost=COST, operations=tuple(replace(total, operation=name) for name in operations), **client),)
    directions = {name: direction_of(name) for name in operations}
    phase = replace(phase, operations=operations, directions=directions, clients=clients)
    return (
        replace(run, phases=(phase,)),
        observations,
        [Measure(workload="w", operation=name, figure="ops_per_s") for name in operations],
    )


def direction_of(name):
    from audit.case_builder import DIRECTIONS

    return DIRECTIONS[name]


def test_one_operation_is_the_whole():
    run, observations, asked = case("read")
    found = sums.whole(run, observations, asked)
    assert found.sum == found.operations["read"]
    assert found.sum.ops_per_s == measures.value(run, observations, asked[0]).value
    assert (found.sum.ops, found.sum.bytes, found.load, found.queue) == (1000, 4_096_000, None, None)


def test_flushes_are_apart_and_what_they_cost_belongs_to_the_writes():
    run, observations, asked = case("write", "flush")
    found = sums.whole(run, observations, asked)
    assert list(found.operations) == ["write", "flush"]
    assert found.sum == found.operations["write"]
    assert found.cost["cpu_ns_per_op"] == pytest.approx(1000), "1 ms for 1,000 writes, each with its flush"
    assert found.cost["voluntary_switches"] == 4


def test_operations_of_one_phase_share_its_time_and_phases_add_up():
    run, observations, asked = case("create", "stat")
    found = sums.whole(run, observations, asked)
    each = found.operations["create"].elapsed_ns
    assert (found.sum.ops, found.sum.elapsed_ns) == (2000, each)
    (phase,) = run.phases
    later = replace(phase, name="w.list", operations=("list",), clients=tuple(renamed(one) for one in phase.clients))
    both = sums.whole(replace(run, phases=(phase, later)), observations, [*asked, replace(asked[0], operation="list")])
    assert (both.sum.ops, both.sum.elapsed_ns) == (3000, 2 * each)
    assert both.sum.ops_per_s == pytest.approx(3000e9 / (2 * each))


def renamed(client):
    return replace(client, operations=(replace(client.operations[0], operation="list"),))


def test_the_drain_is_in_the_time_where_the_claim_says_so():
    run, observations, asked = case("write")
    (phase,) = run.phases
    run = replace(run, phases=(replace(phase, hosts=(PhaseHost(host="local", drain_ns=10**9),)),))
    media = [replace(asked[0], claim=Claim(durability=Durability.STABLE_MEDIA))]
    bare, charged = (sums.whole(run, observations, one).sum for one in (asked, media))
    assert charged.elapsed_ns == pytest.approx(bare.elapsed_ns + 10**9)
    assert charged.ops_per_s * charged.elapsed_ns == pytest.approx(1000e9)


def test_what_fell_behind_and_how_it_was_queued_is_summed_over_the_clients():
    queue = QueueTotal(depth=32, registered=True, punted=False, punted_threads=0, submissions=7)
    run, observations, asked = case("read", load=LoadTotal(late=3, unstarted=1, backlog_max_ns=50), queue=queue)
    (phase,) = run.phases
    (one,) = phase.clients
    two = (
        one,
        replace(one, index=1, load=LoadTotal(late=1, unstarted=0, backlog_max_ns=90), queue=replace(queue, registered=False)),
    )
    found = sums.whole(replace(run, phases=(replace(phase, clients=two),)), observations, asked)
    assert found.load == LoadTotal(late=4, unstarted=1, backlog_max_ns=90)
    assert (found.queue.registered, found.queue.submissions) == (False, 14)


def test_a_run_without_its_phase_has_nothing():
    run, observations, asked = case("read")
    found = sums.whole(replace(run, phases=()), observations, asked)
    assert (found.sum.ops, found.sum.ops_per_s, dict(found.operations)) == (0, None, {})
    assert set(found.cost.values()) == {None}
