"""The plug `zfs`: a real zfs-fuse, whose own cache is dropped by an export and an import."""

import os
from pathlib import Path

import pytest

from assay import catalogue
from assay.undo.ledger import Ledger
from served_stage import alone, needs, needs_fuse, needs_root
from targets_host import HOST, MIB, leftovers, setting

TARGET = catalogue.find("targets", "zfs")
SIZE = 128 * MIB


def read_bytes(place):
    """Bytes that the daemon has read from storage."""
    pid = Path(place.server.nodes[0].pid_file).read_text().strip()
    text = Path(f"/proc/{pid}/io").read_text()
    return int(text.split("\nread_bytes: ")[1].split()[0])


@pytest.mark.root
@needs_root
@needs_fuse
@needs("zfs-fuse", "zpool", "zfs", "pgrep")
def test_only_an_export_makes_it_cold(tmp_path):
    with alone("zfs"):
        read_warm_and_cold(tmp_path)


def read_warm_and_cold(tmp_path):
    """Read what is cached with its pages dropped, then after an export and an import."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ledger = Ledger(tmp_path / "ledger")
    given = setting(ledger, scratch, **catalogue.resolved(TARGET.knobs, {"size": SIZE}))
    place = TARGET.prepare(HOST, given)
    try:
        file = Path(place.address, "data")
        file.write_bytes(os.urandom(16 * MIB))
        fd = os.open(file, os.O_RDWR)
        os.fsync(fd)
        os.close(fd)
        HOST.syscalls.drop_file(str(file))
        before = read_bytes(place)
        file.read_bytes()
        warm = read_bytes(place) - before
        TARGET.drop_caches(HOST, place)
        before = read_bytes(place)
        file.read_bytes()
        cold = read_bytes(place) - before
        assert warm < MIB, "its own cache answered, and dropped pages do not touch that"
        assert cold >= 0.95 * 16 * MIB
        facts = dict(TARGET.facts(HOST, place))
        assert facts["setting.compression"] == "off"
        assert any("runs already" in one for one in TARGET.check(HOST, given))
    finally:
        TARGET.teardown(HOST, given, place)
    assert leftovers(scratch) == ([], [], [])
    assert ledger.unwind() == ()


def test_a_small_pool_is_refused(tmp_path):
    given = setting(None, tmp_path, needs_bytes=10**9, **catalogue.resolved(TARGET.knobs, {"size": SIZE}))
    assert any("for what the workloads write" in one for one in TARGET.check(HOST, given))
