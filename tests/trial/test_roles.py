"""Two roles in one phase: servers are armed first, their address goes to the load, and they stop when the load has ended."""

from dataclasses import replace

import pytest

from assay import measures
from assay.records import Measure, Outcome, Role
from assay.trial.clocks import Clock
from assay.trial.protocol import ClientStep, Kill, Send
from assay.trial.rendezvous import Rendezvous, Stage
from assay.trial.silence import WaitLimits
from assay.trial.waves import Waves, addressed, filled
from stage.ends_stage import conduct

MS, SECOND = 10**6, 10**9
PACE = WaitLimits()
ROLES = (Role.LOAD, Role.LOAD, Role.SERVER)
CONFIGS = [{"settings": {"address": "{server.address}"}}] * 2 + [{"settings": {"address": "127.0.0.1:0"}}]
LIMIT_NS = 600 * SECOND


def ready(hosts=("here", "here", "there")):
    clocks = {host: Clock(host=host, at_ns=MS, offset_ns=0, error_ns=0) for host in hosts}
    rendezvous = Rendezvous(hosts=hosts, now_ns=0, pace=PACE, clocks=clocks)
    for client in range(rendezvous.count):
        rendezvous.hear(client, {"type": "hello", "pid": client + 10, "build": "release"}, MS)
    return rendezvous


def arming(rendezvous):
    return rendezvous.arm("w.stream", CONFIGS, LIMIT_NS, 2 * MS, ROLES)


def armed(rendezvous, client, address=None, at_ns=3 * MS):
    return rendezvous.hear(client, {"type": "armed", "phase": "w.stream", "address": address}, at_ns)


def running():
    rendezvous = ready()
    arming(rendezvous)
    armed(rendezvous, 2, "192.0.2.1:40001")
    armed(rendezvous, 0)
    armed(rendezvous, 1)
    rendezvous.start(10 * MS)
    return rendezvous


def result(rendezvous, client, at_ns):
    return rendezvous.hear(client, {"type": "result", "phase": "w.stream", "started_ns": rendezvous.start_ns}, at_ns)


def sent(orders, kind):
    return {one.client: one.message for one in orders if isinstance(one, Send) and one.message["type"] == kind}


def test_the_load_is_armed_after_its_server_and_gets_the_address():
    rendezvous = ready()
    assert list(sent(arming(rendezvous), "config")) == [2]
    assert rendezvous.state is Stage.ARMING
    orders = armed(rendezvous, 2, "192.0.2.1:40001")
    assert {client: one["settings"]["address"] for client, one in sent(orders, "config").items()} == dict.fromkeys(
        (0, 1), "192.0.2.1:40001"
    )
    assert rendezvous.state is Stage.ARMING
    armed(rendezvous, 0)
    armed(rendezvous, 1)
    assert rendezvous.state is Stage.ARMED


def test_all_start_together():
    rendezvous = running()
    assert {client.go_ns for client in rendezvous.clients} == {rendezvous.start_ns}


def test_each_wave_has_its_own_time_to_be_armed():
    rendezvous = ready()
    arming(rendezvous)
    late_ns = PACE.arm_ns
    armed(rendezvous, 2, "a:1", late_ns)
    assert not [one for one in rendezvous.tick(late_ns + PACE.arm_ns - SECOND) if isinstance(one, Kill)]
    assert {one.client for one in rendezvous.tick(late_ns + PACE.arm_ns + SECOND) if isinstance(one, Kill)} == {0, 1}


def test_without_its_server_no_load_is_armed(subtests):
    for what in ["error", "loss", "silence"]:
        with subtests.test(what=what):
            rendezvous = ready()
            arming(rendezvous)
            if what == "error":
                orders = rendezvous.hear(2, {"type": "error", "what": "bind", "message": "Address already in use"}, 3 * MS)
            elif what == "loss":
                orders = rendezvous.lose(2, "gone", 3 * MS)
            else:
                orders = rendezvous.tick(PACE.arm_ns + SECOND)
            assert rendezvous.state is Stage.ENDED
            assert not sent(orders, "config")
            assert list(rendezvous.failures) == [2]


def test_a_server_ends_after_its_load():
    rendezvous = running()
    result(rendezvous, 0, SECOND)
    result(rendezvous, 1, SECOND)
    assert rendezvous.state is Stage.RUNNING
    assert not sent(rendezvous.tick(SECOND + 1), "stop")
    result(rendezvous, 2, SECOND + 2)
    assert (rendezvous.state, rendezvous.failures) == (Stage.ENDED, {})
    rendezvous = running()
    result(rendezvous, 0, SECOND)
    assert not sent(rendezvous.tick(SECOND + 2 * PACE.follow_ns), "stop")
    result(rendezvous, 1, 4 * SECOND)
    assert list(sent(rendezvous.tick(4 * SECOND + PACE.follow_ns), "stop")) == [2]
    assert not sent(rendezvous.tick(4 * SECOND + PACE.follow_ns + MS), "stop"), "once"
    orders = rendezvous.tick(4 * SECOND + PACE.follow_ns + PACE.stop_ns + 1)
    assert [one.client for one in orders if isinstance(one, Kill)] == [2]
    assert rendezvous.state is Stage.ENDED
    rendezvous = running()
    rendezvous.lose_host("here", "gone", SECOND)
    assert rendezvous.state is Stage.RUNNING
    assert list(sent(rendezvous.tick(SECOND + PACE.follow_ns), "stop")) == [2]
    result(rendezvous, 2, 3 * SECOND)
    assert rendezvous.state is Stage.ENDED
    assert set(rendezvous.failures) == {0, 1}
    rendezvous = running()
    assert list(sent(rendezvous.stop(SECOND), "stop")) == [0, 1]
    result(rendezvous, 0, 2 * SECOND)
    result(rendezvous, 1, 2 * SECOND)
    assert list(sent(rendezvous.tick(2 * SECOND + PACE.follow_ns), "stop")) == [2]


