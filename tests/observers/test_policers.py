"""policers: rules that drop packets, from recorded texts, and in a namespace with rules that really drop."""

import json
import os
import shutil
import subprocess

import pytest

from assay.errors import EvidenceError
from assay.evidence import packet_filters
from assay.hosts.local import Local
from assay.machine.route_hops import hops
from assay.observers.policers import MARK, OBSERVER
from assay.records import Edge, ServerNode, Snapshot, Subject
from stage.observer_looks import SECOND_NS, look, the_series

SUBJECT = Subject(reaches=("198.18.5.2",))
OVER = {"limit": {"rate": 10, "burst": 5, "per": "second", "rate_unit": "mbytes", "burst_unit": "mbytes", "inv": True}}
COUNTER = {"counter": {"packets": 7, "bytes": 9000}}
MATCH = {"match": {"op": "==", "left": {"payload": {"protocol": "tcp", "field": "dport"}}, "right": 80}}
CHANCE = {"match": {"op": "<", "left": {"numgen": {"mode": "random", "mod": 100, "offset": 0}}, "right": 1}}


def ruleset(*expressions, hook="input", **more):
    chain = {"chain": {"family": "inet", "table": "t", "name": "c", "hook": hook, **more}}
    objects = [
        {"metainfo": {"version": "1.0"}},
        {"limit": {"family": "inet", "table": "t", "name": "slow", **OVER["limit"]}},
        {"counter": {"family": "inet", "table": "t", "name": "k", "packets": 3, "bytes": 1}},
        chain,
    ]
    rules = [{"rule": {"family": "inet", "table": "t", "chain": "c", "handle": 4, "expr": list(one)}} for one in expressions]
    return json.dumps({"nftables": [*objects, *rules]})


def told(*expression, **more):
    return [
        (one.words, one.packets, one.bytes_per_s, one.packets_per_s) for one in packet_filters.of_nft(ruleset(expression, **more))
    ]


RATE = "limit rate over 10 mbytes/second (nft, table inet t, chain c)".replace("inet ", "")
MIB10 = 10 * 1024**2


def test_rules_of_nft_that_drop():
    drop, accept = {"drop": None}, {"accept": None}
    assert told(MATCH, OVER, COUNTER, drop) == [(RATE, 7, MIB10, None)]
    assert told(MATCH, COUNTER, OVER, drop) == [(RATE, None, MIB10, None)], "a counter before the limit counts what passes"
    assert told({"limit": "slow"}, {"counter": "k"}, drop) == [(RATE, 3, MIB10, None)], "objects with a name"
    assert told({"set": {"op": "update", "elem": {}, "set": "@s", "stmt": [OVER]}}, COUNTER, drop) == [(RATE, 7, MIB10, None)]
    within = {"limit": {"rate": 600, "per": "minute"}}
    assert told(within, accept) == [("limit rate 600/minute (nft, table t, chain c)", None, None, 10.0)]
    assert told(CHANCE, COUNTER, drop) == [("drop by chance (nft, table t, chain c)", 7, None, None)]
    assert told(CHANCE, drop)[0][1] is None
    assert told(MATCH, COUNTER, drop) == [("drop (nft, table t, chain c)", 7, None, None)]
    assert told(OVER, {"jump": {"target": "away"}})[0][2] == MIB10
    assert told({"quota": {"val": 5, "val_unit": "mbytes", "inv": True}}, COUNTER, drop)[0][0].startswith("quota over 5 mbytes")
    assert told(MATCH, drop) == told(MATCH, COUNTER, accept) == told(OVER, {"log": None}) == [], "nothing to hold a load against"
    (out,) = packet_filters.of_nft(ruleset((OVER, drop), hook="output"))
    assert out.is_outgoing
    assert [*packet_filters.of_nft("")] == []
    with pytest.raises(EvidenceError, match="expected JSON"):
        [*packet_filters.of_nft("table inet t {")]


