"""nfsd: bytes and requests of the kernel's NFS server, from what Linux 6.1 printed after 4 MiB were written and read."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.records import Direction, Edge, Rung, Snapshot, Subject
from stage.observer_looks import readings, the_series

OBSERVER = catalogue.find("observers", "nfsd")
FRESH = "rc 0 0 0\nfh 0 0 0 0 0\nio 0 0\nth 0 0 0.000\nra 0 0 0 0\nnet 0 0 0 0\nrpc 0 0 0 0 0\nproc3 22 0 0\n"
SERVED = FRESH.replace("rc 0 0 0", "rc 0 17 67").replace("io 0 0", "io 4194304 4194304").replace("rpc 0", "rpc 84")


def parsed(*texts):
    edges = (Edge.ARMED, Edge.LAST)
    looks = [
        Snapshot(edge=edge, at_ns=at, took_ns=1, raw={} if text is None else {"nfsd": text})
        for at, (edge, text) in enumerate(zip(edges, texts, strict=True))
    ]
    return OBSERVER.parse("h", "p", looks, Subject())


def test_bytes_and_requests_are_exact():
    evidence = parsed(FRESH, SERVED)
    found = readings(evidence, rung=Rung.SERVER_PROCESS)
    assert {one.direction: one.bytes for one in found} == {Direction.READ: 4 << 20, Direction.WRITE: 4 << 20}
    assert list(the_series(evidence, "requests", "server").value) == [0, 84]


def test_a_server_in_user_space_has_none():
    for texts in ((None, None), (FRESH, FRESH), ({"error": "No such file"},) * 2):
        assert parsed(*texts).readings == ()


def test_damaged_and_falling_counters_are_refused():
    for texts in (
        (FRESH, "io 1\n"),
        (FRESH, SERVED.replace("io 4194304 4194304", "io x y")),
        (SERVED, FRESH.replace("rpc 0", "rpc 9")),
    ):
        with pytest.raises(EvidenceError):
            parsed(*texts)
