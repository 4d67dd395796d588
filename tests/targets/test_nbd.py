"""The plug `nbd`: a disk over the network whose blocks are proved at the server, and nothing of it afterwards."""

from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError
from assay.machine import disk_client, mounted
from disk_stage import facts_of_a_shared_disk, given, placing, trial_that_writes_behind
from served_stage import ServedBench, needs, needs_fuse, needs_root
from targets_host import HOST, MIB

TARGET = catalogue.find("targets", "nbd")
pytestmark = [
    pytest.mark.root,
    needs_root,
    needs_fuse,
    needs("qemu-storage-daemon", "nbdfuse", "losetup", "mkfs.ext4", "ip", "nsenter"),
]


@pytest.fixture
def placed(tmp_path):
    with placing(TARGET, tmp_path) as place:
        yield place


def test_its_disk_is_the_servers_and_all_clients_share_it(placed):
    assert "QEMU" in facts_of_a_shared_disk(placed)["setting.software"]


def test_a_server_that_ignores_flushes_is_seen_doing_it(placed):
    assert placed(server_cache="page_cache", flush="ignored").attached().details["fsync"] == mounted.IN_MEMORY


def test_a_server_that_does_not_do_what_was_asked_is_refused(placed, monkeypatch):
    made = placed(server_cache="page_cache", flush="honoured")
    monkeypatch.setattr(mounted, "reached", lambda host, path: mounted.IN_MEMORY)
    with pytest.raises(TrialError, match="flush: set to honoured, and the running server has ignored"):
        made.attached()


def test_a_disk_that_is_not_the_servers_is_refused(placed, monkeypatch):
    made = placed()
    other = Path(made.place.address).parent / "other.img"
    other.write_bytes(bytes(MIB))
    monkeypatch.setattr(disk_client, "image_of", lambda instance: str(other))
    with pytest.raises(TrialError, match="a block that was written to it is not there"):
        made.attached()


def test_a_disk_that_loses_writes_is_refused(placed, monkeypatch):
    made = placed()
    stored = Path(made.place.address) / "disk.img"
    other = stored.with_name("other.img")
    monkeypatch.setattr(disk_client, "_proof", lambda host, file, image: other.write_bytes(bytes(4 * MIB)) and mounted.REACHED)
    monkeypatch.setattr(disk_client, "image_of", lambda instance: str(other))
    with pytest.raises(TrialError, match="loses writes"):
        made.attached()


def test_a_trial_writes_behind_and_both_ends_are_charged(tmp_path):
    trial_that_writes_behind(ServedBench(tmp_path), "nbd")


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    found = TARGET.check(HOST, given(TARGET, None, tmp_path, size=8 * MIB + 1, filesystem="xfs"))
    assert any("expected whole MiB, at least" in one for one in found)
