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
from stage.rows import each
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


def options(monkeypatch, **knobs):
    """The options of the kernel's mount with these knobs."""
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: True)
    plan = nfs_clients.plan(HOST, catalogue.resolved(TARGET.knobs, SOME | knobs), ("192.0.2.7", "/x"), "/m", "word")
    return plan.argv[4]


@each(
    "knobs wanted",
    ({}, "nosharecache"),
    ({"version": "4.1"}, "vers=4.1,nosharecache"),
    ({"mount_options": "nconnect=4,hard"}, "nosharecache,nconnect=4,hard"),
    ({"attribute_cache": 0}, "nosharecache,actimeo=0,lookupcache=none"),
    ({"attribute_cache": 3 * 10**9}, "nosharecache,actimeo=3"),
)
def test_the_kernel_mounts_by_default_as_mount_nfs_does(monkeypatch, knobs, wanted):
    """Two clients of one kernel have two caches; no option makes writes wait or keeps locks on the client."""
    assert options(monkeypatch, **knobs) == wanted


@each(
    "knobs words",
    ({"attribute_cache": 500_000_000}, "whole seconds"),
    ({"mount_options": "acregmin=0.5"}, "found mount option acregmin=0.5; expected a whole number"),
    ({"mount_options": "vers=4.2"}, "Use the knob version"),
    ({"mount_options": "lookupcache=some"}, "expected one of all, none, pos, positive"),
    ({"mount_options": "hard, intr"}, "without a space"),
    ({"mount_options": "noac", "attribute_cache": 0}, "expected one of them"),
    ({"mount_options": "hard", "client": "fuse"}, "those of the kernel's client"),
    ({"version": "4.1", "client": "fuse"}, "the only one of assay-nfs"),
)
def test_options_that_cannot_be_meant_are_refused_before_the_run(monkeypatch, tmp_path, knobs, words):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: True)
    given = setting(None, tmp_path, **catalogue.resolved(TARGET.knobs, SOME | knobs))
    assert any(words in one for one in TARGET.check(HOST, given))
