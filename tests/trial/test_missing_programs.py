"""What a host lacks for a target is named beside mistakes in the target's own table: nobody mends them one after the other."""

import pytest

from assay import catalogue
from assay.errors import InputErrors
from assay.hosts.local import Local
from assay.laboratory.session import experiment_of
from assay.machine import external_commands, service

OWN_PROGRAM = {
    "crash_disk": "nbdkit",
    "gluster": "glusterd",
    "iscsi": "tgtd",
    "ldap_389ds": "ns-slapd",
    "ldap_openldap": "slapd",
    "loopfs": "losetup",
    "moosefs": "mfsmaster",
    "nbd": "qemu-storage-daemon",
    "nfs_ganesha": "ganesha.nfsd",
    "s3_versitygw": "rclone",
    "sftp_openssh": "sshfs",
    "smb_samba": "smbd",
    "webdav": "apache2",
    "zfs": "zfs-fuse",
}
EXPERIMENT = """
title = "A table with a mistake"
question = "Is everything named?"
[targets.one]
kind = "{kind}"
nonsense = 3
[workloads.w]
kind = "null"
[measures]
"w.nothing.ops_per_s" = {{}}
"""


@pytest.fixture
def bare(monkeypatch):
    """A machine without a single program of those that targets name."""
    monkeypatch.setattr(external_commands, "location", lambda host, tool: None)
    monkeypatch.setattr(service, "is_installed", lambda host, tool: False)


def test_missing_programs_are_named_beside_a_mistake_in_the_table(subtests, bare, tmp_path_factory):
    for kind, program in OWN_PROGRAM.items():
        with subtests.test(kind=kind):
            tmp_path = tmp_path_factory.mktemp("case")
            file = tmp_path / "experiment.toml"
            file.write_text(EXPERIMENT.format(kind=kind))
            with pytest.raises(InputErrors) as found:
                experiment_of(file, tmp_path / "lab")
            text = str(found.value)
            assert "unknown knob 'nonsense'" in text
            assert f"target one: {program}: not found" in text


def test_programs_follow_from_the_knobs_that_are_right(bare, tmp_path):
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT.format(kind="nbd").replace("nonsense", 'filesystem = "xfs"\nnonsense'))
    with pytest.raises(InputErrors) as found:
        experiment_of(file, tmp_path / "lab")
    assert "mkfs.xfs: not found" in str(found.value)
    assert "mkfs.ext4" not in str(found.value)


def test_a_wrong_table_never_hides_by_an_error_what_a_host_lacks(subtests, bare):
    """Knobs with mistakes have their defaults then; a required one has none."""
    for kind in catalogue.names("targets"):
        with subtests.test(kind=kind):
            plug = catalogue.find("targets", kind)
            assert isinstance(plug.lacks(Local(), catalogue.resolved(plug.knobs, {})), tuple)
