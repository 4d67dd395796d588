"""The plug `middlebox`: a box between two namespaces that forwards, filters and shapes, and nothing of it afterwards."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from assay import catalogue, measures
from assay.hosts.local import Local
from assay.records import EndpointKind, Measure, Outcome, TargetSpec
from assay.targets import middlebox
from stage.assay_process import Bench, kill, wait_until
from stage.ends_stage import conduct
from stage.rows import each
from stage.targets_host import HOST, given, needs_root

TARGET = catalogue.find("targets", "middlebox")
SECOND = 10**9
needs_nft = pytest.mark.skipif(not shutil.which("nft", path=os.environ["PATH"] + ":/usr/sbin"), reason="no nft")


def spec(**knobs):
    return TargetSpec(name="box", kind="middlebox", knobs=knobs)


def links():
    return {path.name for path in Path("/sys/class/net").iterdir()}


@pytest.mark.root
@needs_root
@each(
    "knobs mistakes",
    ({}, []),
    ({"queue": 5000}, ["found queue without rate"]),
    ({"rate": 10**6, "queue": 1000}, ["found queue 1 kB; expected at least one packet, 1500 B"]),
    (
        {"sysctls": ("net.ipv4.tcp_nothing=1", "kernel.hostname=x", "net.ipv4.tcp_congestion_control=vegas9")},
        ["found congestion 'vegas9'", "found sysctl 'kernel.hostname=x'", "found sysctl 'net.ipv4.tcp_nothing=1'"],
    ),
    (
        {"rules": 5, "firewall": "none", "queue": 10},
        ["found firewall none with rules", "found queue without", "found queue 10 B"],
    ),
)
def test_what_is_wrong_is_said_at_once(tmp_path, knobs, mistakes):
    found = TARGET.check(HOST, given(TARGET, None, tmp_path, **knobs))
    assert len(found) == len(mistakes)
    assert all(text.startswith(wanted) for text, wanted in zip(sorted(found), sorted(mistakes), strict=True)), found


class ElsewhereOrNobody(Local):
    def __init__(self, *, far):
        super().__init__("s")
        self.far = far

    def is_root(self):
        return False


@each("far wanted", (True, "found host s; expected this machine"), (False, "network namespaces need root"))
def test_where_there_can_be_none(tmp_path, far, wanted):
    assert any(text.startswith(wanted) for text in TARGET.check(ElsewhereOrNobody(far=far), given(TARGET, None, tmp_path)))


@each("kind rule", ("nftables", "ip saddr 198.19.1.43 drop"), ("iptables", "-A FORWARD -s 198.19.1.43/32 -j DROP"))
def test_so_many_rules(kind, rule):
    text = middlebox.rules_of(kind, 300, tracked=False)
    assert text.count("198.19.") == 300
    assert rule in text
    assert "198.19.1.44" not in text
    assert "ct state" not in text
    assert "ctstate" not in text


@pytest.mark.root
@needs_root
def test_it_is_made_with_settings_of_both_ends_alone_and_leaves_nothing(placed, monkeypatch):
    before, own = links(), Path("/proc/sys/net/ipv4/tcp_rmem").read_text()
    settings = ("net.ipv4.tcp_congestion_control=reno", "net.ipv4.tcp_rmem = 4096 65536 1048576")
    made = placed(sysctls=settings, rate=25_000_000)
    place = made.place
    load, box, server = place.private["kept"]
    assert (place.kind, place.address) == (EndpointKind.SOCKET, "198.18.2.1")
    assert links() == before, "nothing of it is in the lab's own namespace"
    assert len({Path(f"/proc/{pid}/ns/net").readlink() for pid in (load, server, box, "self")}) == 4
    done = subprocess.run(
        ["nsenter", f"--net=/proc/{load}/ns/net", "ip", "route", "get", place.address], capture_output=True, check=True
    )
    assert b"via 198.18.1.2 dev load0" in done.stdout
    facts = made.facts()
    assert (facts["box.firewall"], facts["box.version"]) == ("none", "plain forwarding")
    assert (facts["server.route"], facts["server.route_kind"]) == ("load0", "virtual")
    assert (facts["server.limit_bytes_per_s"], facts["server.limit"]) == ("25000000", "tbf of the box, 200 Mbit/s")
    assert (facts["ends.tcp_congestion_control"], facts["ends.tcp_rmem"]) == ("reno", "4096 65536 1048576")
    assert Path("/proc/sys/net/ipv4/tcp_rmem").read_text() == own
    assert place.server.addresses == (place.address,)
    made.end()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in (load, server, box)))
    assert placed.ledger.unwind() == ()
    monkeypatch.setattr(middlebox, "rules_of", lambda *given, **more: "no rules at all")
    with pytest.raises(Exception, match=r"nft|iptables"):
        placed(rules=5)
    assert placed.ledger.unwind() == (), "a step that fails undoes the earlier ones"


@pytest.mark.root
@needs_root
@pytest.mark.parametrize(
    "knobs", [{}, {"offload": True}, pytest.param({"rules": 200, "conntrack": True, "firewall": "nftables"}, marks=needs_nft)]
)
def test_both_ends_meet_through_the_box(tmp_path, knobs):
    run, observations = conduct(tmp_path, target=spec(**knobs), observers=("middlebox",), duration=SECOND, message=65536)
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)
    (phase,) = run.phases
    assert phase.servers[0].net.address.startswith("198.18.2.1:")
    (connection,) = phase.clients[0].net.connections
    assert connection.local.startswith("198.18.1.1:")
    found = {
        name: measures.value(run, observations, Measure(workload="n", operation="send", figure=f"@local.{name}"))
        for name in ("box_packets_per_s", "box_drops", "box_cpu_share")
    }
    sent = sum(total.bytes for total in phase.clients[0].operations)
    packets = found["box_packets_per_s"].value * (phase.end_ns - phase.start_ns) / 1e9
    assert packets > sent / 65536 / 2
    if "offload" not in knobs:
        assert packets > 0.5 * sent / 1448, "packets are those of a wire"
    assert 0 <= found["box_drops"].value < packets, "as fast as the ends go, the box may be overrun"
    if "offload" in knobs:
        assert found["box_cpu_share"] is None
    else:
        assert 0.01 < found["box_cpu_share"].value < 2.1
    metrics = {one.metric for one in observations.series if one.layer == "middlebox"}
    assert {"packets", "bytes", "dropped", "forwarded"} <= metrics
    assert {"connections", "invalid"} <= metrics


@pytest.mark.root
@needs_root
def test_its_shaper_sets_the_rate_and_its_queue_drops_the_rest(tmp_path):
    run, observations = conduct(
        tmp_path,
        target=spec(rate=1_250_000, queue=20_000),
        observers=("middlebox",),
        kind="net_udp",
        rate=1700,
        duration=2 * SECOND,
    )
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)

    def value(figure):
        return measures.value(run, observations, Measure(workload="n", operation="send", figure=figure)).value

    assert value("delivered_bytes_per_s") < 1_250_000
    assert value("@local.box_drops") > 100
    lost = run.phases[0].servers[0].net.datagrams.lost
    assert value("@local.box_drops") == pytest.approx(lost, rel=0.1)


@pytest.mark.root
@needs_root
def test_a_lab_that_is_killed_leaves_no_namespace(tmp_path):
    bench = Bench(tmp_path)
    (tmp_path / "e.toml").write_text(
        'title = "Killed"\nquestion = "What is left?"\nrepeats = 1\n[targets.box]\nkind = "middlebox"\n'
        '[workloads.n]\nkind = "net_stream"\nduration = "60 s"\nquiesce = "0 s"\n'
    )
    lab = bench.start("run", "e.toml", "--progress", "none")
    wait_until(lambda: len(bench.engines()) == 2)
    kept = [pid for pid, command in bench.processes().items() if command.split()[:1] == ["cat"]]
    assert len(kept) == 3
    kill(lab.pid)
    lab.communicate()
    wait_until(lambda: not bench.processes())
    assert bench.run("doctor").returncode == 0
    assert bench.traces() == []
