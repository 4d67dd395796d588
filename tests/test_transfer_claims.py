"""Transfers to real servers, judged: by the client's clock and by T, and whether an acknowledged file is on stable media."""

from pathlib import Path

import pytest

import assay
from assay.experiment import read
from assay.records import Outcome, State, VerdictState
from assay.selftest.control import measured
from stage.served_stage import needs, needs_fuse, needs_root, versitygw

pytestmark = [pytest.mark.root, pytest.mark.slow, needs_root, needs("ip", "nsenter", "unshare", "mkfs.ext4", "losetup")]
CLIENT = Path(assay.__file__).parent / "bin" / "assay-nfs"
HEAD = """
title = "transfers"
repeats = 1
[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "256 MiB"
[workloads.w]
kind = "transfer"
files = 10
file_size = "8 MiB"
quiesce = "0 s"
[measures]
"w.put.synced_bytes_per_s" = {}
"w.put.bytes_per_s" = { claim = { durability = "stable-media" } }
"w.get.bytes_per_s" = { claim = { tier = "device", regime = "cold" } }
[targets.served]
on = "disk"
"""


def judged(text, tmp_path):
    """Conduct it, and return the run and its verdicts by measure."""
    whole = HEAD + text
    (one,) = measured(read.parse(whole, "transfers.toml"), whole, tmp_path).runs
    assert one.run.outcome is Outcome.FINISHED, one.run.error
    return one.run, {str(measure): verdict for measure, verdict in one.verdicts.items()}


def rule(verdict, name):
    return next(one for one in verdict.findings if one.rule == name)


@needs("rclone")
def test_s3_without_a_flush_is_faster_by_the_clients_clock_and_loses_a_claim_of_stable_media(tmp_path):
    versitygw()
    run, verdicts = judged('kind = "s3_versitygw"\n', tmp_path)
    put, by_t = verdicts["w.put.bytes_per_s"], verdicts["w.put.synced_bytes_per_s"]
    phase = next(one for one in run.phases if one.name == "w.put")
    assert rule(put, "D04").state is State.FAIL, rule(put, "D04")
    assert put.state is VerdictState.INVALID
    amount, clock_ns = 10 * 8 * (1 << 20), phase.end_ns - phase.start_ns
    assert by_t.value == pytest.approx(amount * 1e9 / (clock_ns + phase.drain_ns), rel=0.05), "T is longer by the sync"
    assert by_t.value < amount * 1e9 / clock_ns
    get = verdicts["w.get.bytes_per_s"]
    assert rule(get, "T02").state is State.PASS, rule(get, "T02")


@needs_fuse
@needs("ganesha.nfsd", "rpcbind")
@pytest.mark.skipif(not CLIENT.exists(), reason="not built: make clients")
def test_nfs_with_commit_keeps_its_claim_of_stable_media(tmp_path):
    _, verdicts = judged('kind = "nfs_ganesha"\n', tmp_path)
    put, get = verdicts["w.put.bytes_per_s"], verdicts["w.get.bytes_per_s"]
    assert rule(put, "D04").state is State.PASS, rule(put, "D04")
    assert rule(get, "T02").state is State.PASS, rule(get, "T02")
