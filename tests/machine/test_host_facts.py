from assay.hosts.local import Local
from assay.machine import host_facts

RINGS = """Ring parameters for eth0:
Pre-set maximums:
RX:		4096
TX:		4096
RX Mini:	n/a
Current hardware settings:
RX:		256
TX:		512
RX Mini:	n/a
"""
OFFLOADS = """Features for eth0:
rx-checksumming: on [fixed]
tx-checksumming: on
	tx-checksum-ipv4: off [fixed]
tcp-segmentation-offload: off
"""
COALESCING = """Coalesce parameters for eth0:
Adaptive RX: on  TX: n/a
rx-usecs:	8
rx-frames:	n/a
"""
DRIVER = """driver: ixgbe
version: 6.1.0
firmware-version: 0x8000095c
bus-info: 0000:03:00.0
"""


def test_what_a_card_is_told_to_do(subtests):
    for text, pairs in [
        (RINGS, {"most_rx": "4096", "most_tx": "4096", "rx": "256", "tx": "512"}),
        (
            OFFLOADS,
            {"rx-checksumming": "on", "tx-checksumming": "on", "tx-checksum-ipv4": "off", "tcp-segmentation-offload": "off"},
        ),
        (COALESCING, {"adaptive_rx": "on TX: n/a", "rx-usecs": "8"}),
        (DRIVER, {"driver": "ixgbe", "version": "6.1.0", "firmware-version": "0x8000095c", "bus-info": "0000:03:00.0"}),
        ("", {}),
    ]:
        with subtests.test(text=text, pairs=pairs):
            assert dict(host_facts.ethtool_pairs(text)) == pairs


def test_equal_parts_are_one_fact_with_every_value_that_occurs():
    assert host_facts.distinct_values(["powersave\n", "performance\n", "powersave\n"]) == "performance powersave"
    assert host_facts.distinct_values(["0, 1\n", "2, 3\n"]) == "0,1 2,3"
    assert host_facts.distinct_values([]) == ""


def test_the_environment_tells_its_size_and_what_changes_programs_and_no_secret():
    text = "HOME=/root\0LD_PRELOAD=/usr/lib/libeatmydata.so\0TOKEN=secret\0"
    assert dict(host_facts.environment_pairs(text, ("LD_PRELOAD", "GLIBC_TUNABLES"))) == {
        "process.environment_bytes": str(len(text)),
        "process.environment.LD_PRELOAD": "/usr/lib/libeatmydata.so",
    }


def test_interrupts_of_the_bus_device_that_a_disk_hangs_on(tmp_path):
    pci = tmp_path / "sys/devices/pci0/0000:00:02.0"
    (pci / "virtio1/block/vda").mkdir(parents=True)
    (pci / "msi_irqs").mkdir()
    (tmp_path / "sys/block/vda").mkdir(parents=True)
    (tmp_path / "sys/block/vda/device").symlink_to(pci / "virtio1")
    for number in ("35", "36"):
        (pci / "msi_irqs" / number).write_text("msix\n")
    found = host_facts.interrupt_files(Local(root=tmp_path), "device.0", "/sys/block/vda/device")
    assert found == {f"device.0.irq_cpus[]{number}": f"/proc/irq/{number}/smp_affinity_list" for number in ("35", "36")}
    assert host_facts.interrupt_files(Local(root=tmp_path), "device.0", "/sys/block/vdb/device") == {}


def test_interfaces_of_containers_that_come_and_go_are_no_facts(tmp_path):
    net = tmp_path / "sys/class/net"
    for entry in ("lo", "eth0/device", "eth1/device", "bond0/lower_eth1", "veth12", "docker0/lower_veth12", "tap0"):
        (net / entry).mkdir(parents=True)
    assert host_facts.interfaces(Local(root=tmp_path)) == ("bond0", "eth0", "eth1")
    assert host_facts.interfaces(Local(root=tmp_path / "none")) == ()
