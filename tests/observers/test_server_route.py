"""server_route: nothing where clients are in the lab's namespace, the interface of theirs where they are not."""

import os

from assay import catalogue
from assay.hosts.local import Local
from assay.records import Edge, Snapshot, Subject
from stage.observer_looks import look

OBSERVER = catalogue.find("observers", "server_route")


def seen(*raws):
    snapshots = [Snapshot(edge=Edge.POLL, at_ns=number, took_ns=1, raw=raw) for number, raw in enumerate(raws)]
    return {fact.key: fact.value for fact in OBSERVER.parse("c.1", "w.read", snapshots, Subject()).facts}


def test_clients_in_the_labs_namespace_need_no_observer():
    assert look(OBSERVER, Local(), Subject(pids=(os.getpid(),), reaches=("127.0.0.1",)), Edge.ARMED, 0).raw == {}
    assert look(OBSERVER, Local(), Subject(pids=(os.getpid(),)), Edge.ARMED, 0).raw == {}
    assert seen({}, {}) == {}
    assert seen() == {}


def test_the_first_way_that_is_seen_counts_and_damaged_looks_say_nothing():
    told = seen({}, {"route": ["veth0", "virtual"]}, {"route": ["lo", "loopback"]})
    assert told == {"target.server.inside.w.read": "veth0", "target.server.inside.w.read.kind": "virtual"}
    assert seen({"route": "veth0"}, {"route": ["veth0"]}) == {}
