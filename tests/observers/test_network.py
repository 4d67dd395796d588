import socket
import threading

import pytest

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.network import OBSERVER
from assay.records import Direction, Edge, Rung, Span, Subject
from stage.observer_looks import bumped, look, readings, recorded, replayed, the_series

DEV = "/proc/net/dev"
MIB = 1 << 20


def parsed(*changes, subject=Subject()):  # noqa: B008 - frozen
    return OBSERVER.parse("h", "p", replayed(OBSERVER, recorded("cgroup_v1"), subject, *changes), subject)


def test_received_is_read_and_sent_is_written():
    evidence = parsed({}, {DEV: lambda text: bumped(r"eth0: +(?:\d+ +){8}(\d+)", 500)(bumped(r"eth0: +(\d+)", 9000)(text))})
    clock = readings(evidence, subject="interface:eth0", span=Span.CLOCK, rung=Rung.CLIENT_NIC)
    assert {one.direction: one.bytes for one in clock} == {Direction.READ: 9000, Direction.WRITE: 500}
    assert not readings(evidence, subject="interface:lo"), "the loopback is read only where it is named"
    evidence = parsed({}, {DEV: bumped(r" lo: +(\d+)", 7000)})
    assert list(the_series(evidence, "loopback_bytes").value) == [0, 0, 7000, 7000]
    evidence = parsed()
    assert readings(evidence, subject="interface:eth0", span=Span.CLOCK)
    assert not [one for one in evidence.series if one.subject == "interface:eth0"]
    assert [one for one in parsed(subject=Subject(interfaces=("eth0",))).series if one.subject == "interface:eth0"]
    assert "interface ib7 missing in" in parsed(subject=Subject(interfaces=("ib7",))).missing["L3.read"]


def test_segments_sent_again_and_drops_of_the_queues_are_summed():
    dropped = {"/proc/net/softnet_stat": lambda text: text.replace(" 00000000 ", " 0000000b ", 1)}
    evidence = parsed(dropped, {"/proc/net/snmp": bumped(r"Tcp: -?\d.*?(?: -?\d+){10} (\d+)(?= \d+ \d+ \d+\n)", 4)})
    assert list(the_series(evidence, "softnet_dropped").value) == [0, 11, 11, 11]
    assert list(the_series(evidence, "tcp_retransmitted_segments").value) == [0, 0, 4, 4]


def test_text_of_another_form_is_refused(subtests):
    for path, text in [(DEV, "x\ny\neth0: 1 2"), ("/proc/net/snmp", "Tcp: A\nTcp: 1\n"), ("/proc/net/softnet_stat", "zz\n")]:
        with subtests.test(path=path, text=text), pytest.raises(EvidenceError, match="expected"):
            parsed({}, {path: lambda _, text=text: text})


def test_a_real_mebibyte_over_the_loopback_is_seen_in_both_directions():
    subject = Subject(interfaces=("lo",))
    with socket.create_server(("127.0.0.1", 0)) as server:
        armed = look(OBSERVER, Local(), subject, Edge.ARMED, 0)

        def send():
            with socket.create_connection(server.getsockname()) as client:
                client.sendall(b"x" * MIB)

        sender = threading.Thread(target=send)
        sender.start()
        with server.accept()[0] as connection:
            while connection.recv(65536):
                pass
        sender.join()
    last = look(OBSERVER, Local(), subject, Edge.LAST, 1)
    evidence = OBSERVER.parse("h", "p", [armed, last], subject)
    assert {one.direction for one in evidence.readings} == {Direction.READ, Direction.WRITE}
    assert all(one.bytes >= MIB for one in evidence.readings)
