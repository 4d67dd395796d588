"""The plug `nbd`: a disk over the network whose blocks are proved at the server, and nothing of it afterwards."""

from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError
from assay.machine import disk_client, mounted
from stage.disk_stage import facts_of_a_shared_disk, trial_that_writes_behind
from stage.served_stage import needs, needs_fuse, needs_root
from stage.targets_host import MIB

TARGET = catalogue.find("targets", "nbd")
KNOBS = {"size": 64 * MIB}
pytestmark = [
    pytest.mark.root,
    needs_root,
    needs_fuse,
    needs("qemu-storage-daemon", "nbdfuse", "losetup", "mkfs.ext4", "ip", "nsenter"),
]


def test_its_disk_is_the_servers_and_all_clients_share_it(placed):
    assert any("expected whole MiB, at least" in one for one in placed.check(size=8 * MIB + 1, filesystem="xfs"))
    assert "QEMU" in facts_of_a_shared_disk(placed)["setting.software"]


def test_a_server_that_ignores_flushes_is_seen_doing_it_and_where_it_should_not_refused(placed, monkeypatch):
    made = placed(server_cache="page_cache", flush="ignored")
    assert made.attached().details["fsync"] == mounted.IN_MEMORY
    made.end()
    made = placed(server_cache="page_cache", flush="honoured")
    monkeypatch.setattr(mounted, "reached", lambda host, path: mounted.IN_MEMORY)
    with pytest.raises(TrialError, match="flush: set to honoured, and the running server has ignored"):
        made.attached()


def test_a_disk_that_is_not_the_servers_or_loses_writes_is_refused(placed, monkeypatch):
    made = placed()
    other = Path(made.place.address).parent / "other.img"
    other.write_bytes(bytes(MIB))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(disk_client, "image_of", lambda instance: str(other))
        with pytest.raises(TrialError, match="a block that was written to it is not there"):
            made.attached()
    made.end()
    made = placed()
    other = Path(made.place.address, "other.img")
    monkeypatch.setattr(disk_client, "_proof", lambda host, file, image: other.write_bytes(bytes(4 * MIB)) and mounted.REACHED)
    monkeypatch.setattr(disk_client, "image_of", lambda instance: str(other))
    with pytest.raises(TrialError, match="loses writes"):
        made.attached()


def test_a_trial_writes_behind_and_both_ends_are_charged(bench):
    trial_that_writes_behind(bench, "nbd")
