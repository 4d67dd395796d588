import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.esxi import OBSERVER, blocks
from assay.records import Subject
from stage.observer_looks import readings, the_series
from stage.unix_hosts import change, phase, recorded_system, unix_host

DEVICE = "eui.99e91f03b82de449"


@pytest.fixture
def server(tmp_path):
    texts, commands = recorded_system(tmp_path, "esxi-7.0")
    with unix_host("s", commands) as host:
        yield texts, host


def test_counters_rise_under_the_keys_of_linux(server):
    texts, host = server

    def second():
        change(texts / "nic-stats", "Bytes received: 664124780523852", "Bytes received: 664124780524852")
        change(texts / "nic-stats", "packets dropped: 2452783244", "packets dropped: 2452783250")
        change(texts / "device-stats", "   Blocks Read: 2390925674", "   Blocks Read: 2390925676")

    found = phase(OBSERVER, host, second, subject=Subject(devices=(DEVICE,)))
    assert the_series(found, "rx_bytes", "interface:vmnic2").value[1] == 1000
    assert the_series(found, "rx_drops", "interface:vmnic2").value[1] == 6
    assert [one.bytes for one in readings(found, rung="L9", direction="read", span="before")] == [1024]
    assert the_series(found, "total_bytes").value[0] == 137326428160
    assert found.missing["cpu.user_ns"] == "ESXi does not report it"


def test_a_line_that_is_no_counter_is_refused():
    with pytest.raises(EvidenceError, match="expected NAME: VALUE"):
        blocks("vmnic0\n   nonsense here\n")


def test_the_machine_has_a_name_and_no_boot_and_linux_is_not_looked_at(server):
    assert (len(server[1].machine().serial), server[1].machine().boot) == (64, "")
    assert "VMkernel" in OBSERVER.available(Local())
