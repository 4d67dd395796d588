"""The plug `gluster`: a real glusterd with bricks in a namespace, mounted by glusterfs."""

import pytest

from assay import catalogue
from assay.machine import mounted
from assay.records import TargetSpec
from stage.served_stage import fact, needs, needs_fuse, needs_root, trial_from_storage
from stage.targets_host import HOST, MIB, given

TARGET = catalogue.find("targets", "gluster")


@pytest.mark.root
@pytest.mark.slow
@needs_root
@needs_fuse
@needs("glusterd", "gluster", "glusterfs", "ip", "nsenter")
def test_a_trial_reads_cold_from_bricks_and_the_options_are_those_of_the_running_volume(bench):
    spec = TargetSpec(
        name="files", kind="gluster", knobs={"bricks": 2, "copies": 2, "client_caches": False, "direct_io_mode": True}
    )
    _, seen = trial_from_storage(bench, spec, size=4 * MIB)
    assert fact(seen, "target.setting.copies") == "2"
    assert fact(seen, "target.setting.performance.write-behind") == "off"
    assert {*fact(seen, "target.clients.fsync").split("; ")} <= {mounted.REACHED, mounted.IN_MEMORY}


def test_bricks_hold_whole_sets_of_copies(tmp_path):
    found = TARGET.check(HOST, given(TARGET, None, tmp_path, bricks=3, copies=2))
    assert any("3 bricks with copies = 2" in one for one in found)
