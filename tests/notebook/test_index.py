"""Which file system holds a folder."""

from pathlib import Path

from assay.notebook.index import is_network, kind_of

MOUNTS = r"""22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw
31 22 0:40 / /mnt/my\040lab rw - nfs4 server:/lab rw
32 22 0:41 / /mnt/my\040lab/scratch rw master:1 - xfs /dev/vdb rw
33 22 0:42 / /srv rw - fuse.sshfs me@there: rw
a line of another kind
"""


def test_the_innermost_mount_counts(subtests):
    for folder, kind, network in [
        ("/home/me/lab", "ext4", False),
        ("/mnt/my lab/one", "nfs4", True),
        ("/mnt/my lab/scratch/one", "xfs", False),
        ("/srv", "fuse.sshfs", True),
        ("/srvx", "ext4", False),
    ]:
        with subtests.test(folder=folder):
            assert kind_of(Path(folder), MOUNTS) == kind
            assert is_network(Path(folder), MOUNTS) is network


def test_this_machine_can_be_asked(tmp_path):
    assert is_network(tmp_path) in (True, False)
    assert kind_of(Path("/proc"), Path("/proc/self/mountinfo").read_text()) == "proc"
