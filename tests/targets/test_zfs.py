"""The plug `zfs`: a real zfs-fuse, whose own cache is dropped by an export and an import."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay import catalogue
from assay.records import Endpoint, EndpointKind
from assay.undo.ledger import Ledger
from served_stage import alone, needs, needs_fuse, needs_root
from targets_host import HOST, MIB, leftovers, setting

TARGET = catalogue.find("targets", "zfs")
SIZE = 128 * MIB


def read_bytes(place):
    """Bytes that the daemon has read from storage."""
    return storage_bytes(place, "read_bytes")


def storage_bytes(place, name):
    """Bytes that the daemon has moved from or to storage."""
    pid = Path(place.server.nodes[0].pid_file).read_text().strip()
    text = Path(f"/proc/{pid}/io").read_text()
    return int(text.split(f"\n{name}: ")[1].split()[0])


@pytest.mark.root
@needs_root
@needs_fuse
@needs("zfs-fuse", "zpool", "zfs", "pgrep")
def test_only_an_export_makes_it_cold(tmp_path):
    with alone("zfs"), pool(tmp_path) as place:
        read_warm_and_cold(place)


@pytest.mark.root
@needs_root
@needs_fuse
@needs("zfs-fuse", "zpool", "zfs", "pgrep")
def test_its_flush_leaves_nothing_in_its_memory(tmp_path):
    with alone("zfs"), pool(tmp_path, atime=False) as place:
        assert dict(TARGET.facts(HOST, place))["setting.atime"] == "off"
        before = storage_bytes(place, "write_bytes")
        for name in range(8):
            Path(place.address, f"data{name}").write_bytes(os.urandom(2 * MIB))
        TARGET.flush(HOST, Endpoint(kind=EndpointKind.DIRECTORY, address=place.address))
        assert storage_bytes(place, "write_bytes") - before >= 16 * MIB
        after = storage_bytes(place, "write_bytes")
        TARGET.flush(HOST, Endpoint(kind=EndpointKind.DIRECTORY, address=place.address))
        assert storage_bytes(place, "write_bytes") - after < MIB, "nothing was left"


@contextmanager
def pool(tmp_path, **knobs):
    """A pool that is up, and that leaves nothing."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    ledger = Ledger(tmp_path / "ledger")
    given = setting(ledger, scratch, **catalogue.resolved(TARGET.knobs, {"size": SIZE, **knobs}))
    place = TARGET.prepare(HOST, given)
    try:
        yield place
        assert any("runs already" in one for one in TARGET.check(HOST, given))
    finally:
        TARGET.teardown(HOST, given, place)
    assert leftovers(scratch) == ([], [], [])
    assert ledger.unwind() == ()


def read_warm_and_cold(place):
    """Read what is cached with its pages dropped, then after an export and an import."""
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
    assert dict(TARGET.facts(HOST, place))["setting.compression"] == "off"


def test_a_small_pool_is_refused(tmp_path):
    given = setting(None, tmp_path, needs_bytes=10**9, **catalogue.resolved(TARGET.knobs, {"size": SIZE}))
    assert any("for what the workloads write" in one for one in TARGET.check(HOST, given))
