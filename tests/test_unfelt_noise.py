"""Beside a program that dirties the disk: a read is told of it (W07), a load without storage is not, nor blamed for it (N03)."""

import pytest

from assay.experiment import read
from assay.records import Outcome, State
from assay.selftest.control import measured
from stage.targets_host import needs_root

pytestmark = [pytest.mark.root, pytest.mark.slow, needs_root]
EXPERIMENT = """
title = "What a load can feel"
repeats = 1
[targets.here]
kind = "commands"
prepare = ["sh", "-c", '''
set -e
d={scratch}/{name}
mkdir -p $d/data
touch $d/on $d/noise
while [ -e $d/on ]; do
  dd if=/dev/zero of=$d/noise bs=4M count=4 oflag=direct conv=notrunc,nocreat status=none
  dd if=/dev/zero of=$d/noise bs=4M count=16 conv=notrunc,nocreat status=none
done </dev/null >/dev/null 2>&1 &
echo $d/data
''']
drop_caches = ["sh", "-c", "for file in {path}/*; do dd if=$file iflag=nocache count=0 status=none; done"]
teardown = ["rm", "-rf", "{scratch}/{name}"]
[workloads.r]
kind = "bulk_io"
operations = ["read"]
size = "32 MiB"
record_size = "1 MiB"
cache = "cold"
quiesce = "0 s"
[workloads.n]
kind = "null"
think = "1 ms"
duration = "1 s"
quiesce = "0 s"
[measures]
"r.read.bytes_per_s" = {}
"n.null.ops_per_s" = {}
"""


def test_noise_of_a_disk_is_told_of_what_can_feel_it_alone(tmp_path):
    (one,) = measured(read.parse(EXPERIMENT, "unfelt.toml"), EXPERIMENT, tmp_path / "lab").runs[-1:]
    assert one.run.outcome is Outcome.FINISHED, one.run.error
    found = {str(measure): {finding.rule: finding for finding in verdict.findings} for measure, verdict in one.verdicts.items()}
    assert found["r.read.bytes_per_s"]["W07"].state is State.FAIL, found["r.read.bytes_per_s"]["W07"]
    null = found["n.null.ops_per_s"]
    assert null["W07"].state is State.NOT_APPLICABLE, null["W07"]
    assert null["N03"].observed["bytes_share"] is None, null["N03"]
    assert "device" not in null["N03"].statement, null["N03"]