QDISCS = """[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"options":{},"drops":0},
{"kind":"netem","handle":"8001:","dev":"eth0","root":true,"options":{"limit":1000,"loss-random":{"loss":0.01,"correlation":0}},
"bytes":4,"packets":3,"drops":31},{"kind":"tbf","dev":"eth1","options":{"rate":12500000},"drops":9}]"""
FILTERS = """= eth0 ingress
filter protocol all pref 49152 matchall chain 0
filter protocol all pref 49152 matchall chain 0 handle 0x1
  not_in_hw (rule hit 1200)
    action order 1:  police 0x1 rate 8Mbit burst 64Kb mtu 2Kb action drop overhead 0b
    ref 1 bind 1  installed 3 sec used 0 sec firstused 2 sec
    Action statistics:
    Sent 1817000 bytes 1200 pkt (dropped 321, overlimits 321 requeues 0)
    backlog 0b 0p requeues 0

= eth0 egress
filter protocol all pref 1 u32 chain 0 fh 800::800 order 2048 key ht 800 bkt 0 terminal flowid not_in_hw
    action order 1: gact action drop
     random type none pass val 0
     index 1 ref 1 bind 1
    Action statistics:
    Sent 90 bytes 2 pkt (dropped 2, overlimits 0 requeues 0)
"""


def test_qdiscs_and_filters_of_tc_that_drop():
    (loss,) = packet_filters.of_qdiscs(QDISCS)
    assert (loss.words, loss.packets, loss.is_outgoing) == ("netem loss 1% on eth0", 31, False)
    police, drop = packet_filters.of_filters(FILTERS)
    assert (police.words, police.packets, police.bytes_per_s) == ("tc police 8Mbit on eth0 ingress", 321, 1e6)
    assert (drop.words, drop.packets, drop.is_outgoing) == ("tc drop on eth0 egress", 2, True)


LINKS = """1: lo: <LOOPBACK,UP> mtu 65536 qdisc noqueue state UNKNOWN\\    link/loopback 00:00 brd 00:00 promiscuity 0
2: eth0@if5: <UP> mtu 1500 xdp qdisc noqueue state UP\\    link/ether 02:42 brd ff:ff \\    prog/xdp id 31 tag 3b185187f1855c4c
"""


def test_programs_that_may_drop_have_no_counter():
    text = "= eth0 ingress\nfilter protocol all pref 49152 bpf chain 0 handle 0x1 drop.o:[classifier] direct-action not_in_hw\n"
    (program,) = packet_filters.of_filters(text)
    (early,) = packet_filters.of_links(LINKS)
    assert (program.words, program.packets) == ("tc bpf drop.o:[classifier] on eth0 ingress", None)
    assert (early.words, early.packets) == ("XDP program on eth0", None)


def printed(*rules, status=0, filters="", tables=""):
    return f"{ruleset(*rules)}|{status}\n{MARK}[]\n{MARK}{filters}\n{MARK}{LINKS.splitlines()[0]}\n{MARK}{tables}"


def counting(packets):
    return (OVER, {"counter": {"packets": packets, "bytes": 1}}, {"drop": None})


def parsed(*looks, where="the server's network"):
    edges = (Edge.ARMED, Edge.POLL, Edge.LAST)
    seen = [Snapshot(edge=edges[min(at, 2)], at_ns=at * SECOND_NS, took_ns=1, raw={where: one}) for at, one in enumerate(looks)]
    return OBSERVER.parse("h", "p", seen, SUBJECT)


def test_drops_over_time_also_of_a_rule_that_comes_later_or_is_replaced():
    subject = f"{RATE} in the server's network"
    rows = {"rises": (5, 9), "comes later": (None, 4), "is replaced": (9, 2), "goes": (3, 8, None)}
    for name, values in rows.items():
        found = parsed(*(printed(*([counting(value)] if value is not None else [])) for value in values))
        wanted = {"rises": [0, 4], "comes later": [0, 4], "is replaced": [0, 2], "goes": [0, 5, 5]}[name]
        assert list(the_series(found, "dropped_packets", subject).value) == wanted, name
    assert list(the_series(parsed(printed(), printed()), "rules").value) == [0, 0]


