"""The plug `net_udp`: numbered datagrams, and what became of them."""

from assay.catalogue import Order
from assay.records import Direction, Endpoint, EndpointKind, Outcome
from assay.workloads.net_udp import WORKLOAD
from stage.ends_stage import conduct
from stage.rows import each


def phase(**knobs):
    endpoints = (Endpoint(kind=EndpointKind.SOCKET, address="127.0.0.1"),)
    (only,) = WORKLOAD.phases(Order(workload="n", knobs=knobs, endpoints=endpoints, seed=1))
    return only


def test_both_ends_of_datagrams_and_their_sizes():
    only = phase(segment=True, message=1000)
    assert only.directions == {"send": Direction.SEND}
    assert {(setting["exchange"], setting["message"], setting["segment"]) for setting in only.settings} == {
        ("datagram", 1000, True)
    }
    assert not any("nodelay" in setting or "congestion" in setting for setting in only.settings)
    knob = next(knob for knob in WORKLOAD.knobs if knob.name == "message")
    assert (knob.low, knob.high, knob.default) == (16, 65_507, 1472)


@each(
    "knobs mistake",
    ({"connections": 2, "workers": 1}, "found fewer workers than connections for datagrams"),
    ({"direction": "both", "ops": 5}, "found ops with direction both"),
)
def test_mistakes(knobs, mistake):
    (found,) = WORKLOAD.check(knobs)
    assert found.startswith(mistake)


def test_at_a_low_rate_every_datagram_arrives(tmp_path):
    run, _ = conduct(tmp_path, kind="net_udp", ops=200, rate=1000)
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    (phase,) = run.phases
    assert phase.clients[0].net.datagrams.sent == 200
    arrived = phase.servers[0].net.datagrams
    assert (arrived.received, arrived.lost, arrived.buffer_drops) == (200, 0, 0)


def test_a_train_of_segments_is_one_operation(tmp_path):
    run, _ = conduct(tmp_path, kind="net_udp", ops=20, rate=200, segment=True, message=1000)
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    (phase,) = run.phases
    (total,) = phase.clients[0].operations
    assert total.count == 20
    assert phase.clients[0].net.datagrams.sent == total.bytes // 1000 > 20
