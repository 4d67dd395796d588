"""The observer of directory I/O: its parse on recorded counts, and really run beside operations of slapd."""

import contextlib
import os

import pytest

from assay import sampler
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.observers.directory_io import OBSERVER
from assay.records import Edge, ServerNode, Snapshot, Subject
from assay.undo.ledger import Ledger
from stage.dsio_stage import NO_SLAPD, needs, slapd
from stage.observer_looks import the_series

HOST = Local()


def snapshot(edge, at_s, lost=0, **maps):
    return Snapshot(edge=edge, at_ns=at_s * 10**9, took_ns=1, raw={"maps": maps, "lost": lost})


def made(*snapshots):
    return OBSERVER.parse("h", "p", snapshots, Subject())


def test_each_kind_is_a_counter_from_the_first_sample():
    found = made(
        snapshot(Edge.ARMED, 0, ended={"1": 3}, ended_total={"1": 30}, bios={"0,R,1": 1}, bios_total={"0,R,1": 8}),
        snapshot(
            Edge.LAST,
            1,
            lost=2,
            ended={"1": 10, "4": 1},
            ended_total={"1": 100, "4": 7},
            bios={"0,R,1": 1, "4,WS,1": 2},
            bios_total={"0,R,1": 8, "4,WS,1": 16},
            apart={"jbd2/vda-8,WS,1": 1, "dd,R,1": 1},
            apart_total={"jbd2/vda-8,WS,1": 8, "dd,R,1": 8},
        ),
    )
    assert list(the_series(found, "count", "operation:search").value) == [0, 7]
    assert list(the_series(found, "time_ns", "operation:search").value) == [0, 70]
    assert list(the_series(found, "device_write_bytes", "operation:modify").value) == [0, 16 * 512]
    assert list(the_series(found, "device_reads", "outside").value) == [0, 0]
    assert list(the_series(found, "device_writes", "others").value) == [0, 1]
    assert the_series(found, "lost_events").value[-1] == 2
    assert {one.unit for one in found.series if one.metric.endswith("_bytes")} == {"bytes"}
    assert not found.missing


def test_kinds_that_are_not_seen_are_missing_and_a_fall_is_refused():
    found = made(snapshot(Edge.ARMED, 0, unseen={"3": 1, "8": 1}), snapshot(Edge.LAST, 1, unseen={"3": 1, "8": 1}))
    assert found.missing == {"directory_io.unseen_operations": "not all operations are seen: bind, extended"}
    assert not made(Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw={})).series
    with pytest.raises(EvidenceError, match="falling"):
        made(snapshot(Edge.ARMED, 0, ended={"1": 3}), snapshot(Edge.LAST, 1, ended={"1": 2}))


def test_it_looks_on_request_and_at_directory_servers_only(tmp_path):
    (tmp_path / "pid").write_text(str(os.getpid()))
    with pytest.raises(EvidenceError, match="0 processes of the target are slapd or ns-slapd"):
        OBSERVER.beside.argv(HOST, Subject(server=(ServerNode(pid_file=str(tmp_path / "pid")),)))
    assert OBSERVER.on_request
    assert OBSERVER.watch is None


@pytest.mark.root
@needs(NO_SLAPD)
def test_beside_a_phase_it_counts_what_was_done(tmp_path):
    subject = Subject(server=(ServerNode(pid_file=str(tmp_path / "pid")),))
    with contextlib.ExitStack() as ending:
        server, ledger = slapd(tmp_path), Ledger(tmp_path / "ledger")
        ending.callback(ledger.close)
        ending.callback(server.stop)
        beside = sampler.companion(HOST, ledger, OBSERVER.beside, subject)
        ending.callback(beside.end)
        armed = Snapshot(edge=Edge.ARMED, at_ns=0, took_ns=1, raw=beside.read())
        with server.client() as client:
            client.bind()
            for number in range(50):
                client.search(number)
            for number in range(5):
                client.modify(number, "observed")
        last = Snapshot(edge=Edge.LAST, at_ns=10**9, took_ns=1, raw=beside.read())
    found = OBSERVER.parse("h", "p", [armed, last], subject)
    assert the_series(found, "count", "operation:search").value[-1] == 50
    assert the_series(found, "count", "operation:modify").value[-1] == 5
    assert the_series(found, "flushes", "operation:modify").value[-1] >= 5
    assert the_series(found, "flushes", "operation:search").value[-1] == 0
