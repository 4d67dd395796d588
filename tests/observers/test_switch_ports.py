import socket
import time

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.hosts.snmp import SnmpHost
from assay.hosts.snmp_security import Credentials
from assay.observers.switch_ports import DISCONTINUITY, FAULTS, NARROW, OBSERVER, SPEED, UPTIME, WIDE, ports, refresh_ns
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import SECOND_NS, the_series
from stage.snmp_agents import COMMUNITY, PORT, snmp_agent

WRAP = 1 << 32


def looked(*rows, names=None, mistake=""):
    """One look a second; each row has a value for each column OID."""
    edges = (
        (Edge.QUIET, Edge.ARMED, *(Edge.POLL,) * (len(rows) - 4), Edge.LAST, Edge.DRAINED)
        if len(rows) > 3
        else (Edge.POLL,) * len(rows)
    )
    return [
        Snapshot(
            edge=edge,
            at_ns=at * SECOND_NS,
            took_ns=1000,
            raw={
                "names": names or {"3": "port3"},
                "mistake": mistake,
                "values": "".join(f"{oid}.3 {n}\n" for oid, n in row.items()),
            },
        )
        for at, (edge, row) in enumerate(zip(edges, rows, strict=True))
    ]


def parsed(*rows, **more):
    return OBSERVER.parse("sw", "p", looked(*rows, **more), Subject())


def wide(octets, packets=0, **more):
    row = dict.fromkeys((oid for columns in WIDE.values() for oid in columns), packets)
    return row | {WIDE["rx_bytes"][0]: octets, WIDE["tx_bytes"][0]: 7, SPEED: 1000, **more}


def test_counters_of_64_bits_and_the_speed():
    found = parsed(wide(10, 1), wide(1010, 2), wide(2010, 3), wide(2010, 3))
    assert list(the_series(found, "rx_bytes", "interface:port3").value) == [0, 1000, 2000, 2000]
    assert list(the_series(found, "rx_packets", "interface:port3").value) == [0, 3, 6, 6], "to one, to several, to all"
    assert the_series(found, "speed_bytes_per_s", "interface:port3").value[0] == 125e6
    assert found.missing["network.rx_errors"] == "not reported by this device"
    assert not found.readings, "a port is no rung of the client or the server"


def test_a_counter_of_32_bits_wraps():
    rows = [{NARROW["rx_bytes"]: value, FAULTS["rx_drops"]: 0} for value in (WRAP - 1000, WRAP - 10, 90, 1090)]
    found = parsed(*rows)
    assert list(the_series(found, "rx_bytes", "interface:port3").value) == [0, 990, 1090, 2090]


def test_a_counter_of_64_bits_that_falls_is_refused():
    with pytest.raises(EvidenceError, match="falling"):
        parsed(wide(1000), wide(10))


def test_a_device_that_restarted_is_refused():
    with pytest.raises(EvidenceError, match="restarted"):
        OBSERVER.parse(
            "sw", "p", [_uptime(one, ticks) for one, ticks in zip(looked(wide(1), wide(2)), (90000, 100), strict=True)], Subject()
        )
    wrapped = [_uptime(one, ticks) for one, ticks in zip(looked(wide(1), wide(2)), (WRAP - 50, 50), strict=True)]
    assert OBSERVER.parse("sw", "p", wrapped, Subject()).series


def _uptime(one, ticks):
    raw = {**one.raw, "values": f"{UPTIME} {ticks}\n{one.raw['values']}"}
    return Snapshot(edge=one.edge, at_ns=one.at_ns, took_ns=1, raw=raw)


def test_counters_that_began_anew_are_refused():
    with pytest.raises(EvidenceError, match="began anew"):
        parsed(wide(10, **{DISCONTINUITY: 0}), wide(20, **{DISCONTINUITY: 4711}))


def test_the_interval_of_refreshes_is_found():
    octets = [100 * (at // 3) for at in range(20)]
    found = parsed(*map(wide, octets))
    assert list(the_series(found, "refresh_ns", "interface:port3").value) == [3 * SECOND_NS]
    assert "network.refresh_ns" in parsed(wide(1), wide(2)).missing, "one change tells no interval"
    assert refresh_ns([0, 1]) is None


def test_a_port_that_is_not_there_is_missing_with_its_name():
    found = parsed(wide(1), names={"9": "port9"}, mistake="no port port4 on this device")
    assert found.missing["network.rx_bytes"] == "no port port4 on this device"


def test_on_linux_it_does_not_look():
    assert "SNMP" in OBSERVER.available(Local())


@pytest.mark.root
def test_a_real_port_counts_what_the_kernel_counts(tmp_path):
    with snmp_agent(tmp_path) as agent:
        host = SnmpHost("sw", agent.address, Credentials(community=COMMUNITY.encode()), (PORT,))
        assert list(ports(host).names.values()) == [PORT]
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        snapshots, truth = [], []
        for at in range(16):
            truth.append(agent.truth()[0])
            raw = dict(OBSERVER.read(host, Subject()))
            snapshots.append(Snapshot(edge=Edge.POLL, at_ns=time.monotonic_ns(), took_ns=0, raw=raw))
            for _ in range(200):
                sender.sendto(bytes(1000), (agent.address, 9))
            time.sleep(1 if at < 15 else 0)
        sender.close()
        host.close()
    found = OBSERVER.parse("sw", "p", snapshots, Subject())
    received = the_series(found, "rx_bytes", f"interface:{PORT}")
    refresh_s = the_series(found, "refresh_ns", f"interface:{PORT}").value[0] / 1e9
    assert 1.5 < refresh_s < 6, "this agent refreshes the counters of its interfaces every 3 s"
    each = 200 * 1042
    rose, true = received.value[-1], truth[-1] - truth[1]
    assert abs(rose - true) <= each * (refresh_s + 2), "what is not refreshed yet, at both ends"
    assert rose > 7 * each
