"""What a mount of rclone holds back, by its options: of a recorded machine, whose mount table and processes are files."""

from assay.hosts.local import Local
from assay.machine import held_back
from stage.rows import each

MOUNT = "40 1 0:50 / /srv/m rw - fuse.rclone server: rw\n"


@each(
    "argv environment wanted",
    (["rclone", "mount", "server:", "/srv/m"], "", "nothing: a close waits"),
    (["rclone", "mount", "--vfs-cache-mode", "full", "server:", "/srv/m"], "", "5s after its close (--vfs-cache-mode full)"),
    (["/usr/bin/rclone", "mount", "s:", "/srv/m", "--vfs-cache-mode=writes", "--vfs-write-back=1m"], "", "1m after its close"),
    (["rclone", "mount", "server:", "/srv/m"], "A=b\0RCLONE_VFS_CACHE_MODE=writes\0", "--vfs-cache-mode writes"),
    (["rclone", "mount", "server:", "/other", "--vfs-cache-mode", "full"], "", "unknown"),
)
def test_the_options_of_the_process_behind_the_mount(tmp_path, argv, environment, wanted):
    process = tmp_path / "proc" / "77"
    process.mkdir(parents=True)
    (process / "cmdline").write_text("\0".join(argv) + "\0")
    (process / "environ").write_text(environment)
    (process / "cwd").symlink_to("/")
    (tmp_path / "proc" / "self").mkdir()
    (tmp_path / "proc" / "self" / "mountinfo").write_text(f"1 0 8:1 / / rw - ext4 /dev/vda rw\n{MOUNT}")
    found = held_back.of_mount(Local(root=tmp_path), "/srv/m/data")
    assert wanted in found
