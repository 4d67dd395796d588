"""The plug `zfs`: a real zfs-fuse, whose own cache an export and an import drop, and whose flush leaves nothing in it."""

import os
from pathlib import Path

import pytest

from assay import catalogue
from assay.records import Endpoint, EndpointKind
from stage.served_stage import alone, needs, needs_fuse, needs_root, own_mounts
from stage.targets_host import HOST, MIB, placing

TARGET = catalogue.find("targets", "zfs")
KNOBS = {"size": 128 * MIB}


def moved(place, name):
    """Bytes that the daemon has moved from or to storage."""
    pid = Path(place.server.nodes[0].pid_file).read_text().strip()
    return int(Path(f"/proc/{pid}/io").read_text().split(f"\n{name}: ")[1].split()[0])


def bytes_read(place, file):
    """What the daemon reads from storage for one reading of a file."""
    before = moved(place, "read_bytes")
    file.read_bytes()
    return moved(place, "read_bytes") - before


@pytest.mark.root
@needs_root
@needs_fuse
@needs("zfs-fuse", "zpool", "zfs", "pgrep")
def test_only_an_export_makes_it_cold_and_its_flush_leaves_nothing_in_its_memory(tmp_path):
    with own_mounts(), alone("zfs"), placing(TARGET, tmp_path, **KNOBS) as placed:
        made = placed(atime=False)
        place, facts = made.place, made.facts()
        assert (facts["setting.atime"], facts["setting.compression"]) == ("off", "off")
        before = moved(place, "write_bytes")
        for name in range(8):
            Path(place.address, f"data{name}").write_bytes(os.urandom(2 * MIB))
        TARGET.flush(HOST, Endpoint(kind=EndpointKind.DIRECTORY, address=place.address))
        assert moved(place, "write_bytes") - before >= 16 * MIB
        after = moved(place, "write_bytes")
        TARGET.flush(HOST, Endpoint(kind=EndpointKind.DIRECTORY, address=place.address))
        assert moved(place, "write_bytes") - after < MIB, "nothing was left"
        file = Path(place.address, "data0")
        HOST.syscalls.drop_file(str(file))
        assert bytes_read(place, file) < MIB // 8, "its own cache answered, and dropped pages do not touch that"
        TARGET.drop_caches(HOST, place)
        assert bytes_read(place, file) >= 0.95 * 2 * MIB
        assert any("runs already" in one for one in placed.check())


def test_a_small_pool_is_refused(placed):
    assert any("for what the workloads write" in one for one in placed.check(needs_bytes=10**9))
