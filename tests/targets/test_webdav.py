"""The plug `webdav`: a real Apache in a namespace, mounted by rclone, which sends files after their close."""

import pytest

from assay import catalogue
from assay.machine import mounted
from assay.records import TargetSpec
from assay.targets import webdav
from stage.served_stage import fact, needs, needs_fuse, needs_root, trial_from_storage
from stage.targets_host import HOST, given

TARGET = catalogue.find("targets", "webdav")


@pytest.mark.root
@needs_root
@needs_fuse
@needs("apache2", "rclone", "fusermount", "ip", "nsenter")
def test_a_trial_reads_cold_and_what_rclone_holds_back_is_charged(bench):
    run, seen = trial_from_storage(bench, TargetSpec(name="files", kind="webdav", knobs={}))
    assert fact(seen, "target.clients.fsync") != mounted.REACHED, "Apache flushes nothing"
    assert run.phases[0].hosts[0].clients_drain_ns > 0


def test_a_missing_module_is_named_with_its_package(tmp_path, monkeypatch):
    monkeypatch.setattr(webdav, "MODULES", str(tmp_path))
    found = TARGET.check(HOST, given(TARGET, None, tmp_path))
    assert any("mod_dav.so: not found. Install apache2-bin." in one for one in found)
