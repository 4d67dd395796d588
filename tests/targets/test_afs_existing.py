"""The plug `afs_existing`: a volume of a cell that runs already, here that of another target, proved over the wire."""

import posixpath
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import RefusedError, TrialError
from assay.machine import mounted
from assay.machine.net_namespaces import NETWORK
from assay.targets import afs_existing
from assay.undo.ledger import Ledger
from stage.rows import each
from stage.targets_host import HOST, leftovers, setting
from targets.test_afs_openafs import in_guest

TARGET, SERVER = catalogue.find("targets", "afs_existing"), catalogue.find("targets", "afs_openafs")
SOME = {"cell": "example.com", "volume": "root.cell"}


@each(
    "knobs words",
    ({"cell": "example com"}, "found cell 'example com'"),
    ({"volume": "#root"}, "found volume '#root'"),
    ({"mount_options": "dyn"}, "found mount option dyn, which Assay sets"),
    ({"mount_options": "flock=all"}, "expected one of local, openafs, strict, write"),
)
def test_mistakes_are_refused_before_the_run(monkeypatch, tmp_path, knobs, words):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: True)
    checked = setting(None, tmp_path, **catalogue.resolved(TARGET.knobs, SOME | knobs))
    assert any(words in one for one in TARGET.check(HOST, checked))


def test_two_mounts_of_one_host_are_one_client():
    why, expected = TARGET.one_client(SOME)
    assert "one cache" in why
    assert "afs_openafs" in expected


class TestInGuest:
    pytestmark = in_guest

    def test_a_volume_is_proved_over_the_wire_and_nothing_stays_on_it(self, tmp_path, monkeypatch):
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        ledger = Ledger(tmp_path / "ledger")
        below = setting(ledger, scratch, name="server", **catalogue.resolved(SERVER.knobs, {}))
        server = SERVER.prepare(HOST, below)
        monkeypatch.setattr(afs_existing, "OWN_NETWORK", str(server.private[f"{NETWORK}load"]))
        try:
            knobs = {"cell": "assay.example", "volume": "assay", "address": server.server.nodes[0].address}
            checked = setting(ledger, scratch, **catalogue.resolved(TARGET.knobs, knobs))
            place = TARGET.prepare(HOST, checked)
            ends = [TARGET.attach(HOST, checked, place, client) for client in (0, 1)]
            Path(ends[0].address, "file").write_text("seen")
            assert Path(ends[1].address, "file").read_text() == "seen"
            facts = dict(TARGET.facts(HOST, place))
            assert facts["clients.encryption"] == "clear"
            assert facts["clients.fsync"] == f"at least {mounted.IN_MEMORY}"
            with pytest.raises(RefusedError, match="are not ours"):
                TARGET.drop_caches(HOST, place)
            for end in ends:
                TARGET.detach(HOST, checked, end)
            assert Path(place.address, "file").exists()
            TARGET.teardown(HOST, checked, place)
            asked = catalogue.resolved(TARGET.knobs, {**knobs, "encryption": "fcrypt"})
            with pytest.raises(TrialError, match="encryption: set to fcrypt"):
                TARGET.prepare(HOST, setting(ledger, scratch, **asked))
            again = TARGET.prepare(HOST, checked)
            names = {path.name for path in Path(posixpath.dirname(again.address)).iterdir()}
            TARGET.teardown(HOST, checked, again)
            assert names == {posixpath.basename(again.address)}, "nothing of the trials before"
        finally:
            SERVER.teardown(HOST, below, server)
        assert leftovers(scratch) == ([], [], [])
        assert ledger.unwind() == ()
