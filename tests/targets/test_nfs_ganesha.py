"""The plug `nfs_ganesha`: a real NFS server in a namespace, mounted by assay-nfs where the kernel has no client."""

import pytest

from assay import catalogue
from assay.machine import mounted, nfs_clients
from assay.records import TargetSpec
from stage.served_stage import fact, needs, needs_client, needs_fuse, needs_root, trial_from_storage
from stage.targets_host import HOST, MIB, given

TARGET = catalogue.find("targets", "nfs_ganesha")


@pytest.mark.root
@needs_root
@needs_fuse
@needs("ganesha.nfsd", "rpcbind", "ip", "nsenter")
@needs_client
def test_a_trial_reads_cold_and_an_fsync_reaches_the_storage(bench):
    _, seen = trial_from_storage(bench, TargetSpec(name="files", kind="nfs_ganesha", knobs={}), size=8 * MIB)
    assert fact(seen, "target.clients.fsync") == mounted.REACHED, "a COMMIT was sent, and the server flushed"
    assert fact(seen, "target.setting.client") in ("fuse", "kernel")


def test_a_kernel_without_a_client_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: False)
    found = TARGET.check(HOST, given(TARGET, None, tmp_path, client="kernel"))
    assert any("has no nfs (modprobe nfs)" in one for one in found)
    monkeypatch.setattr(nfs_clients, "CLIENT", tmp_path / "no-such-program")
    found = TARGET.check(HOST, given(TARGET, None, tmp_path))
    assert any("make clients" in one for one in found)
