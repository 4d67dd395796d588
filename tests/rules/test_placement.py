"""N04: memory and threads of another node, interrupts on one processor, and machines on which nothing can be placed."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from assay.records import Claim, Observations, Path, Severity, State
from assay.rules.placement import RULE
from stage.noise_cases import phase, run, series, trial_case
from stage.rows import each
from stage.said import FAIL, PASS, hold


def case(
    *, nodes=2, cpus=16, queues=8, workers=16, pages=(1000.0, 0.0), far=0, block=(0.0, 0.0), received=(0.0, 0.0), claim=None
):
    """Counts under the clock: pages (local, remote), soft interrupts (all, of the busiest processor)."""
    rows = {
        "nodes": (nodes, nodes),
        "local_pages": (0, pages[0]),
        "remote_pages": (0, pages[1]),
        "block_softirqs": (0, block[0]),
        "busiest_block_softirqs": (0, block[1]),
        "net_rx_softirqs": (0, received[0]),
        "busiest_net_rx_softirqs": (0, received[1]),
    }
    found = [series("placement", metric, [(-1, before), (11, after)]) for metric, (before, after) in rows.items()]
    found += [
        series("placement", metric, [(-1, value), (11, value)], "device:nvme0n1")
        for metric, value in (("queues", queues), ("far_threads", far))
    ]
    found.append(series("cpu", "cpus", [(-1, cpus), (11, cpus)]))
    of = run(of=phase(workers=workers), devices=("nvme0n1",))
    return replace(trial_case("N04", of, Observations(series=tuple(found))), claim=claim or Claim())


def judged(**changes):
    one = case(**changes)
    assert RULE.applies(one) is None
    return RULE.check(one)


@each("remote state", (100.0, State.PASS), (120.0, State.FAIL))
def test_memory_of_another_node(remote, state):
    found = judged(pages=(1000.0 - remote, remote))
    assert (found.state, found.severity) == (state, Severity.NOTES)


@each(
    "changes state",
    ({"block": (16000.0, 1500.0)}, State.PASS),
    ({"block": (16000.0, 12000.0)}, State.FAIL),
    ({"block": (16000.0, 16000.0), "workers": 1}, State.PASS),
    ({"block": (16000.0, 16000.0), "queues": 2}, State.PASS),
    ({"block": (900.0, 900.0)}, State.PASS),
    ({"received": (16000.0, 16000.0)}, State.PASS),
    ({"received": (16000.0, 16000.0), "claim": Claim(path=Path.WIRE)}, State.FAIL),
)
def test_interrupts_count_where_they_could_have_been_spread(changes, state):
    found = judged(**changes)
    assert (found.state, found.severity) == (state, Severity.NOTES)


@each(
    "changes reason",
    ({"nodes": 1, "queues": 1}, "no device with several queues"),
    ({"nodes": 1, "cpus": 4}, "one memory node and 4 CPUs"),
    ({"nodes": 2, "queues": 1, "cpus": 2}, None),
    ({"nodes": 1}, None),
)
def test_where_there_is_nothing_to_place_it_says_so(changes, reason):
    told = RULE.applies(case(**changes))
    assert told is None if reason is None else reason in told


def test_a_program_that_had_no_memory_had_none_of_another_node():
    assert judged(pages=(0.0, 0.0)).observed["remote_share"] is None


@given(st.floats(1, 1e9), st.floats(0, 1), st.floats(0, 1))
def test_more_of_the_other_node_is_never_better(pages, one, other):
    order = [State.FAIL, State.PASS]
    less, more = (judged(pages=(pages * (1 - share), pages * share)).state for share in sorted((one, other)))
    assert order.index(more) <= order.index(less)


def test_states():
    hold(("what is where it belongs passes", judged(), PASS), ("threads far from their disk", judged(far=3), FAIL, "3 threads"))
