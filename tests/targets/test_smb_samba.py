"""The plug `smb_samba`: a real Samba in a namespace, mounted by rclone where the kernel has no client."""

import pytest

from assay import catalogue
from assay.machine import mounted, smb_clients
from assay.machine.file_server import FileInstance
from assay.records import Outcome, TargetSpec
from stage.rows import each
from stage.served_stage import WAN, ServedBench, fact, needs, needs_fuse, needs_root, trial_from_storage
from stage.targets_host import HOST, MIB, given
from stage.trial_stage import bulk

TARGET = catalogue.find("targets", "smb_samba")
real = needs("smbd", "testparm", "rclone", "fusermount", "ip", "nsenter")


@pytest.mark.root
@needs_root
@needs_fuse
@real
@pytest.mark.parametrize("always", [False, True])
def test_a_trial_reads_cold_and_the_settings_are_those_of_the_share(tmp_path, always):
    """Also where the path of its directory is longer than that of a socket may be."""
    place = tmp_path / ("deep" * 25 if always else "flat")
    place.mkdir()
    _, seen = trial_from_storage(ServedBench(place), TargetSpec(name="f", kind="smb_samba", knobs={"sync_always": always}))
    assert fact(seen, "target.setting.sync_always") == ("yes" if always else "no")
    assert fact(seen, "target.setting.strict_sync") == "yes"


@pytest.mark.root
@needs_root
@needs_fuse
@real
def test_it_listens_behind_a_path_whose_interface_has_no_broadcasts(bench):
    spec = TargetSpec(name="files", kind="smb_samba", knobs={"through": "wan"})
    run, _ = bench.conduct(spec, workloads=(bulk(size=2 * MIB),), paths=(WAN,))
    assert (run.outcome, run.error) == (Outcome.FINISHED, None)


def test_a_kernel_without_a_client_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: False)
    found = TARGET.check(HOST, given(TARGET, None, tmp_path, client="kernel"))
    assert any("has no cifs (modprobe cifs)" in one for one in found)


@each("target client needed", ("smb_samba", "kernel", False), ("smb_samba", "rclone", True), ("nfs_ganesha", "kernel", False))
def test_the_kernels_client_needs_no_fuse(monkeypatch, target, client, needed):
    monkeypatch.setattr(mounted, "no_fuse", lambda host: ("no FUSE",))
    plug = catalogue.find("targets", target)
    assert ("no FUSE" in plug.lacks(HOST, catalogue.resolved(plug.knobs, {"client": client}))) == needed


@each(
    "knobs wanted",
    ({}, "guest,nosharesock"),
    ({"version": "3.0", "mount_options": "cache=none"}, "guest,nosharesock,vers=3.0,cache=none"),
)
def test_the_kernel_mounts_by_default_as_mount_cifs_does(monkeypatch, knobs, wanted):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: True)
    given = catalogue.resolved(TARGET.knobs, knobs)
    instance = FileInstance(directory="/d", data="/d/data", address="192.0.2.7", load="/proc/1/ns/net", knobs=given)
    assert smb_clients.plan(HOST, instance, "/m", "word").argv[4] == wanted


@each("knobs words", ({"mount_options": "cache=no"}, "cache=no"), ({"mount_options": "hard", "client": "rclone"}, "the kernel's"))
def test_options_that_cannot_be_meant_are_refused(monkeypatch, tmp_path, knobs, words):
    monkeypatch.setattr(mounted, "in_kernel", lambda host, filesystem: True)
    assert any(words in one for one in TARGET.check(HOST, given(TARGET, None, tmp_path, **knobs)))
