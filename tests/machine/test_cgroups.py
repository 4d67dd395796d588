import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import RefusedError, UsageError
from assay.hosts.local import Local
from assay.machine import cgroups, cpus
from assay.trial import placement
from assay.undo.ledger import Ledger
from stage.targets_host import HOST

V1 = "30 1 0:30 {within} /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"
V1 += "31 1 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
V2 = "30 1 0:30 / {root} rw - cgroup2 cgroup2 rw\n"


class Elsewhere(Local):
    """A host whose groups are plain directories below a root: the kernel's answers are files, our writes are kept there."""

    def __init__(self, root, *, root_user=True):
        super().__init__("elsewhere", root=root)
        self.root_user = root_user
        self.made = []

    def is_root(self):
        return self.root_user

    def write(self, path, text):
        (self.root / path.lstrip("/")).write_text(text + "\n")

    def run(self, argv, **options):
        assert list(argv[:2]) == ["mkdir", "--"]
        (self.root / argv[2].lstrip("/")).mkdir()
        (self.root / argv[2].lstrip("/") / "cgroup.controllers").write_text("io memory")
        self.made.append(argv[2])


class Noted:
    """An undo that only keeps what it was told."""

    def __init__(self):
        self.entries = []

    def add(self, kind, **details):
        self.entries.append((kind, details))

    def undo(self, kind, **details):
        self.entries.remove((kind, details))


def elsewhere(root, mountinfo, membership, namespace="4026531835", **options):
    for path, text in (("proc/self/mountinfo", mountinfo), ("proc/self/cgroup", membership)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / "proc/self/ns").mkdir()
    (root / "proc/self/ns" / f"cgroup:[{namespace}]").write_text("")
    (root / "proc/self/ns/cgroup").symlink_to(f"cgroup:[{namespace}]")
    (root / "sys/fs/cgroup/blkio").mkdir(parents=True)
    (root / "sys/fs/cgroup/blkio/blkio.throttle.read_bps_device").write_text("")
    (root / "sys/fs/cgroup/cgroup.controllers").write_text("cpu io memory")
    return Elsewhere(root, **options)


def test_a_rule_in_the_root_group_is_possible(tmp_path):
    assert cgroups.throttle_obstacle(elsewhere(tmp_path, V1.format(within="/"), "7:blkio:/\n")) is None


def test_a_rule_that_would_be_escaped_is_refused(subtests, tmp_path_factory):
    for membership, within, namespace in [
        ("7:blkio:/session\n", "/", "4026531835"),
        ("7:blkio:/\n", "/docker/1", "4026531835"),
        ("7:blkio:/\n", "/", "4026532000"),
    ]:
        with subtests.test(membership=membership, within=within, namespace=namespace):
            tmp_path = tmp_path_factory.mktemp("case")
            host = elsewhere(tmp_path, V1.format(within=within), membership, namespace)
            with pytest.raises(RefusedError, match="in the root group"):
                cgroups.throttle(host, Noted(), "7:0", {"read_bytes_per_s": 5}, "x")


def test_a_rule_that_we_may_not_set_is_refused(tmp_path):
    host = elsewhere(tmp_path, V1.format(within="/"), "7:blkio:/\n", root_user=False)
    with pytest.raises(RefusedError, match="needs root"):
        cgroups.throttle(host, Noted(), "7:0", {"read_bytes_per_s": 5}, "x")


def test_a_kernel_without_block_groups_is_refused(tmp_path):
    assert "no control group" in str(cgroups.throttle_obstacle(elsewhere(tmp_path, "", "0::/\n")))


