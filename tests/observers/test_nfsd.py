"""nfsd: bytes and requests of the kernel's NFS server, from what Linux 6.1 printed after 4 MiB were written and read."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.records import Direction, Edge, Rung, ServerNode, Snapshot, Subject
from stage.observer_looks import readings, the_series

OBSERVER = catalogue.find("observers", "nfsd")
FRESH = "rc 0 0 0\nfh 0 0 0 0 0\nio 0 0\nth 0 0 0.000\nra 0 0 0 0\nnet 0 0 0 0\nrpc 0 0 0 0 0\nproc3 22 0 0\n"
SERVED = FRESH.replace("rc 0 0 0", "rc 0 17 67").replace("io 0 0", "io 4194304 4194304").replace("rpc 0", "rpc 84")

STATES = '- 0x0000000191090d6b7e5047c202000000: { type: deleg, access: r, superblock: "fe:00:917507", filename: "exp/a" }\n'
"""Linux 6.1: the states of a client that has read a file and closed it."""
OPEN = '- 0x000000011: { type: open, access: r-, deny: --, superblock: "fe:00:917507", filename: "type: deleg" }\n'


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


def test_delegations_are_counted_by_what_the_server_lists_of_its_clients():
    looks = [
        Snapshot(edge=edge, at_ns=at, took_ns=1, raw={"nfsd": text, "states": states})
        for at, (edge, text, states) in enumerate(
            ((Edge.ARMED, FRESH, []), (Edge.POLL, SERVED, [STATES, {"error": "gone"}]), (Edge.LAST, SERVED, [STATES * 2, OPEN]))
        )
    ]
    assert list(the_series(OBSERVER.parse("h", "p", looks, Subject()), "delegations", "server").value) == [0, 1, 2]


def test_the_states_are_read_in_the_servers_own_mount(tmp_path):
    client = tmp_path / "proc/7/root/proc/fs/nfsd/clients/3"
    client.mkdir(parents=True)
    (client / "states").write_text(STATES)
    (tmp_path / "proc/7/net/rpc").mkdir(parents=True)
    (tmp_path / "proc/7/net/rpc/nfsd").write_text(SERVED)
    (tmp_path / "pid").write_text("7\n")
    found = OBSERVER.read(Local("h", root=tmp_path), Subject(server=(ServerNode(pid_file="/pid"),)))
    assert found == {"nfsd": SERVED, "states": [STATES]}
