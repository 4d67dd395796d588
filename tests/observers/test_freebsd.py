import pytest

from assay import catalogue, sampler
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.freebsd import OBSERVER, devices, figures
from assay.records import Subject
from stage.observer_looks import readings, the_series
from stage.unix_hosts import change, phase, recorded_system, unix_host


@pytest.fixture
def server(tmp_path):
    texts, commands = recorded_system(tmp_path, "freebsd-14.5")
    with unix_host("s", commands) as host:
        yield texts, host


def test_counters_rise_and_memory_and_load_are_gauges_and_the_rest_is_missing(server):
    texts, host = server

    def second():
        change(texts / "sysctl", "116 0 85 4 30896 205 0 103 6 30787", "243 0 85 4 31023 205 0 357 6 30787")
        change(texts / "netstat-ibdn", "30412 ", "35412 ")
        change(texts / "netstat-m", "0/0/0 requests for mbufs denied", "3/1/0 requests for mbufs denied")
        change(texts / "netstat-s-p-tcp", "16916 data", "16926 data")
        change(texts / "iostat-Ixd", "5735055021.5", "5735055121.5")

    found = phase(OBSERVER, host, second, subject=Subject(devices=("ada0",)))
    assert list(the_series(found, "user_ns").value) == [0, 10**9, 10**9, 10**9]
    assert the_series(found, "system_ns").value[1] == 2 * 10**9
    assert the_series(found, "idle_share").value[0] == pytest.approx(0.25)
    assert the_series(found, "core_busy_ns", "cpu:1").value[1] == 2 * 10**9
    assert the_series(found, "rx_bytes", "interface:vtnet0").value[1] == 5000
    assert the_series(found, "mbuf_requests_denied").value[1] == 4
    assert the_series(found, "mbuf_clusters_limit").value[0] == 109049
    assert the_series(found, "tcp_retransmitted_segments").value[1] == 10
    (read,) = readings(found, rung="L9", direction="read", span="before")
    assert (read.subject, read.bytes, read.uncertainty_bytes) == ("device:ada0", 102400, 1024)
    found = phase(OBSERVER, server[1])
    assert the_series(found, "total_bytes").value[0] == 2111283200
    assert the_series(found, "free_bytes").value[0] == 482182 * 4096
    assert the_series(found, "available_bytes").value[0] == 482710 * 4096
    assert the_series(found, "load_average").value[0] == 0.32
    observers = [catalogue.find("observers", name) for name in catalogue.names("observers")]
    present, missing = sampler.roll_call(server[1], observers)
    assert [one.name for one in present] == ["freebsd", "unix_settings"]
    assert missing["cpu.steal_ns"] == missing["L8.flush"] == "FreeBSD does not report it"
    assert phase(OBSERVER, server[1]).missing["cpu.steal_ns"] == "FreeBSD does not report it"
    assert "network.rx_bytes" not in missing


def test_a_look_is_one_exchange(server, monkeypatch):
    host, count = server[1], []
    shell = type(host._first)
    asked = shell.ask
    OBSERVER.read(host, Subject())
    monkeypatch.setattr(shell, "ask", lambda *words, **more: count.append(1) or asked(*words, **more))
    OBSERVER.read(host, Subject())
    assert len(count) == 1


def test_on_linux_it_does_not_look_and_nothing_is_missing():
    assert "FreeBSD" in OBSERVER.available(Local())
    assert sampler.roll_call(Local(), [OBSERVER]) == ((), {})


def test_the_machine_has_a_name_and_a_boot(server, tmp_path):
    texts, host = server
    first = host.machine()
    assert len(first.serial) == len(first.boot) == 64
    change(texts / "sysctl", "sec = 1789900651", "sec = 1789990651")
    with unix_host("s", tmp_path / "freebsd-14.5-commands") as rebooted:
        after = rebooted.machine()
    assert (after.serial == first.serial, after.boot == first.boot) == (True, False)


def test_a_damaged_text_is_refused(subtests):
    for texts in [
        {"sysctl": "kern.cp_times: 1 2 3\n"},
        {"sysctl": "kern.cp_times: 1 2 3 4 5\n"},
        {"sysctl": "", "interfaces": "nothing"},
    ]:
        with subtests.test(texts=texts), pytest.raises(EvidenceError, match="expected"):
            figures({"interfaces": "Name\n", "tcp": "", "mbufs": "", "devices": "", **texts})


def test_what_is_damaged_is_refused(server):
    texts, host = server
    with pytest.raises(EvidenceError, match="falling"):
        phase(OBSERVER, host, lambda: change(texts / "netstat-ibdn", "30412 ", "10412 "))
    with pytest.raises(EvidenceError, match="expected numbers"):
        devices("device r/i w/i kr/i kw/i qlen tsvc_t/i sb/i\nada0 1 2 3 many 5 6 7\n")