def test_what_could_not_be_listed_is_missing():
    found = parsed(printed(status=1), printed(status=1))
    assert "Run as root" in found.missing["policers.rules"]
    assert not [one for one in found.series if one.metric == "rules"]
    unread = printed(tables="unread\n")
    assert "iptables-legacy" in parsed(unread, unread).missing["policers.rules"], "tables that no program lists"
    assert OBSERVER.read(Local(), Subject()) == {}
    assert OBSERVER.parse("h", "p", [], Subject()).missing == {}


needs_spaces = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, ("ip", "nft", "tc", "nsenter"))), reason="needs root, ip, nft, tc, nsenter"
)


def run(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def row():
    """Three namespaces in a row: client, router, server; each a name."""
    names = [f"assay-p{os.getpid()}-{role}" for role in "crs"]
    client, router, server = names
    try:
        for name in names:
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        for number, other in ((1, client), (2, server)):
            run("ip", "-n", router, "link", "add", f"r{number}", "type", "veth", "peer", "name", "eth0", "netns", other)
            for place, device, end in ((router, f"r{number}", 1), (other, "eth0", 2)):
                run("ip", "-n", place, "address", "add", f"198.18.{90 + number}.{end}/24", "dev", device)
                run("ip", "-n", place, "link", "set", device, "up")
            run("ip", "-n", other, "route", "add", "default", "via", f"198.18.{90 + number}.1")
        run("ip", "netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


@pytest.mark.root
@needs_spaces
def test_a_rule_of_a_router_between_is_found_and_counted(row, tmp_path):
    client, router, server = row
    run("ip", "netns", "exec", router, "nft", "add table inet t; add chain inet t c { type filter hook forward priority 0; }")
    run(
        "ip",
        "netns",
        "exec",
        router,
        "nft",
        "add rule inet t c udp dport 9 limit rate over 2/hour burst 1 packets counter drop",
    )
    run("ip", "netns", "exec", server, "nft", "add table ip u; add chain ip u d { type filter hook input priority 0; }")
    run("ip", "netns", "exec", server, "nft", "add rule ip u d limit rate over 9 mbytes/second counter drop")
    assert list(hops(Local(), f"/run/netns/{client}", "198.18.92.2")) == [f"/run/netns/{router}"]
    sleeping = [subprocess.Popen(["ip", "netns", "exec", name, "sleep", "60"]) for name in (client, server)]
    try:
        (tmp_path / "pid").write_text(f"{sleeping[1].pid}")
        node = ServerNode(pid_file=str(tmp_path / "pid"), address="198.18.92.2")
        subject = Subject(pids=(sleeping[0].pid,), server=(node,), reaches=("198.18.92.2",))
        while run("ip", "netns", "identify", str(sleeping[1].pid)).strip() != server:
            pass
        first = look(OBSERVER, Local(), subject, Edge.ARMED, 0)
        run("ip", "netns", "exec", client, "bash", "-c", "for i in 1 2 3 4 5 6; do echo > /dev/udp/198.18.92.2/9; done")
        last = look(OBSERVER, Local(), subject, Edge.LAST, 1)
    finally:
        for one in sleeping:
            one.kill()
            one.wait()
    found = OBSERVER.parse("h", "p", [first, last], subject)
    assert found.missing == {}
    rises = {one.subject: one.value[-1] for one in found.series if one.metric == "dropped_packets"}
    assert rises == {
        "limit rate over 2/hour (nft, table t, chain c) in the network of router 1": pytest.approx(5, abs=1),
        "limit rate over 9 mbytes/second (nft, table u, chain d) in the server's network": 0,
    }
