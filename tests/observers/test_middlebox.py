"""middlebox: packets, drops and CPU time of a box, from recorded texts."""

import pytest

from assay import catalogue
from assay.catalogue import Evidence
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.middlebox import read
from assay.records import Box, Edge, Snapshot, Subject
from stage.observer_looks import SECOND_NS, the_series

OBSERVER = catalogue.find("observers", "middlebox")
SUBJECT = Subject(box=Box(pid=3, interfaces=("mb1a", "mb1b"), threads=(8, 9)))
DEV = """Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
  mb1a: {bytes} {packets} 0 {drops} 0 0 0 0 2000 20 0 0 0 0 0 0
  mb1b: 1000 10 0 0 0 0 0 0 2000 20 0 0 0 0 0 0
"""
SNMP = "Ip: ForwDatagrams InDiscards OutDiscards OutNoRoutes\nIp: {} 0 {} 0\n"
TRACKED = "entries clashres invalid\n0000000b 0 {:x}\n0000000b 0 1\n"
TC = '[{{"kind":"noqueue","drops":0}},{{"kind":"tbf","drops":{}}},{{"kind":"tbf","drops":1}}]'


def raw(packets, spent, **changes):
    return {
        "dev": DEV.format(bytes=packets * 100, packets=packets, drops=packets // 100),
        "snmp": SNMP.format(packets, packets // 50),
        "conntrack": TRACKED.format(packets // 20),
        "shapers": TC.format(packets // 10),
        "threads": [f"{spent} 0 1", "1000 0 1"],
        **changes,
    }


def parsed(*raws, subject=SUBJECT):
    edges = (Edge.ARMED, Edge.LAST)
    looks = [Snapshot(edge=edges[at], at_ns=at * SECOND_NS, took_ns=1, raw=one) for at, one in enumerate(raws)]
    return OBSERVER.parse("local", "n.stream", looks, subject)


def test_what_a_box_did():
    found = parsed(raw(100, 5000), raw(1100, 905_000))
    rises = {
        metric: the_series(found, metric).value[-1]
        for metric in ("packets", "bytes", "dropped", "forwarded", "output_discards", "shaper_dropped", "invalid", "cpu_ns")
    }
    assert rises == {
        "packets": 1000,
        "bytes": 100_000,
        "dropped": 10,
        "forwarded": 1000,
        "output_discards": 20,
        "shaper_dropped": 100,
        "invalid": 50,
        "cpu_ns": 900_000,
    }
    assert list(the_series(found, "connections").value) == [11, 11]
    assert the_series(found, "rx_packets", subject="box:load").value[-1] == 1000
    assert the_series(found, "rx_packets", subject="box:server").value[-1] == 0
    assert dict(found.missing) == {}


def test_what_is_not_told_has_no_series():
    alone = Subject(box=Box(pid=3, interfaces=("mb1a", "mb1b")))
    found = parsed(raw(100, 0, threads=[]), raw(200, 0, threads=[]), subject=alone)
    assert list(found.missing) == ["middlebox.cpu_ns"]
    assert parsed(raw(100, 0), raw(200, 0, threads=["{'error': 'gone'}", "1 0 1"])).missing.keys() == {"middlebox.cpu_ns"}
    found = parsed(raw(100, 0, shapers="", conntrack=""), raw(200, 0, shapers="[]", conntrack=""))
    assert {"shaper_dropped", "invalid", "connections"}.isdisjoint({one.metric for one in found.series})
    found = parsed(raw(100, 0), raw(200, 0, dev={"error": "gone"}))
    assert found.series == ()
    assert "middlebox.packets" in found.missing
    with pytest.raises(EvidenceError, match="in dev"):
        parsed(raw(1, 1, dev="a\nb\nmb1a: 1"), raw(2, 2))
    with pytest.raises(EvidenceError, match="nf_conntrack"):
        parsed(raw(1, 1, conntrack="entries invalid\nodd 1\n"), raw(2, 2))
    assert read(Local(), Subject()) == {}
    assert parsed({}, {}, subject=Subject()) == Evidence()