def test_news_are_those_of_the_load_and_a_lost_server_is_called_one():
    rendezvous = running()
    for client in range(3):
        rendezvous.hear(client, {"type": "progress", "operations": {}}, SECOND)
    assert set(rendezvous.news()) == {0, 1}
    rendezvous = running()
    rendezvous.lose(2, "gone", SECOND)
    assert rendezvous.failures[2] == "server 2 on there was lost: gone"


def test_several_servers_share_the_load():
    waves = Waves(count=5, roles=(Role.LOAD,) * 3 + (Role.SERVER,) * 2)
    rendezvous = ready(("here",) * 5)
    for client, address in ((3, "a:1"), (4, "b:2")):
        rendezvous.clients[client].address = address
    assert waves.second(rendezvous.clients) == {0: "a:1", 1: "b:2", 2: "a:1"}
    assert addressed({"a": "{server.address}"}, "a:1") == {"a": "a:1"}
    assert filled({"argv": ("nc", "{server.address}"), "n": 3}, "a:1") == {"argv": ["nc", "a:1"], "n": 3}
    rendezvous = running()
    for client in range(3):
        result(rendezvous, client, SECOND)
    orders = rendezvous.arm("w.next", CONFIGS, LIMIT_NS, 2 * SECOND)
    assert list(sent(orders, "config")) == [0, 1, 2]
    assert [client.role for client in rendezvous.clients] == [Role.LOAD] * 3
    assert {client.address for client in rendezvous.clients} == {None}
    assert {client.step for client in rendezvous.clients} == {ClientStep.ARMING}


def test_roles_that_cannot_be(subtests):
    for roles in [(Role.SERVER,) * 3, (Role.LOAD,)]:
        with subtests.test(roles=roles), pytest.raises(ValueError, match="expected"):
            Waves(count=len(CONFIGS), roles=roles)


# ------------------------------------------------------------------------------------------ both ends, really


def test_both_ends_of_a_stream_are_counted_apart(tmp_path):
    run, observations = conduct(tmp_path, clients=2, connections=2, ops=500, message=65536)
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    (phase,) = run.phases
    (server,) = phase.servers
    moved = 2 * 2 * 500 * 65536
    assert [client.role for client in phase.clients] == [Role.LOAD] * 2
    assert (server.role, server.index, server.net.accepted) == (Role.SERVER, 2, 4)
    assert sum(total.bytes for client in phase.clients for total in client.operations) == moved
    assert [(total.operation, total.bytes) for total in server.operations] == [("receive", moved)]
    assert {connection.peer for client in phase.clients for connection in client.net.connections} == {server.net.address}
    subjects = {one.subject for one in observations.series if one.layer == "tcp" and one.metric == "rtt_ns"}
    assert subjects == {"client:0", "client:1", "server:2"}
    assert {one.subject for one in observations.readings} <= {"client:0", "client:1"}, "the ladder is the load's"


def test_the_servers_cost_is_a_figure_of_its_own(tmp_path):
    run, observations = conduct(tmp_path, kind="net_rr", ops=5000)
    (phase,) = run.phases

    def value(figure, phase=phase):
        found = measures.value(
            replace(run, phases=(phase,)), observations, Measure(workload="n", operation="transaction", figure=figure)
        )
        return None if found is None else found.value

    both = [one.cost.cpu_user_ns + one.cost.cpu_system_ns for one in (*phase.clients, *phase.servers)]
    assert value("count") == 5000
    assert value("cpu_ns_per_op") == pytest.approx(both[0] / 5000)
    assert value("server_cpu_ns_per_op") == pytest.approx(both[1] / 5000)
    assert value("both_cpu_ns_per_gb") == pytest.approx(sum(both) / (2 * 5000) * 1e9)
    alone = replace(phase, servers=())
    assert value("server_cpu_ns_per_op", alone) is None
    assert value("cpu_ns_per_op", alone) == value("cpu_ns_per_op")


def test_what_arrived_is_a_figure(tmp_path):
    run, observations = conduct(tmp_path, ops=100, message=65536)

    def value(figure):
        return measures.value(run, observations, Measure(workload="n", operation="send", figure=figure)).value

    assert value("delivered_share") == 1.0
    assert value("delivered_bytes_per_s") > 0


def test_a_server_that_sends(subtests, tmp_path_factory):
    for way in ["receive", "both"]:
        with subtests.test(way=way):
            tmp_path = tmp_path_factory.mktemp("case")
            run, _ = conduct(tmp_path, direction=way, duration=200 * MS)
            assert (run.outcome, run.error) == (Outcome.FINISHED, None)
            (phase,) = run.phases
            names = {total.operation for total in phase.clients[0].operations if total.count}
            assert names == ({"receive"} if way == "receive" else {"send", "receive"})


def test_datagrams_that_found_no_room_are_counted(tmp_path):
    run, _ = conduct(tmp_path, kind="net_udp", duration=300 * MS, window=4096)
    (phase,) = run.phases
    (server,) = phase.servers
    sent = phase.clients[0].net.datagrams.sent
    assert server.net.datagrams.received + server.net.datagrams.lost <= sent
    assert server.net.datagrams.buffer_drops > 0


def test_an_engine_that_cannot_listen_names_the_reason(tmp_path):
    run, _ = conduct(tmp_path, congestion="nosuch")
    assert run.outcome is Outcome.FAILED
    assert 'found congestion "nosuch"; expected one of' in run.error
