import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import EvidenceError
from assay.hosts.local import Local
from assay.machine import files
from assay.machine.stack import device_stack, mount_of, mounts_below, parse_mounts, stack
from stage.targets_host import HOST


def recorded(root, mountinfo, links=(), files=()):
    for path, text in (("proc/self/mountinfo", mountinfo), *files):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    for path, target in links:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / target).mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(os.path.relpath(root / target, (root / path).parent))
    return Local("old", root=root)


LINE = "{id} 1 {number} / {point} rw,relatime shared:1 - {kind} {source} rw\n"


def line(point, number="8:1", kind="ext4", source="/dev/sda1", n=1):
    return LINE.format(id=n, number=number, point=point, kind=kind, source=source)


def test_partition_of_a_mirror_of_disks(tmp_path):
    devices = "sys/devices/pci"
    host = recorded(
        tmp_path,
        line("/") + line("/srv", number="9:0", source="/dev/md0"),
        links=[
            ("sys/dev/block/8:1", f"{devices}/sda/sda1"),
            ("sys/dev/block/9:0", "sys/devices/virtual/md0"),
            ("sys/class/block/sda1", f"{devices}/sda/sda1"),
            ("sys/class/block/sda", f"{devices}/sda"),
            ("sys/class/block/sdb", f"{devices}/sdb"),
            ("sys/class/block/md0", "sys/devices/virtual/md0"),
            ("sys/devices/virtual/md0/slaves/sda1", f"{devices}/sda/sda1"),
            ("sys/devices/virtual/md0/slaves/sdb", f"{devices}/sdb"),
        ],
        files=[(f"{devices}/sda/sda1/partition", "1\n")],
    )
    assert stack(host, "/etc") == ("sda1", "sda")
    assert stack(host, "/srv/data") == ("md0", "sda1", "sdb", "sda")


def test_loop_on_a_file_of_another_file_system(tmp_path):
    host = recorded(
        tmp_path,
        line("/", number="254:0", source="/dev/vda") + line("/mnt", number="7:3", source="/dev/loop3"),
        links=[
            ("sys/dev/block/254:0", "sys/devices/vda"),
            ("sys/dev/block/7:3", "sys/devices/loop3"),
            ("sys/class/block/vda", "sys/devices/vda"),
            ("sys/class/block/loop3", "sys/devices/loop3"),
            ("sys/block/loop3", "sys/devices/loop3"),
        ],
        files=[("sys/devices/loop3/loop/backing_file", "/images/a b.img (deleted)\n")],
    )
    assert stack(host, "/mnt/x") == ("loop3", "vda")


def test_btrfs_has_all_its_members(tmp_path):
    host = recorded(
        tmp_path,
        line("/", number="0:33", kind="btrfs", source="/dev/sdb"),
        links=[("sys/fs/btrfs/uuid/devices/sda", "sys/devices/sda"), ("sys/fs/btrfs/uuid/devices/sdb", "sys/devices/sdb")],
        files=[("sys/fs/btrfs/features/x", "")],
    )
    assert stack(host, "/x") == ("sda", "sdb")


def test_no_device_below(subtests, tmp_path_factory):
    for kind in ["tmpfs", "overlay", "nfs4"]:
        with subtests.test(kind=kind):
            tmp_path = tmp_path_factory.mktemp("case")
            assert stack(recorded(tmp_path, line("/", number="0:40", kind=kind, source="server:/x")), "/x") == ()


def test_the_topmost_and_nearest_mount_counts(tmp_path):
    text = line("/", n=1) + line("/a", source="under", n=2) + line("/a", source="upper", n=3) + line("/ab", source="other", n=4)
    host = recorded(tmp_path, text)
    assert mount_of(host, "/a/b").source == "upper"
    assert mount_of(host, "/abc").source == "/dev/sda1"
    assert mounts_below(host, "/a") == ("/a", "/a")


def test_devices_that_stand_upon_each_other_in_a_circle_are_refused(tmp_path):
    host = recorded(tmp_path, line("/"), links=[("sys/class/block/a/slaves/b", "sys/x"), ("sys/class/block/b/slaves/a", "sys/y")])
    with pytest.raises(EvidenceError, match="more than 16 block devices"):
        device_stack(host, "a")


@given(st.text(alphabet="ab /\\\t\nµ", min_size=1, max_size=12))
def test_escaped_names_come_back(name):
    escaped = "".join(f"\\{ord(c):03o}" if c in " \t\n\\" else c for c in name)
    (mount,) = parse_mounts(line("/" + escaped))
    assert mount.point == "/" + name


@given(st.text(max_size=60))
def test_strange_lines_are_refused_by_name(text):
    if all(not part.strip() for part in text.splitlines()):
        assert parse_mounts(text) == ()
        return
    with pytest.raises(EvidenceError, match="mountinfo"):
        parse_mounts(text)


def test_a_stacked_file_system_has_the_devices_below(tmp_path):
    over = "1 1 0:9 / /over rw - overlay overlay rw,lowerdir=/a:/gone,upperdir=/up/x,workdir=/w\n"
    text = line("/") + line("/up", number="8:2", source="/dev/sdb") + over
    text += line("/view", number="0:10", kind="fuse", source="/over/deep") + line(
        "/far", number="0:11", kind="fuse.sshfs", source="u@h:/"
    )
    links = [("sys/dev/block/8:1", "sys/devices/sda"), ("sys/dev/block/8:2", "sys/devices/sdb")]
    host = recorded(tmp_path, text, links=links, files=[("a/x", ""), ("up/x/x", ""), ("over/deep/x", "")])
    assert stack(host, "/over/file") == ("sdb", "sda")
    assert stack(host, "/view/file") == ("sdb", "sda")
    assert stack(host, "/far") == ()
    assert files.mount_facts(host, "/view", ())[1] == ("below", "ext4 on /dev/sdb, ext4 on /dev/sda1")
    assert files.in_memory(host, "/view") is None


def test_a_stack_whose_layers_cannot_be_seen_or_are_itself_has_none(tmp_path):
    text = "1 1 0:9 / / rw - overlay overlay rw,lowerdir=/l,upperdir=/gone\n" + line("/t", number="0:4", kind="tmpfs", source="t")
    text += "1 1 0:8 / /o rw - overlay overlay rw,upperdir=/t/u\n"
    host = recorded(tmp_path, text, files=[("l/x", ""), ("t/u/x", "")])
    assert stack(host, "/x") == ()
    assert files.in_memory(host, "/o/x") == "tmpfs"
    near = text.replace("/ /o rw", "/ /t/o rw").replace("upperdir=/t/u", "upperdir=u")
    assert files.in_memory(recorded(tmp_path, near), "/t/o/x") == "tmpfs", "a relative layer is beside the mount point"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="an overlay needs root")
def test_a_real_overlay(tmp_path):
    for name in ("lower", "upper", "work", "over"):
        (tmp_path / name).mkdir()
    layers = ",".join(f"{name}dir={tmp_path / name}" for name in ("lower", "upper", "work"))
    if HOST.run(["mount", "-t", "overlay", "-o", layers, "overlay", str(tmp_path / "over")], check=False).status:
        pytest.skip("this kernel has no overlay")
    try:
        assert stack(HOST, str(tmp_path / "over")) == stack(HOST, str(tmp_path))
    finally:
        HOST.run(["umount", str(tmp_path / "over")])


def test_this_machine():
    number = Path("/").stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if entry.exists():
        assert stack(HOST, "/")[0] == entry.resolve().name
    assert mount_of(HOST, "/proc/self").filesystem == "proc"
