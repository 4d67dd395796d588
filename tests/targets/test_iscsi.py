"""The plug `iscsi`: a disk over the network, its write cache as the disk itself says, and nothing of it afterwards."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay import catalogue
from assay.catalogue import FAMILY
from assay.errors import TrialError
from assay.machine import external_commands, mounted
from assay.records import Action
from assay.targets import iscsi
from disk_stage import facts_of_a_shared_disk, given, placing, trial_that_writes_behind
from served_stage import SBIN, ServedBench, needs, needs_fuse, needs_root
from targets_host import HOST, MIB

TARGET = catalogue.find("targets", "iscsi")
PROGRAMS = ("tgtd", "tgtadm", "qemu-storage-daemon", "nbdfuse", "losetup", "mkfs.ext4", "ip", "nsenter")
HERE = all(shutil.which(name, path=SBIN) for name in PROGRAMS)
pytestmark = [
    pytest.mark.root,
    needs_root,
    needs_fuse,
    needs(*PROGRAMS),
    pytest.mark.skipif(HERE and bool(iscsi.no_driver(HOST)), reason="not here: QEMU's driver for iSCSI (qemu-block-extra)"),
]


@pytest.fixture
def placed(tmp_path):
    with placing(TARGET, tmp_path) as place:
        yield place


def test_its_disk_is_the_servers_and_all_clients_share_it(placed):
    facts = facts_of_a_shared_disk(placed)
    assert facts["setting.write_cache"] == "on"
    assert facts["setting.software"].startswith("tgt 1.")


@pytest.mark.parametrize(("write_cache", "where"), [("on", mounted.IN_MEMORY), ("off", mounted.REACHED)])
def test_a_disk_without_a_write_cache_keeps_nothing_in_memory(placed, write_cache, where):
    """By behaviour: a write that nobody flushes."""
    made = placed(server_cache="page_cache", write_cache=write_cache)
    end = made.attached()
    assert end.details["fsync"] == mounted.REACHED
    assert dict(TARGET.facts(HOST, made.place))["setting.write_cache"] == write_cache
    last = f"seek={64 * MIB // 4096 - 1}"
    HOST.run(["dd", "if=/dev/urandom", f"of={end.details['image']}", "bs=4096", "count=1", last, "conv=notrunc", "status=none"])
    assert mounted.reached(HOST, str(Path(made.place.address, "disk.img"))) == where


def test_a_disk_whose_write_cache_is_not_as_it_was_set_is_refused(placed, monkeypatch):
    monkeypatch.setattr(iscsi, "CACHING_PAGE", iscsi.CACHING_PAGE.replace("{flags}", "0x14"))
    with pytest.raises(TrialError, match="write_cache: set to off, and the running server has on"):
        placed(write_cache="off")


def test_a_server_that_was_killed_gives_the_same_disk_again(placed):
    made = placed()
    file = Path(made.attached().address, "a")
    event = TARGET.events[Action.KILL]
    event.do(HOST, made.setting, made.place)
    event.back(HOST, made.setting, made.place)
    HOST.run(["dd", "if=/dev/urandom", f"of={file}", "bs=1M", "count=1", "conv=fsync", "status=none"], timeout_s=60.0)
    assert file.stat().st_size == MIB


def test_the_server_of_the_machine_is_left_alone(placed):
    """Its control socket is its own, and so is all that it starts."""
    made = placed()
    (pid,) = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if _words(path)[:1] == ["tgtd"] and str((path.parent / "cwd").readlink()) == made.place.private["directory"]
    ]
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert b"TGT_IPC_SOCKET=control" in environment
    assert any(one.startswith(f"{FAMILY}=".encode()) for one in environment)


def _words(path):
    try:
        return path.read_text().split("\0")
    except OSError:
        return []


def test_a_trial_writes_behind_and_both_ends_are_charged(tmp_path):
    trial_that_writes_behind(ServedBench(tmp_path), "iscsi")


def test_a_cold_read_behind_a_page_cache_comes_from_the_storage(tmp_path):
    trial_that_writes_behind(ServedBench(tmp_path), "iscsi", server_cache="page_cache")


def test_all_that_is_wrong_is_said_at_once(tmp_path, monkeypatch):
    @dataclass
    class Answer:
        stderr: str = "Unknown driver 'iscsi'"

    monkeypatch.setattr(
        external_commands, "location", lambda host, tool: None if tool in ("tgtd", "tgtadm", "nbdfuse") else f"/usr/bin/{tool}"
    )
    own = type(HOST).run
    monkeypatch.setattr(
        type(HOST),
        "run",
        lambda host, argv, **other: Answer() if argv[0] == "qemu-storage-daemon" else own(host, argv, **other),
    )
    found = "\n".join(TARGET.check(HOST, given(TARGET, None, tmp_path, size=8 * MIB + 1, filesystem="xfs")))
    for one in (
        "tgtd: not found. Install tgt.",
        "tgtadm: not found. Install tgt.",
        "nbdfuse: not found. Install libnbd-bin.",
        "qemu-storage-daemon has no driver iscsi. Install qemu-block-extra.",
        "expected whole MiB, at least",
    ):
        assert one in found
