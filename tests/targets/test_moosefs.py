"""The plug `moosefs`: a real master with chunk servers in a namespace, mounted by mfsmount."""

import pytest

from assay import catalogue
from assay.machine import mounted
from assay.records import TargetSpec
from stage.served_stage import fact, needs, needs_fuse, needs_root, trial_from_storage
from stage.targets_host import HOST, MIB, given

TARGET = catalogue.find("targets", "moosefs")


@pytest.mark.root
@needs_root
@needs_fuse
@needs("mfsmaster", "mfschunkserver", "mfsmount", "mfscli", "ip", "nsenter")
def test_a_trial_reads_cold_from_chunks_with_as_many_copies_as_wanted(bench):
    _, seen = trial_from_storage(bench, TargetSpec(name="files", kind="moosefs", knobs={"copies": 3}), size=4 * MIB)
    assert fact(seen, "target.setting.copies") == "3"
    assert fact(seen, "target.setting.chunkservers") == "3"
    assert {*fact(seen, "target.clients.fsync").split("; ")} <= {mounted.REACHED, mounted.IN_MEMORY}
    assert fact(seen, "target.setting.software").startswith("MooseFS 3")


def test_copies_need_chunk_servers(tmp_path):
    found = TARGET.check(HOST, given(TARGET, None, tmp_path, copies=4, chunkservers=3))
    assert any("copies = 4 with 3 chunkservers" in one for one in found)
