"""Transfers to real servers, judged: by the client's clock and by T, and whether an acknowledged file is on stable media."""

import re
from pathlib import Path

import pytest

import assay
from assay.experiment import read
from assay.records import Outcome, State, VerdictState
from assay.selftest.control import measured
from served_stage import needs, needs_fuse, needs_root, versitygw

pytestmark = [pytest.mark.root, pytest.mark.slow, needs_root, needs("ip", "nsenter", "unshare", "mkfs.ext4", "losetup")]
ROOT = Path(__file__).parent.parent
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
    amount = 10 * 8 * (1 << 20)
    seconds = amount / by_t.undrained
    assert by_t.value == pytest.approx(amount / (seconds + phase.drain_ns / 1e9), rel=0.01), "T is the sync longer"
    assert by_t.value < by_t.undrained
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


@needs("xrdcp", "xrootd", "globus-gridftp-server", "globus-url-copy", "tc")
@pytest.mark.parametrize("server", ["xrootd", "gridftp"])
def test_the_recipes_of_xrootd_and_gridftp_carry_files(server, tmp_path, monkeypatch):
    text = (ROOT / "experiments" / "grid_protocols.toml").read_text()
    text = re.sub(r"(?m)^repeats = 3$", "repeats = 1", text).replace('"48 MiB"', '"4 MiB"').replace("files = 10", "files = 2")
    text = text.replace('target = ["xrootd", "gridftp"]', f'target = ["{server}"]')
    monkeypatch.chdir(ROOT)
    (one,) = measured(read.parse(text, "grid.toml"), text, tmp_path).runs
    assert one.run.outcome is Outcome.FINISHED, one.run.error
    assert [phase.name for phase in one.run.phases][-1] == "files.compare_got"
