"""Claims on targets with a server, judged for real: what an ignored flush is worth, and that no server is its own neighbour."""

import pytest

from assay.experiment import read
from assay.records import Outcome, State
from assay.selftest.control import measured
from served_stage import needs, needs_fuse, needs_root, sshd
from sizes import few_and_many

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
    "nbd": (NBD, ("qemu-storage-da", "nbdfuse")),
    "iscsi": ('kind = "iscsi"\nsize = "48 MiB"\n', ("tgtd", "tgtadm", "qemu-storage-da", "nbdfuse")),
    "sftp": ('kind = "sftp_openssh"\nSSHD\n', ("sshd", "sshfs", "ssh")),
    "webdav": ('kind = "webdav"\n', ("apache2", "rclone")),
}
"""Target -> its table, and the commands of its processes as the kernel names them."""
PROGRAMS = {
    "nbd": ("qemu-storage-daemon", "nbdfuse"),
    "iscsi": ("tgtd", "tgtadm", "qemu-storage-daemon", "nbdfuse"),
    "sftp": ("sshfs", "ssh-keygen"),
    "webdav": ("apache2", "rclone"),
}


def judged(text, tmp_path, repeats=1):
    """Conduct it, and return run and finding by rule of every run."""
    program = sshd().get("server.program") if "SSHD" in text else ""
    whole = HEAD.replace("REPEATS", str(repeats)) + text.replace("SSHD", f'server.program = "{program}"' if program else "")
    results = measured(read.parse(whole, "served.toml"), whole, tmp_path)
    for one in results.runs:
        (verdict,) = one.verdicts.values()
        yield one.run, {finding.rule: finding for finding in verdict.findings}


@needs(*PROGRAMS["nbd"])
@pytest.mark.parametrize(("flush", "state"), [("honoured", State.PASS), ("ignored", State.FAIL)])
def test_a_server_that_ignores_flushes_loses_its_claim(flush, state, tmp_path):
    """D04: acknowledged as stable, and in the memory of the server's host alone."""
    for run, found in judged(f'{NBD}server_cache = "page_cache"\nflush = "{flush}"\n', tmp_path):
        assert run.outcome is Outcome.FINISHED, run.error
        assert found["D04"].state is state, found["D04"]


@pytest.mark.parametrize("memory", ["", 'server.memory = "256 MiB"\n'])
@pytest.mark.parametrize("server", [pytest.param(name, marks=needs(*PROGRAMS[name])) for name in SERVERS])
@few_and_many("repeats", 2, 20)
def test_no_server_and_no_client_of_it_is_a_neighbour(server, memory, repeats, tmp_path):
    table, commands = SERVERS[server]
    for run, found in judged(table + memory, tmp_path, repeats):
        assert run.outcome is Outcome.FINISHED, run.error
        named = " ".join((found["N03"].statement, *found["N03"].evidence)).replace(",", " ").replace("(", " ").replace(":", " ")
        assert not set(commands) & set(named.split()), found["N03"]
