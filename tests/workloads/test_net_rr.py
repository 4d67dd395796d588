"""The plug `net_rr`: requests and their answers, small segments at once."""

from assay.catalogue import Order
from assay.records import Direction, Endpoint, EndpointKind, Outcome, Role
from assay.workloads.net_rr import WORKLOAD
from stage.ends_stage import conduct
from stage.rows import each


def phase(clients=1, **knobs):
    endpoints = (Endpoint(kind=EndpointKind.SOCKET, address="127.0.0.1"),) * clients
    (only,) = WORKLOAD.phases(Order(workload="n", knobs=knobs, endpoints=endpoints, seed=1))
    return only


def test_both_ends_know_the_sizes_small_segments_go_at_once_and_the_server_has_no_rate():
    only = phase(request=128, response=4096)
    assert only.directions == {"transaction": Direction.REQUEST}
    assert only.roles == (Role.LOAD, Role.SERVER)
    assert {(setting["exchange"], setting["request"], setting["response"]) for setting in only.settings} == {
        ("transaction", 128, 4096)
    }
    assert not any("message" in setting or "direction" in setting for setting in only.settings)
    assert [setting["nodelay"] for setting in phase().settings] == [True, True]
    assert [setting["nodelay"] for setting in phase(nodelay=False).settings] == [False, False]
    assert [setting["load"].get("rate") for setting in phase(clients=2, rate=100).settings] == [50.0, 50.0, None]


@each("knobs", {"workers": 3}, {"rate": 5, "think": 5, "ops": 5})
def test_mistakes(knobs):
    assert len(WORKLOAD.check(knobs)) == 1


def test_each_request_is_answered(tmp_path):
    run, _ = conduct(tmp_path, kind="net_rr", clients=2, ops=300, request=100, response=1000)
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    (phase,) = run.phases
    assert [(total.operation, total.count, total.bytes) for one in phase.clients for total in one.operations] == [
        ("transaction", 300, 300 * 1100)
    ] * 2
    assert [(total.operation, total.count) for one in phase.servers for total in one.operations] == [("answer", 600)]
