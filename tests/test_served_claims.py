"""Claims on targets with a server, judged for real: what an ignored flush is worth, and that no server is its own neighbour."""

import re

import pytest

from assay.experiment import read
from assay.machine import nfs_clients
from assay.records import Outcome, State
from assay.selftest.control import measured
from assay.targets import iscsi
from stage.served_stage import HOST, needs, needs_fuse, needs_root, sshd

pytestmark = [pytest.mark.root, pytest.mark.slow, needs_root, needs_fuse, needs("ip", "nsenter", "unshare")]
HEAD = """
title = "served"
repeats = REPEATS
[workloads.w]
kind = "bulk_io"
operations = ["write", "read"]
size = "8 MiB"
quiesce = "0 s"
flush = "end"
cache = "cold"
[measures]
"w.write.bytes_per_s" = { claim = { durability = "stable-media" } }
[targets.served]
"""
NBD = 'kind = "nbd"\nsize = "48 MiB"\n'
SERVERS = {
    "nbd": (NBD, ("qemu-storage-da", "nbdfuse"), ("qemu-storage-daemon", "nbdfuse")),
    "iscsi": (
        'kind = "iscsi"\nsize = "48 MiB"\n',
        ("tgtd", "tgtadm", "qemu-storage-da", "nbdfuse"),
        ("tgtd", "tgtadm", "qemu-storage-daemon", "nbdfuse"),
    ),
    "sftp": ('kind = "sftp_openssh"\nSSHD\n', ("sshd", "sshfs", "ssh"), ("sshfs", "ssh-keygen")),
    "webdav": ('kind = "webdav"\n', ("apache2", "rclone"), ("apache2", "rclone")),
    "nfs": ('kind = "nfs_ganesha"\n', ("ganesha.nfsd", "rpcbind", "assay-nfs"), ("ganesha.nfsd", "rpcbind")),
    "smb": ('kind = "smb_samba"\n', ("smbd", "rclone"), ("smbd", "rclone")),
    "moosefs": ('kind = "moosefs"\n', ("mfsmaster", "mfschunkserver", "mfsmount"), ("mfsmaster", "mfschunkserver", "mfsmount")),
}
"""Target -> its table, the commands of its processes as the kernel names them, and the programs that it needs."""
TRIES = 3
MEMORY = ("", 'server.memory = "2 GiB"\n')
"""Without a group, and in a group of its own."""
CASES = [
    pytest.param(name, MEMORY[(at + other) % 2], 20 if other == 2 else 1, marks=[needs(*SERVERS[name][2]), *others])
    for other, others in enumerate(([], [pytest.mark.long], [pytest.mark.long]))
    for at, name in enumerate(SERVERS)
]
"""Each target in one of both ways, in `make long` in the other one too, and again and again."""


def judged(text, tmp_path, repeats=1):
    """Conduct it, and return run and finding by rule of every run."""
    program = sshd().get("server.program") if "SSHD" in text else ""
    whole = HEAD.replace("REPEATS", str(repeats)) + text.replace("SSHD", f'server.program = "{program}"' if program else "")
    results = measured(read.parse(whole, "served.toml"), whole, tmp_path)
    for one in results.runs:
        (verdict,) = one.verdicts.values()
        yield one.run, {finding.rule: finding for finding in verdict.findings}


@needs(*SERVERS["nbd"][2])
@pytest.mark.parametrize(("flush", "state"), [("honoured", State.PASS), ("ignored", State.FAIL)])
def test_a_server_that_ignores_flushes_loses_its_claim(flush, state, tmp_path):
    """D04: acknowledged as stable, and in the memory of the server's host alone."""
    for run, found in judged(f'{NBD}server_cache = "page_cache"\nflush = "{flush}"\n', tmp_path):
        assert run.outcome is Outcome.FINISHED, run.error
        assert found["D04"].state is state, found["D04"]


@pytest.mark.parametrize(("server", "memory", "repeats"), CASES)
def test_no_server_and_no_client_of_it_is_a_neighbour(server, memory, repeats, tmp_path):
    if server == "nfs" and not nfs_clients.CLIENT.exists():
        pytest.skip("assay-nfs is not built: make clients")
    if server == "iscsi" and iscsi.no_driver(HOST):
        pytest.skip("not here: QEMU's driver for iSCSI (qemu-block-extra)")
    table, commands, _ = SERVERS[server]
    for number in range(TRIES):  # another test may have the same programs at work: these are neighbours
        accused = []
        for run, found in judged(table + memory, tmp_path / str(number), repeats):
            assert run.outcome is Outcome.FINISHED, run.error
            assert found["N03"].state is not State.NOT_APPLICABLE
            named = re.findall(r"[\w-]+", " ".join((found["N03"].statement, *found["N03"].evidence)))
            accused += [found["N03"]] if set(commands) & set(named) else []
        if not accused:
            return
    assert not accused
