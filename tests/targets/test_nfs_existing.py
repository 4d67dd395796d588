"""The plug `nfs_existing`: a server that runs already, here another target, mounted and proved by a mount of its own."""

import posixpath
from dataclasses import replace
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import RefusedError, TrialError
from assay.machine import mounted, nfs_clients
from assay.machine.net_namespaces import NETWORK
from assay.targets import nfs_existing
from assay.undo.ledger import Ledger
from stage.served_stage import needs, needs_client, needs_fuse, needs_root
from stage.targets_host import HOST, leftovers, setting

TARGET, SERVER = catalogue.find("targets", "nfs_existing"), catalogue.find("targets", "nfs_ganesha")
SOME = {"address": "192.0.2.7", "export": "/x"}


@pytest.mark.root
@needs_root
@needs_fuse
@needs("ganesha.nfsd", "rpcbind", "ip", "nsenter")
@needs_client
def test_each_client_has_a_mount_and_nothing_stays_on_the_server(tmp_path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ledger = Ledger(tmp_path / "ledger")
    below = setting(ledger, scratch, name="server", **catalogue.resolved(SERVER.knobs, {}))
    server = SERVER.prepare(HOST, below)
    monkeypatch.setattr(nfs_existing, "OWN_NETWORK", str(server.private[f"{NETWORK}load"]))
    try:
        knobs = {"address": server.server.nodes[0].address, "export": server.address}
        given = setting(ledger, scratch, **catalogue.resolved(TARGET.knobs, knobs))
        place = TARGET.prepare(HOST, given)
        name = posixpath.basename(place.address)
        ends = [TARGET.attach(HOST, given, place, client) for client in (0, 1)]
        assert len({end.address for end in ends}) == 2
        Path(ends[0].address, "file").write_text("seen")
        assert Path(ends[1].address, "file").read_text() == "seen"
        assert Path(server.address, name, "file").read_text() == "seen", "it is on the server"
        assert dict(TARGET.facts(HOST, place))["clients.fsync"] == f"at least {mounted.IN_MEMORY}"
        with pytest.raises(RefusedError, match="are not ours"):
            TARGET.drop_caches(HOST, place)
        with pytest.raises(TrialError):  # another place than that of the server
            TARGET.attach(HOST, given, replace(place, private={**place.private, "data": str(tmp_path)}), 2)
        for end in ends:
            TARGET.detach(HOST, given, end)
        TARGET.teardown(HOST, given, place)
        assert list(Path(server.address).iterdir()) == []
    finally:
        SERVER.teardown(HOST, below, server)
    assert leftovers(scratch) == ([], [], [])
    assert ledger.unwind() == ()


def test_mistakes_come_together(tmp_path, monkeypatch):
    monkeypatch.setattr(nfs_clients, "CLIENT", tmp_path / "no-such-program")
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: False)
    given = setting(None, tmp_path, **catalogue.resolved(TARGET.knobs, SOME | {"export": "x"}))
    found = TARGET.check(HOST, given)
    assert any("make clients" in one for one in found)
    assert any("found export 'x'" in one for one in found)


def test_two_clients_of_one_kernel_have_two_caches(tmp_path, monkeypatch):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: True)
    knobs = catalogue.resolved(TARGET.knobs, SOME)
    plan = nfs_clients.plan(HOST, knobs, ("192.0.2.7", "/x"), "/m", "word")
    assert "nosharecache" in plan.argv[4].split(",")
