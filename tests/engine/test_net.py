"""The engine `net` between network namespaces: a line that is cut, windows, datagrams in trains, refusals with the reason."""

import os
import subprocess
import time

import pytest

from stage.rows import each

SECOND = 1_000_000_000
NEAR, FAR = "10.213.9.1", "10.213.9.2"


class Line:
    """Two namespaces with a veth pair between them."""

    def __init__(self, engines):
        self.engines = engines
        self.near, self.far = (f"assay-test-{side}-{os.getpid()}" for side in ("near", "far"))

    def ip(self, words):
        subprocess.run(["ip", *words.split()], check=True)

    def make(self):
        self.ip(f"netns add {self.near}")
        self.ip(f"netns add {self.far}")
        self.ip(f"-n {self.near} link add v0 type veth peer name v0 netns {self.far}")
        for namespace, address in ((self.near, NEAR), (self.far, FAR)):
            self.ip(f"-n {namespace} address add {address}/24 dev v0")
            self.ip(f"-n {namespace} link set v0 up")
            self.ip(f"-n {namespace} link set lo up")

    def remove(self):
        for namespace in (self.near, self.far):
            subprocess.run(["ip", "netns", "delete", namespace], check=False, stderr=subprocess.DEVNULL)

    def ends(self, settings, server=None, load=None):
        """An armed server in the far namespace and an armed load in the near one."""
        far, near = self.engine(self.far), self.engine(self.near)
        both = {"token": "of this test"} | settings
        armed = far.arm("net", both | {"role": "server", "address": f"{FAR}:0"} | (server or {}))
        assert armed["type"] == "armed", armed
        own = {"role": "load", "address": armed["address"]} | (load or {})
        answer = near.arm("net", both | own, interval_ns=SECOND // 20)
        assert answer["type"] == "armed", answer
        return far, near

    def run(self, settings, server=None, load=None):
        """The results of the server and the load."""
        far, near = self.ends(settings, server, load)
        start(far, near)
        sent = near.result()
        return far.result(), sent

    def engine(self, namespace):
        return self.engines("ip", "netns", "exec", namespace)


def start(*ends):
    at_ns = time.monotonic_ns() + SECOND // 50
    for engine in ends:
        engine.send(type="go", at_ns=at_ns)
    for engine in ends:
        assert engine.receive()["type"] == "told"


@pytest.fixture
def line(engines):
    made = Line(engines)
    try:
        made.make()
        yield made
    finally:
        made.remove()


def test_the_hello_names_the_engine_and_others_have_no_net_section(engine):
    assert "net" in engine.hello["engines"]
    assert engine.run("null", {"operation": "null", "ops": 1})["net"] is None


@pytest.mark.root
def test_both_ends_name_the_same_two_sockets(line):
    server, load = line.run({"exchange": "stream"}, load={"ops": 100})
    ours, theirs = load["net"]["connections"][0], server["net"]["connections"][0]
    assert (ours["local"], ours["peer"]) == (theirs["peer"], theirs["local"])
    assert ours["local"].startswith(NEAR)
    assert ours["peer"].startswith(FAR)
    assert server["operations"]["receive"]["bytes"] == 100 << 17


@pytest.mark.root
def test_a_window_is_granted_twice_and_bounds_what_is_on_the_way(line):
    settings = {"exchange": "stream", "window": 32768, "congestion": "reno", "duration_ns": SECOND // 2}
    server, load = line.run(settings)
    granted = server["net"]["connections"][0]["receive_buffer"]
    assert granted == {"asked": 32768, "got": 65536, "end": 65536}
    assert load["net"]["connections"][0]["tcp"]["send_window"] <= 65536


@pytest.mark.root
def test_a_namespace_without_mptcp_is_named(line):
    subprocess.run(["ip", "netns", "exec", line.near, "sysctl", "-q", "-w", "net.mptcp.enabled=0"], check=True)
    answer = line.engine(line.near).arm("net", {"role": "server", "exchange": "stream", "token": "t", "mptcp": True})
    assert answer["type"] == "error"
    assert "net.mptcp.enabled=1" in answer["message"]


@pytest.mark.root
def test_each_subflow_of_mptcp_has_its_own_account(line):
    ways = ((line.near, NEAR, "10.213.8.1"), (line.far, FAR, "10.213.8.2"))
    for namespace, _, second in ways:
        line.ip(f"-n {namespace} address add {second}/24 dev v0")
        line.ip(f"-n {namespace} mptcp limits set subflow 2 add_addr_accepted 2")
    line.ip(f"-n {line.near} mptcp endpoint add 10.213.8.1 dev v0 subflow")
    server, load = line.run({"exchange": "stream", "mptcp": True}, load={"duration_ns": SECOND})
    (ours,), (theirs,) = load["net"]["connections"], server["net"]["connections"]
    assert ours["mptcp"]["subflows"] in (None, 1, 2), "the count of the kernel may lag"
    assert {one["local"].rpartition(":")[0] for one in ours["subflows"]} == {NEAR, "10.213.8.1"}
    assert {one["peer"] for one in ours["subflows"]} == {server["net"]["address"]}
    assert sorted((one["local"], one["peer"]) for one in ours["subflows"]) == sorted(
        (one["peer"], one["local"]) for one in theirs["subflows"]
    )
    acked = sum(one["tcp"]["acked_bytes"] for one in ours["subflows"])
    assert 0.9 < acked / ours["mptcp"]["acked_bytes"] < 1.2, "both subflows together carry the connection"


@pytest.mark.root
def test_a_datagram_that_segmentation_cannot_carry_is_refused_with_the_largest(line):
    settings = {"exchange": "datagram", "segment": True, "message": 1473, "token": "t"}
    armed = line.engine(line.far).arm("net", settings | {"role": "server", "address": f"{FAR}:0"})
    answer = line.engine(line.near).arm("net", settings | {"role": "load", "address": armed["address"], "ops": 1})
    assert "at most 1472" in answer["message"], answer


@pytest.mark.root
def test_trains_of_datagrams_cross_a_wire_of_1500_bytes(line):
    settings = {"exchange": "datagram", "segment": True}
    server, load = line.run(settings, load={"ops": 500, "load": {"rate": 1000}})
    sent, received = load["net"]["datagrams"], server["net"]["datagrams"]
    assert sent["sent"] == 500 * 44
    assert received["received"] + received["lost"] == sent["sent"]
    assert received["malformed"] == received["duplicated"] == 0


@pytest.mark.root
def test_a_line_that_is_cut_for_a_while_answers_every_request_late(line):
    settings = {"exchange": "transaction"}
    far, near = line.ends(settings, load={"duration_ns": 2 * SECOND, "load": {"rate": 100}})
    start(far, near)
    time.sleep(0.5)
    line.ip(f"-n {line.far} link set v0 down")
    time.sleep(0.5)
    line.ip(f"-n {line.far} link set v0 up")
    load, server = near.result(), far.result()
    noted = load["operations"]["transaction"]
    assert noted["errors"] == load["net"]["unfinished"] == 0
    assert noted["count"] + load["load"]["unstarted"] == pytest.approx(200, abs=1)
    assert noted["max_ns"] > 0.4 * SECOND
    assert server["operations"]["answer"]["count"] == noted["count"]


@pytest.mark.root
@each(
    "settings operation",
    ({"exchange": "transaction"}, "transaction"),
    ({"exchange": "stream"}, "send"),
    ({"exchange": "stream", "direction": "receive"}, "receive"),
    ({"exchange": "transaction", "connections": 4, "workers": 1}, "transaction"),
)
def test_what_a_dead_line_leaves_under_way_is_told_with_its_wait(line, settings, operation):
    timed = {"patience_ns": SECOND // 2, "duration_ns": 2 * SECOND}
    far, near = line.ends(settings | timed)
    start(far, near)
    time.sleep(0.5)
    before_ns = time.monotonic_ns()
    line.ip(f"-n {line.far} link set v0 down")
    after_ns = time.monotonic_ns()
    load = near.result()
    line.ip(f"-n {line.far} link set v0 up")
    far.send(type="stop")
    far.result()
    left, many = load["operations"][operation]["unfinished"], settings.get("connections", 1)
    assert (load["stopped_by"], left["count"], load["net"]["unfinished"]) == ("time", many, many)
    assert before_ns - 0.2 * SECOND < left["from_ns"] < after_ns + 0.1 * SECOND, "a busy machine may cut it late"
    waited_ns = load["ends_ns"] + timed["patience_ns"] - left["from_ns"]
    assert left["longest_ns"] == pytest.approx(waited_ns, abs=0.3 * SECOND)
    assert left["waited_ns"] == pytest.approx(many * left["longest_ns"], rel=0.1)
    assert load["operations"][operation]["last_ns"] < load["ends_ns"]


@pytest.mark.root
def test_nobody_who_answers_and_no_route_are_told_apart(line):
    load = {"role": "load", "exchange": "stream", "token": "t", "ops": 1}
    near = line.engine(line.near)
    silent = near.arm("net", load | {"address": "10.213.9.77:5000"})
    lost = near.arm("net", load | {"address": "198.51.100.1:5000"})
    assert "no route" in lost["message"]
    assert "no route" in silent["message"] or "5 s" in silent["message"]


@pytest.mark.root
def test_ipv6_works_too(line):
    far, near = line.engine(line.near), line.engine(line.near)
    both = {"exchange": "datagram", "token": "t", "message": 400}
    armed = far.arm("net", both | {"role": "server", "address": "[::1]:0"})
    assert near.arm("net", both | {"role": "load", "address": armed["address"], "ops": 10})["type"] == "armed"
    start(far, near)
    near.result()
    assert far.result()["net"]["datagrams"]["received"] == 10
