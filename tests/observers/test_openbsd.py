import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.openbsd import OBSERVER, cpu_times
from stage.observer_looks import readings, the_series
from stage.unix_hosts import change, phase, recorded_system, unix_host


@pytest.fixture
def server(tmp_path):
    texts, commands = recorded_system(tmp_path, "openbsd-7.3")
    with unix_host("s", commands) as host:
        yield texts, host


def test_counters_rise_under_the_keys_of_linux(server):
    texts, host = server

    def second():
        change(texts / "sysctl", "2391,0,1987,60,117,976656", "2441,0,2037,60,117,976656")
        change(texts / "netstat-m", "0 requests for memory denied", "5 requests for memory denied")
        change(texts / "netstat-idn", "136000     1     0    7\nem0     1500  10", "136100     1     0    9\nem0     1500  10")
        octets = (texts / "netstat-ibn").read_text().replace("30412000", "30512000")
        (texts / "netstat-ibn").write_text(octets)

    found = phase(OBSERVER, host, second)
    assert the_series(found, "user_ns").value[1] == 10**9, "the mean over two CPUs is half of their time"
    assert the_series(found, "total_ns").value[1] == 2 * 10**9
    assert the_series(found, "mbuf_requests_denied").value[1] == 5
    assert the_series(found, "mbuf_clusters_in_use").value[0] == 33
    assert the_series(found, "tx_drops", "interface:em0").value[1] == 2
    (read,) = readings(found, direction="read", span="before", subject="interface:em0")
    assert (read.bytes, read.operations) == (100000, 0)
    assert the_series(found, "free_bytes").value[0] == 482182 * 4096
    assert found.missing["block.read_bytes"] == "OpenBSD does not report it"


def test_the_machine_and_the_older_times_of_five_states():
    times = cpu_times({"kern.cp_time": "10,20,30,40,50", "kern.clockrate": "hz = 100, stathz = 100"}, 1)
    assert times == {"user": 300_000_000, "system": 700_000_000, "idle": 500_000_000}
    with pytest.raises(EvidenceError, match="stathz"):
        cpu_times({"kern.cp_time": "1,2,3,4,5"}, 2)
    assert "OpenBSD" in OBSERVER.available(Local())


def test_unknown_times_are_refused(subtests):
    for text in ["", "1,2,3"]:
        with subtests.test(text=text), pytest.raises(EvidenceError, match="expected 5 or 6"):
            cpu_times({"kern.cp_time": text, "kern.clockrate": "stathz = 100"}, 2)
