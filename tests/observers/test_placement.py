"""The observer of placement: a made-up machine with two nodes and an NVMe disk, one without, and this one."""

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.placement import OBSERVER
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import look, recorded, replayed, the_series

NODE = "/sys/devices/system/node"
SOFTIRQS = """                    CPU0       CPU1       CPU2       CPU3
      NET_RX:         10         20         30         40
       BLOCK:          5          5          5          5
"""
NUMASTAT = "numa_hit 100\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 0\nlocal_node 90\nother_node 10\n"
STAT = "42 (assay (x) y) S 1 42 42 0 -1 0 0 0 0 0 1 1 0 0 20 0 2 0 9 0 0" + " 0" * 14 + " {cpu} 0 0 0 0 0"
FILES = {
    "proc/softirqs": SOFTIRQS,
    "proc/42/task/42/stat": STAT.format(cpu=1),
    "proc/42/task/43/stat": STAT.format(cpu=3),
    "sys/devices/system/node/node0/numastat": NUMASTAT,
    "sys/devices/system/node/node0/cpulist": "0-1\n",
    "sys/devices/system/node/node1/numastat": NUMASTAT,
    "sys/devices/system/node/node1/cpulist": "2,3\n",
    "sys/devices/system/node/online": "0-1\n",
    "sys/block/nvme0n1/device/numa_node": "1\n",
    "sys/block/nvme0n1/mq/0/nr_tags": "1\n",
    "sys/block/nvme0n1/mq/1/nr_tags": "1\n",
    "sys/block/sda/device/type": "0\n",
}
SUBJECT = Subject(pids=(42,), devices=("nvme0n1p1",))


@pytest.fixture
def host(tmp_path):
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return Local(root=str(tmp_path))


def parsed(host, *changes, subject=SUBJECT):
    return OBSERVER.parse("h", "p", replayed(OBSERVER, host, subject, *changes), subject)


def test_processors_pages_queues_and_threads_by_node(host):
    before = {"/proc/softirqs": lambda text: text.replace("BLOCK:          5", "BLOCK:        900")}
    under = {"/proc/softirqs": lambda text: text.replace("          5          5\n", "          7         12\n")}
    evidence = parsed(host, before, under)
    assert list(the_series(evidence, "block_softirqs").value) == [0, 9, 9]
    assert list(the_series(evidence, "busiest_block_softirqs").value) == [0, 7, 7]
    evidence = parsed(host, {}, {f"{NODE}/node1/numastat": lambda text: text.replace("other_node 10", "other_node 25")})
    assert list(the_series(evidence, "remote_pages").value) == [0, 15, 15]
    assert list(the_series(evidence, "local_pages").value) == [0, 0, 0]
    assert set(the_series(evidence, "nodes").value) == {2}
    evidence = parsed(host)
    assert set(the_series(evidence, "queues", "device:nvme0n1p1").value) == {2}
    assert set(the_series(evidence, "near_threads", "device:nvme0n1p1").value) == {1}
    assert set(the_series(evidence, "far_threads", "device:nvme0n1p1").value) == {1}
    evidence = parsed(host, subject=Subject(pids=(42,), devices=("sda",)))
    assert not [one for one in evidence.series if one.metric == "far_threads"]


def test_text_of_another_form_is_refused(host, tmp_path):
    (tmp_path / "sys/devices/system/node/node0/numastat").write_text("numa_hit 100\n")
    with pytest.raises(EvidenceError, match="found no local_node in numastat"):
        parsed(host)


def test_kernels_without_nodes_or_soft_interrupts_and_this_machine():
    raw = {"/proc/softirqs": SOFTIRQS, "queues": {}, "disks": {}}
    looks = [Snapshot(edge=edge, at_ns=at, took_ns=1, raw=raw) for at, edge in enumerate((Edge.ARMED, Edge.LAST))]
    evidence = OBSERVER.parse("h", "p", looks, Subject())
    assert set(the_series(evidence, "nodes").value) == {1}
    assert set(evidence.missing) == {"placement.local_pages", "placement.remote_pages"}
    assert "invisible" in OBSERVER.available(recorded("cgroup_v1"))
    looks = [look(OBSERVER, Local(), Subject(), edge, at) for at, edge in enumerate((Edge.ARMED, Edge.LAST))]
    evidence = OBSERVER.parse("h", "p", looks, Subject())
    assert the_series(evidence, "net_rx_softirqs").value[0] == 0
    assert the_series(evidence, "nodes").value[0] >= 1
