"""Sound trials of different kinds: no rule may call a number invalid that is what it is said to be.

Really run on this machine. Rules of noise (N..) speak of the platform and are no accusation of the number. A trial that
comes out with one is tried again, at most twice; every accusation of the last attempt is a false alarm.
"""

import os
import sys

import pytest

from assay.cli.control import accuses, measured
from assay.experiment import read
from assay.fleet.hosts.local import Local
from assay.machine import throttle
from assay.records import State

pytestmark = [
    pytest.mark.slow,
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make and mount file systems"),
]
TRIES = 3
STREAM = 'kind = "bulk_io"\nsize = "48 MiB"\nrecord_size = "1 MiB"\n'

COLD_DIRECT = (
    "",
    STREAM + 'operations = ["read", "random_read"]\ndirect = true\ncache = "cold"',
    """
"w.read.bytes_per_s" = { claim = { tier = "device", regime = "cold", load = "closed" } }
"w.random_read.ops_per_s" = { claim = { tier = "device", regime = "cold", load = "closed" } }
"w.random_read.latency_p99_ns" = { claim = { tier = "device", regime = "cold" } }
""",
)
BUFFERED = (
    "",
    STREAM + 'operations = ["write", "read"]\nflush = "end"\ncache = "cold"\nworkers = 2\nsplit = true',
    """
"w.write.bytes_per_s" = { claim = { tier = "device", durability = "stable-media", regime = "burst" } }
"w.read.bytes_per_s" = { claim = { tier = "device", regime = "cold" } }
""",
)
WARM = (
    "",
    STREAM + 'operations = ["read"]\ncache = "warm"',
    '"w.read.bytes_per_s" = { claim = { tier = "client-cache", regime = "warm" } }',
)
COMMITS = (
    "",
    (
        'kind = "bulk_io"\nsize = "16 MiB"\nrecord_size = "4 KiB"\noperations = ["random_write"]\n'
        'flush = "each"\noverwrite = true\nops = 300'
    ),
    """
"w.random_write.ops_per_s" = { claim = { tier = "device", durability = "stable-media", regime = "burst" } }
"w.flush.latency_p99_ns" = { claim = { durability = "stable-media" } }
""",
)
METADATA = (
    "",
    (
        'kind = "metadata"\nobject = "file"\ncount = 3000\nfile_bytes = "4 KiB"\n'
        'operations = ["create", "fsync", "list", "stat", "unlink"]\ncache = "cold"'
    ),
    """
"w.create.ops_per_s" = {}
"w.fsync.latency_p99_ns" = { claim = { durability = "stable-media" } }
"w.list.ops_per_s" = {}
"w.stat.ops_per_s" = { claim = { tier = "device", regime = "cold" } }
"w.unlink.ops_per_s" = {}
""",
)
THROTTLED = (
    'limit = { read_ops_per_s = "1000 /s", write_bytes_per_s = "40 MB/s" }',
    (
        'kind = "bulk_io"\nsize = "32 MiB"\nrecord_size = "4 KiB"\noperations = ["random_write", "random_read"]\n'
        'direct = true\nduration = "2 s"'
    ),
    """
"w.random_read.ops_per_s" = { claim = { tier = "device", load = "closed" } }
"w.random_write.ops_per_s" = { claim = { tier = "device" } }
[factors]
clients = [2]
""",
)
OFFERED = (
    "",
    (
        'kind = "bulk_io"\nsize = "32 MiB"\nrecord_size = "4 KiB"\noperations = ["random_read"]\nio_path = "io_uring"\n'
        'depth = 8\ndirect = true\nrate = "300 /s"\narrivals = "poisson"\nduration = "60 s"\nuntil_steady = true\nround = "1 s"'
    ),
    """
"w.random_read.ops_per_s" = { claim = { tier = "device", load = "open" } }
"w.random_read.latency_p99_ns" = { claim = { tier = "device", load = "open" } }
""",
)
FOREIGN_DIRECT = (
    "",
    """kind = "command"
argv = ["dd", "if=/dev/zero", "of={directory}/data", "bs=1M", "count=32", "oflag=direct", "conv=fsync", "status=none"]
operation = "store"
direction = "write"
flush = "inside"
data_files = ["data"]
""",
    '"w.store.elapsed_ns" = { claim = { tier = "device", durability = "stable-media" } }',
)
FOREIGN_TOLD = (
    "",
    """kind = "command"
argv = ["sh", "-c", "dd if=/dev/zero of={directory}/data bs=1M count=32 conv=fsync 2>&1"]
parse = "regex"
pattern = '^(\\d+) bytes'
unit = "B"
direction = "write"
flush = "inside"
data_files = ["data"]
""",
    '"w.write.bytes" = { claim = { tier = "device", durability = "stable-media" } }',
)
IDLE = ("", 'kind = "command"\nargv = ["sleep", "6"]\noperation = "wait"\ndirection = "metadata"', '"w.wait.elapsed_ns" = {}')

KINDS = {
    "cold-direct-reads": COLD_DIRECT,
    "flushed-writes-and-cold-reads": BUFFERED,
    "warm-reads-said-to-be-warm": WARM,
    "commits": COMMITS,
    "metadata-with-fsync": METADATA,
    "throttled-disk": THROTTLED,
    "offered-to-a-ring-until-steady": OFFERED,
    "foreign-direct-write": FOREIGN_DIRECT,
    "foreign-flushed-write-that-tells-its-bytes": FOREIGN_TOLD,
    "a-command-that-moves-nothing": IDLE,
}


def text(filesystem, kind):
    target, workload, measures = KINDS[kind]
    return f"""
title = "{kind} on {filesystem}"
repeats = 1
[targets.disk]
kind = "loopfs"
filesystem = "{filesystem}"
size = "{"352 MiB" if filesystem == "xfs" else "160 MiB"}"
{target}
[workloads.w]
{workload}
[measures]
{measures}
"""


def accusations(results):
    """(rule, measure, statement) of each finding of the last attempt that invalidates; noise of the platform is none."""
    run = results.runs[-1]
    assert run.run.outcome == "finished", run.run.error
    assert run.verdicts, "nothing was judged"
    return [
        f"{finding.rule} of {measure}: {finding.statement}"
        for measure, verdict in run.verdicts.items()
        for finding in verdict.findings
        if accuses(finding)
    ]


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_sound_trial_is_not_called_invalid(kind, filesystem, tmp_path):
    if kind == "throttled-disk" and (why := throttle.obstacle(Local())) is not None:
        pytest.skip(why)
    said = text(filesystem, kind)
    experiment = read.parse(said, f"{kind}.toml")
    for attempt in range(TRIES):
        results = measured(experiment, said, tmp_path / str(attempt))
        found = accusations(results)
        sys.stdout.write(summary(results, found))
        if not found:
            break
    assert found == []


def summary(results, found):
    """What was judged, for `pytest -rP`: the verdicts with all doubts, and the accusations."""
    lines = list(found)
    for name, verdict in results.runs[-1].verdicts.items():
        doubts = [f"{one.rule} {one.state}" for one in verdict.findings if one.state in (State.FAIL, State.UNVERIFIED)]
        lines.append(f"{name}: {verdict.state}: {verdict.label} ({', '.join(doubts)})")
    return "".join(f"{line}\n" for line in lines)
