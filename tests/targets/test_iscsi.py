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
from stage.disk_stage import facts_of_a_shared_disk, trial_that_writes_behind
from stage.served_stage import SBIN, needs, needs_fuse, needs_root
from stage.targets_host import HOST, MIB

TARGET = catalogue.find("targets", "iscsi")
KNOBS = {"size": 64 * MIB}
PROGRAMS = ("tgtd", "tgtadm", "qemu-storage-daemon", "nbdfuse", "losetup", "mkfs.ext4", "ip", "nsenter")
HERE = all(shutil.which(name, path=SBIN) for name in PROGRAMS)
pytestmark = [
    pytest.mark.root,
    needs_root,
    needs_fuse,
    needs(*PROGRAMS),
    pytest.mark.skipif(HERE and bool(iscsi.no_driver(HOST)), reason="not here: QEMU's driver for iSCSI (qemu-block-extra)"),
]


def test_its_disk_is_the_servers_and_all_clients_share_it(placed):
    facts = facts_of_a_shared_disk(placed)
    assert facts["setting.write_cache"] == "on"
    assert facts["setting.software"].startswith("tgt 1.")


def test_a_disk_without_a_write_cache_keeps_nothing_in_memory(placed, monkeypatch):
    """By behaviour: a write that nobody flushes."""
    for write_cache, where in (("on", mounted.IN_MEMORY), ("off", mounted.REACHED)):
        made = placed(server_cache="page_cache", write_cache=write_cache)
        end = made.attached()
        assert end.details["fsync"] == mounted.REACHED
        assert made.facts()["setting.write_cache"] == write_cache
        to = (f"of={end.details['image']}", f"seek={64 * MIB // 4096 - 1}", "conv=notrunc", "status=none")
        HOST.run(["dd", "if=/dev/urandom", "bs=4096", "count=1", *to])
        assert mounted.reached(HOST, str(Path(made.place.address, "disk.img"))) == where
        made.end()
    monkeypatch.setattr(iscsi, "CACHING_PAGE", iscsi.CACHING_PAGE.replace("{flags}", "0x14"))
    with pytest.raises(TrialError, match="write_cache: set to off, and the running server has on"):
        placed(write_cache="off")


def test_its_server_is_its_own_and_gives_the_same_disk_again_after_a_kill(placed):
    """Its control socket is its own, and so is all that it starts: the machine's server is left alone."""
    made = placed()
    (pid,) = [
        int(path.parent.name)
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if _words(path)[:1] == ["tgtd"] and str((path.parent / "cwd").readlink()) == made.place.private["directory"]
    ]
    environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    assert b"TGT_IPC_SOCKET=control" in environment
    assert any(one.startswith(f"{FAMILY}=".encode()) for one in environment)
    file = Path(made.attached().address, "a")
    made.event(Action.KILL)
    made.event(Action.KILL, "back")
    HOST.run(["dd", "if=/dev/urandom", f"of={file}", "bs=1M", "count=1", "conv=fsync", "status=none"], timeout_s=60.0)
    assert file.stat().st_size == MIB


def _words(path):
    try:
        return path.read_text().split("\0")
    except OSError:
        return []


def test_a_trial_writes_behind_and_reads_cold_from_the_storage(bench):
    for more in ({}, {"server_cache": "page_cache"}):
        trial_that_writes_behind(bench, "iscsi", **more)


def test_all_that_is_wrong_is_said_at_once(placed, monkeypatch):
    @dataclass
    class Answer:
        stderr: str = "Unknown driver 'iscsi'"

    lost, run = ("tgtd", "tgtadm", "nbdfuse"), type(HOST).run
    monkeypatch.setattr(external_commands, "location", lambda host, tool: None if tool in lost else f"/usr/bin/{tool}")
    monkeypatch.setattr(
        type(HOST), "run", lambda host, argv, **other: Answer() if "storage-daemon" in argv[0] else run(host, argv, **other)
    )
    found = "\n".join(placed.check(size=8 * MIB + 1, filesystem="xfs"))
    wanted = ("tgtd: not found", "tgtadm: not found", "nbdfuse: not found", "has no driver iscsi", "expected whole MiB, at least")
    assert [one for one in wanted if one not in found] == []
