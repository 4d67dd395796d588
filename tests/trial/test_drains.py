"""The drain has two ends: a client that writes behind is charged, and after the slowest one the server flushes again."""

import threading
import time
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pytest

from assay.hosts.local import Local
from assay.records import Direction, Endpoint, EndpointKind, PhasePlan, Place, Server, ServerNode, WorkloadSpec
from assay.trial.bench import Bench, Job
from assay.trial.fleet import Fleet, Station
from assay.trial.watchers import drains

DATA = "/srv/data"
BYTE_NS = 10_000_000
"""What a byte takes at either end: so long that a busy machine adds little."""


@dataclass
class Ends:
    """Mounts that hold bytes back, and a server that gets them when they are flushed."""

    behind: dict = field(default_factory=dict)
    at_server: int = 0
    order: list = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def syncfs(self, path):
        with self.lock:
            self.order.append(path)
            held = self.behind.pop(path, 0) if path != DATA else self.at_server
            self.at_server = self.at_server + held if path != DATA else 0
        time.sleep(held * BYTE_NS / 1e9)
        return held * BYTE_NS


class TwoEndedHost(Local):
    """This machine, with file systems that are only numbers."""

    def __init__(self, ends):
        super().__init__("local")
        self.syscalls = ends


@pytest.fixture
def ends():
    return Ends(behind={"/mnt/0": 120, "/mnt/1": 60}, at_server=20)


def drained(ends, server=True, mounts=("/mnt/0", "/mnt/1"), sending=()):
    station = Station(host=TwoEndedHost(ends), undo=None, scratch="", engine="")
    place = Place(
        target="t",
        host="local",
        kind=EndpointKind.DIRECTORY,
        address=DATA,
        server=Server(nodes=(ServerNode(data=(DATA,)),)) if server else None,
    )
    bench = Bench(
        fleet=Fleet(target=station, load=(station,), clients=len(mounts)),
        everywhere={},
        target=SimpleNamespace(
            flush=lambda host, end: ends.order.append(f"program of {end.address}") or (0 if end.address in sending else None)
        ),
        place=place,
        dialogue=None,
        tell=lambda news: None,
    )
    plan = PhasePlan(
        name="write", operations=("write",), directions={"write": Direction.WRITE}, settings=({},) * len(mounts), is_drained=True
    )
    endpoints = tuple(Endpoint(kind=EndpointKind.DIRECTORY, address=path) for path in mounts)
    job = Job(workload=None, spec=WorkloadSpec(name="w", kind="bulk_io"), plan=plan, endpoints=endpoints, seed=1)
    return bench, job, drains(bench, job)["local"]


def test_what_a_client_holds_back_is_charged_and_reaches_the_server(ends):
    _, _, found = drained(ends)
    assert ends.behind == {}
    assert ends.at_server == 0, "after the slowest client the server flushed again"
    assert ends.order[-1] == DATA
    assert {"program of /mnt/0", "program of /mnt/1"} < set(ends.order), "what a client's own program holds back"
    assert set(ends.order[:3]) == {DATA, "/mnt/0", "/mnt/1"}, "both ends begin at once"
    assert 120 * BYTE_NS <= found.clients_ns < 240 * BYTE_NS, "the slowest client"
    assert found.took_ns == found.server_ns >= (120 + 120) * BYTE_NS, "until both ends are clean"


def test_what_a_client_sent_during_the_last_look_counts_from_the_last_operation_on(ends):
    _, _, idle = drained(ends)
    assert idle.since(-50 * BYTE_NS) == idle, "nothing was sent while the lab looked"
    _, _, busy = drained(ends, sending=("/mnt/1",))
    late = busy.since(busy.sent_until_ns - 50 * BYTE_NS)
    assert late.clients_ns == busy.clients_ns + 50 * BYTE_NS
    assert late.took_ns == late.server_ns == busy.took_ns + 50 * BYTE_NS
    assert busy.since(busy.sent_until_ns + 1).took_ns == busy.took_ns, "an operation that ended later was waited for"


def test_without_a_mount_of_its_own_the_server_is_flushed_once(ends):
    _, _, found = drained(ends, mounts=(DATA,))
    assert ends.order == [DATA]
    assert (found.took_ns, found.clients_ns, found.server_ns) == (20 * BYTE_NS, None, None)


def test_a_phase_that_changes_nothing_is_not_drained(ends):
    bench, job, _ = drained(ends)
    reads = replace(job, plan=replace(job.plan, directions={"read": Direction.READ}))
    assert drains(bench, reads)["local"].took_ns is None
