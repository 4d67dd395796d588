"""The observer of the wire: its parse on recorded counts, what it refuses, and really run beside searches on the loopback."""

import json
import os
import socket
import threading

import pytest

from assay import sampler
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.wire import OBSERVER, door
from assay.records import Edge, Snapshot, Subject
from assay.undo.ledger import Ledger
from stage import ldap_captures as made
from stage.observer_looks import the_series

HOST = Local()
NOTHING = dict.fromkeys(
    (
        *("entries", "connections", "frames", "opaque_bytes", "capture_drops", "gaps", "gap_bytes", "cut_bytes"),
        *("malformed", "evicted_connections"),
    ),
    0,
)


def snapshot(edge, at_s, operations=None, clients=None, **counts):
    kinds = {kind: {"requests": count, "answered": count} for kind, count in (operations or {}).items()}
    listed = [{"client": address, "requests": requests} for address, requests in (clients or {}).items()]
    found = {**NOTHING, "operations": kinds, "clients": listed, **counts}
    return Snapshot(edge=edge, at_ns=at_s * 10**9, took_ns=1, raw={"counts": found})


def parsed(*snapshots):
    return OBSERVER.parse("h", "p", snapshots, Subject())


def test_each_kind_and_each_client_is_a_counter_from_the_first_look():
    found = parsed(
        snapshot(Edge.ARMED, 0, {"bind": 2}, {"10.0.0.1": {"bind": 2}}, connections=2),
        snapshot(
            Edge.LAST,
            1,
            {"bind": 3, "search": 8},
            {"10.0.0.1": {"bind": 2, "search": 5}, "::1": {"bind": 1, "search": 3}},
            connections=3,
            capture_drops=4,
            opaque_bytes=9,
        ),
    )
    assert list(the_series(found, "bind").value) == [0, 1]
    assert list(the_series(found, "search").value) == [0, 8]
    assert list(the_series(found, "search", "client:10.0.0.1").value) == [0, 5]
    assert list(the_series(found, "search", "client:::1").value) == [0, 3]
    assert [the_series(found, name).value[-1] for name in ("connections", "capture_drops", "modify")] == [1, 4, 0]
    assert the_series(found, "opaque_bytes").unit == "bytes"


def test_without_an_answer_there_is_nothing_and_damaged_counts_are_refused():
    assert not parsed(Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw={})).series
    with pytest.raises(EvidenceError, match="expected the counts"):
        parsed(Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw={"counts": {"operations": {}}}))
    with pytest.raises(EvidenceError, match="falling"):
        parsed(snapshot(Edge.ARMED, 0, {"search": 3}), snapshot(Edge.LAST, 1, {"search": 2}))


def test_host_and_port_of_a_url(subtests):
    for url, expected in [
        ("ldap://127.0.0.1:3890", ("127.0.0.1", 3890)),
        ("ldap://directory", ("directory", 389)),
        ("ldaps://[::1]/", ("::1", 636)),
        ("ldapi://%2Frun%2Fldapi", None),
    ]:
        with subtests.test(url=url, expected=expected):
            assert door(url) == expected


def test_the_interface_is_that_of_the_kernels_route():
    *_, options = OBSERVER.beside.argv(HOST, Subject(endpoints=("ldap://127.0.0.1:3890", "ldap://127.0.0.1:3891")))
    assert json.loads(options) == {"interface": "lo", "ports": [3890, 3891]}


def test_clients_without_a_wire_are_refused(subtests):
    for endpoints in [(), ("ldapi://%2Frun%2Fldapi",), ("/srv/data",)]:
        with subtests.test(endpoints=endpoints), pytest.raises(EvidenceError, match="a local socket has no wire"):
            OBSERVER.beside.argv(HOST, Subject(endpoints=endpoints))


def test_a_name_without_an_address_is_refused():
    with pytest.raises(EvidenceError, match="interfaces to the server: none"):
        OBSERVER.beside.argv(HOST, Subject(endpoints=("ldap://nowhere.invalid",)))


def test_it_looks_on_request_only():
    assert OBSERVER.on_request
    assert OBSERVER.watch is None


def answer(server, count):
    with server.accept()[0] as connection:
        for _ in range(count):
            connection.recv(4096)
            connection.sendall(made.message(1, made.result(0x65)))


def searched(address, count):
    with socket.create_connection(address) as client:
        for _ in range(count):
            client.sendall(made.message(1, made.search(made.equal("cn", "a"))))
            client.recv(4096)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root")
def test_beside_a_phase_it_counts_what_has_passed_at_each_look(tmp_path):
    ledger = Ledger(tmp_path / "ledger")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        running = sampler.companion(HOST, ledger, OBSERVER.beside, Subject(endpoints=(f"ldap://127.0.0.1:{address[1]}",)))
        try:
            counts = []
            for count in (0, 30, 12):
                if count:
                    thread = threading.Thread(target=answer, args=(server, count))
                    thread.start()
                    searched(address, count)
                    thread.join()
                counts.append(running.read()["counts"])
            assert running.cpu_ns() > 0
        finally:
            running.end()
    requests = [one["operations"].get("search", {"requests": 0, "answered": 0}) for one in counts]
    assert [(one["requests"], one["answered"]) for one in requests] == [(0, 0), (30, 30), (42, 42)]
    assert [one["connections"] for one in counts] == [0, 1, 2]
    assert counts[-1]["clients"][0]["requests"] == {"search": 42}
    assert not HOST.exists(f"/proc/{running.process.pid}")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="capturing needs root")
def test_an_interface_that_went_away_is_named():
    process = HOST.spawn((*OBSERVER.beside.argv(HOST, Subject(endpoints=("ldap://127.0.0.1",)))[:2], '{"interface": "nowhere9"}'))
    try:
        with pytest.raises(EvidenceError, match="interface nowhere9"):
            OBSERVER.beside.read(HOST, process)
    finally:
        process.kill()
