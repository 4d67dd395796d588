import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.illumos import OBSERVER, figures
from assay.records import Subject
from stage.observer_looks import readings, the_series
from stage.unix_hosts import change, phase, recorded_system, unix_host


@pytest.fixture
def server(tmp_path):
    texts, commands = recorded_system(tmp_path, "illumos-smartos")
    with unix_host("s", commands) as host:
        yield texts, host


def test_counters_rise_under_the_keys_of_linux(server):
    texts, host = server

    def second():
        change(texts / "kstat", "cpu_nsec_user\t1100000000", "cpu_nsec_user\t1600000000")
        change(texts / "kstat", "retransSegs\t967731519", "retransSegs\t967731529")
        change(texts / "kstat", "rbytes64\t113983614", "rbytes64\t113993614")
        change(texts / "kstat-disk", "nread\t1331127296", "nread\t1331131392")

    found = phase(OBSERVER, host, second, subject=Subject(devices=("sd0",)))
    assert the_series(found, "user_ns").value[1] == the_series(found, "core_busy_ns", "cpu:0").value[1] == 500_000_000
    assert the_series(found, "user_share").value[0] == 1
    assert the_series(found, "tcp_retransmitted_segments").value[1] == 10
    assert the_series(found, "rx_bytes", "interface:net0").value[1] == 10000
    assert [one.bytes for one in readings(found, rung="L9", direction="read", span="before")] == [4096]
    assert the_series(found, "free_bytes").value[0] == 51757 * 4096
    assert the_series(found, "arc_bytes").value[0] == 1 << 30
    assert the_series(found, "load_average").value[0] == 82 / 256
    assert found.missing["memory.available_bytes"] == "SunOS does not report it"


def test_a_host_without_cpu_times_is_refused_and_linux_is_not_looked_at():
    with pytest.raises(EvidenceError, match="expected them of each CPU"):
        figures({"kstat": "link:0:net0:rbytes64\t1\n", "disks": "", "page": "4096"})
    assert "SunOS" in OBSERVER.available(Local())
