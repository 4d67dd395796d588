"""The plug `smb_samba`: a real Samba in a namespace, mounted by rclone where the kernel has no client."""

import pytest

from assay import catalogue
from assay.machine import mounted
from assay.records import Outcome, TargetSpec
from served_stage import WAN, ServedBench, fact, needs, needs_fuse, needs_root, trial_from_storage
from targets_host import HOST, MIB, setting
from trial_stage import bulk

TARGET = catalogue.find("targets", "smb_samba")


@pytest.fixture
def bench(tmp_path):
    return ServedBench(tmp_path)


@pytest.fixture
def deep(tmp_path):
    """A scratch directory whose path is longer than that of a socket may be."""
    place = tmp_path / ("deep" * 25)
    place.mkdir()
    return ServedBench(place)


@pytest.mark.root
@needs_root
@needs_fuse
@needs("smbd", "testparm", "rclone", "fusermount", "ip", "nsenter")
@pytest.mark.parametrize("always", [False, True])
def test_a_trial_reads_cold_and_the_settings_are_those_of_the_share(bench, always):
    _, seen = trial_from_storage(bench, TargetSpec(name="files", kind="smb_samba", knobs={"sync_always": always}))
    assert fact(seen, "target.setting.sync_always") == ("yes" if always else "no")
    assert fact(seen, "target.setting.strict_sync") == "yes"


@pytest.mark.root
@needs_root
@needs_fuse
@needs("smbd", "testparm", "rclone", "fusermount", "ip", "nsenter")
def test_a_scratch_directory_may_lie_deep(deep):
    trial_from_storage(deep, TargetSpec(name="files", kind="smb_samba"))


@pytest.mark.root
@needs_root
@needs_fuse
@needs("smbd", "testparm", "rclone", "fusermount", "ip", "nsenter")
def test_it_listens_behind_a_path_whose_interface_has_no_broadcasts(bench):
    spec = TargetSpec(name="files", kind="smb_samba", knobs={"through": "wan"})
    run, _ = bench.conduct(spec, workloads=(bulk(size=2 * MIB),), paths=(WAN,))
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)


def test_a_kernel_without_a_client_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: False)
    found = TARGET.check(HOST, setting(None, tmp_path, **catalogue.resolved(TARGET.knobs, {"client": "kernel"})))
    assert any("has no cifs (modprobe cifs)" in one for one in found)