def test_a_rule_that_the_kernel_drops_is_refused(tmp_path, monkeypatch):
    host, undo = elsewhere(tmp_path, V1.format(within="/"), "7:blkio:/\n"), Noted()
    monkeypatch.setattr(host, "write", lambda path, text: None)
    with pytest.raises(RefusedError, match="did not keep"):
        cgroups.throttle(host, undo, "7:0", {"read_bytes_per_s": 5}, "x")
    assert undo.entries == [
        ("throttle", {"file": "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "device": "7:0", "value": "5"})
    ]


def test_unified_groups_get_one_group_for_limit_and_memory(tmp_path):
    host, undo = elsewhere(tmp_path, V2.format(root="/sys/fs/cgroup"), "0::/user.slice\n"), Noted()
    group = cgroups.throttle(host, undo, "7:0", {"read_bytes_per_s": 5, "write_ops_per_s": 6}, "trial-0001")
    assert group.startswith("/sys/fs/cgroup/assay/trial-0001-")
    assert host.read(f"{group}/io.max") == "7:0 rbps=5 wiops=6\n"
    assert host.read("/sys/fs/cgroup/cgroup.subtree_control").split() == ["+io", "+memory"]
    placed = placement.place(host, undo, "0001", 1 << 30, group)
    assert placed == placement.Cgroup(paths=(group,), memory_bytes=1 << 30)
    assert host.read(f"{group}/memory.max").strip() == str(1 << 30)
    placement.enter(host, placed, 77)
    assert host.read(f"{group}/cgroup.procs").strip() == "77"
    assert [details["path"] for _, details in undo.entries] == host.made == ["/sys/fs/cgroup/assay", group]


def test_a_group_with_processes_that_blocks_controllers_is_named(tmp_path, monkeypatch):
    host = elsewhere(tmp_path, V2.format(root="/sys/fs/cgroup"), "0::/\n", namespace="4026532000")

    def busy(path, text):
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(host, "write", busy)
    with pytest.raises(RefusedError, match=r"subtree_control.*Move its processes into a child group"):
        cgroups.throttle(host, Noted(), "7:0", {"read_bytes_per_s": 5}, "x")


def test_only_the_rule_that_was_set_is_removed(tmp_path):
    host = elsewhere(tmp_path, V1.format(within="/"), "7:blkio:/\n")
    file = "/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device"
    host.write(file, "7:0 55\n7:1 5")
    assert not cgroups.remove_throttle_rule(host, file, "7:0", "5")
    assert not cgroups.remove_throttle_rule(host, file + "x", "7:1", "5")
    assert cgroups.remove_throttle_rule(host, file, "7:1", "5")
    assert host.read(file) == "7:1 0\n"


def test_no_knobs_no_groups():
    assert placement.place(HOST, Noted(), "1", None) is None
    assert placement.place(HOST, Noted(), "1", None, "/g") == placement.Cgroup(paths=("/g",))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="groups need root")
def test_memory_limit_holds_for_a_process_that_entered(tmp_path):
    if cgroups.hierarchy(HOST, "memory") is None:
        pytest.skip("this kernel has no memory groups")
    ledger = Ledger(tmp_path / "ledger")
    placed = placement.place(HOST, ledger, "0001", 64 << 20)
    code = "import sys; sys.stdin.readline(); x = bytearray(256 << 20); print(len(x))"
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    placement.enter(HOST, placed, process.pid)
    said, _ = process.communicate(b"\n", timeout=300)
    assert (process.returncode, said) == (-9, b"")
    placement.leave(ledger, placed)
    assert not any(Path(path).exists() for path in placed.paths)
    ledger.unwind()  # on v2, also the folder of all groups
    ledger.close()
    assert list((tmp_path / "ledger").iterdir()) == []


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="groups need root")
def test_a_group_with_a_process_in_it_is_emptied_first(tmp_path):
    if cgroups.hierarchy(HOST, "memory") is None:
        pytest.skip("this kernel has no memory groups")
    ledger = Ledger(tmp_path / "ledger")
    placed = placement.place(HOST, ledger, "0002", 64 << 20)
    sleeper = subprocess.Popen(["sleep", "600"])
    placement.enter(HOST, placed, sleeper.pid)
    assert {cleaned.state for cleaned in ledger.unwind()} == {"undone"}
    assert not Path(placed.paths[0]).exists()
    assert sleeper.poll() is None
    sleeper.kill()
    sleeper.wait()
    ledger.close()


def cpu_host(root, allowed, pairs):
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/status").write_text(f"Name:\tx\nCpus_allowed_list:\t{allowed}\n")
    for number, siblings in pairs.items():
        topology = root / f"sys/devices/system/cpu/cpu{number}/topology"
        topology.mkdir(parents=True)
        (topology / "thread_siblings_list").write_text(siblings + "\n")
    return Local("old", root=root)


def test_a_count_of_cpus_takes_a_thread_of_each_core_first(tmp_path):
    host = cpu_host(tmp_path, "0-3", {0: "0-1", 1: "0-1", 2: "2,3", 3: "2,3"})
    assert cpus.cpus(host, 1) == (0,)
    assert cpus.cpus(host, 2) == (0, 2)
    assert cpus.cpus(host, 3) == (0, 1, 2)
    assert cpus.cpus(host, None) is None
    assert cpus.cpus(host, (3, 1)) == (3, 1)
    assert cpus.siblings(host, (2,)) == (("cpu.2.siblings", "2,3"),)


def test_cpus_that_are_not_ours_are_refused(subtests, tmp_path_factory):
    for wanted in [0, 5, (), (9,), "0"]:
        with subtests.test(wanted=wanted):
            tmp_path = tmp_path_factory.mktemp("case")
            host = cpu_host(tmp_path, "0-3", {})
            with pytest.raises(UsageError, match="0, 1, 2, 3"):
                cpus.cpus(host, wanted)


def test_groups_of_others_are_never_removed():
    assert not cgroups.remove_group(HOST, "/sys/fs/cgroup/memory/strangers")


def test_a_group_is_removed_once_the_kernel_has_let_its_last_process_go(tmp_path):
    """A process that ends is no longer listed and is still in its group: the group is busy for a moment."""
    group = tmp_path / "assay-group"
    group.mkdir()
    tries = []

    class Busy(Local):
        def run(self, argv, **options):
            tries.append(argv)
            return super().run(argv if len(tries) > 2 else ["false"], **options)

    assert cgroups.remove_group(Busy("busy"), str(group))
    assert (group.exists(), len(tries)) == (False, 3)
