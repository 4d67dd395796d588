from pathlib import Path

from assay.survey import walk

TABLE = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:20 / /srv/with\040space rw,nosuid,noatime shared:5 master:1 - xfs /dev/sdb rw
31 22 0:21 / /proc rw - proc proc rw
a line that is none
"""


def test_the_table_of_the_kernel_which_mount_holds_a_path_and_access_times():
    found = walk.parsed_mounts(TABLE)
    assert set(found) == {"/", "/srv/with space", "/proc"}
    assert found["/srv/with space"] == walk.MountEntry(filesystem="xfs", options=frozenset({"rw", "nosuid", "noatime"}))
    assert found["/proc"].filesystem in walk.KERNEL_FILESYSTEMS
    found = walk.parsed_mounts(TABLE)
    assert walk.mount_of("/srv/with space/a/b", found) is found["/srv/with space"]
    assert walk.mount_of("/srv/with spaces", found) is found["/"]
    assert walk.mount_of("/", found) is found["/"]
    assert walk.mount_of("/a", {}) is None
    found = walk.parsed_mounts(TABLE)
    assert walk.coarse_access_times([found["/proc"], None]) == ()
    told = walk.coarse_access_times([found["/"], found["/srv/with space"]])
    assert ["noatime" in told[0], "relatime" in told[1]] == [True, True]
    found = walk.mount_table()
    assert Path("/proc/self/mountinfo").exists() == bool(found)
    assert all(Path(path).is_absolute() for path in found)
