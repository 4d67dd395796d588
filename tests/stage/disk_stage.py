"""What the tests of targets share whose server gives a disk."""

import time

from assay.machine import mounted
from assay.records import CacheState, Outcome, TargetSpec
from stage.served_stage import NOTHING, fact
from stage.targets_host import MIB
from stage.trial_stage import bulk

LATEST_S = 120.0
"""3 s on a machine that does nothing else."""


def facts_of_a_shared_disk(placed):
    """Set it up for two clients, hold what every such target must show, and return its facts."""
    began = time.monotonic()
    made = placed()
    first, second = made.attached(), made.attached(1)
    assert time.monotonic() - began < LATEST_S
    assert first.address == second.address
    facts = made.facts()
    assert facts["setting.server_cache"] == "direct"
    assert facts["clients.fsync"] == mounted.REACHED
    assert facts["disk.filesystem"] == "ext4"
    assert int(facts["disk.read_ahead_kb"]) >= 128
    assert (facts["server.route"], facts["server.route_kind"]) == ("load0", "virtual")
    return facts


def trial_that_writes_behind(bench, kind, **knobs):
    """Run a trial that flushes nothing: both ends are charged, and a cold read comes from the server's storage."""
    spec = TargetSpec(name="disk", kind=kind, knobs={"size": 64 * MIB, **knobs})
    run, seen = bench.conduct(spec, workloads=(bulk(flush="none", size=16 * MIB),))
    assert run.outcome is Outcome.FINISHED, run.error
    write, read = run.phases
    (host,) = write.hosts
    assert host.clients_drain_ns > 0, "the client's file system held the writes back"
    assert host.drain_ns >= host.clients_drain_ns
    assert read.cache_proved is CacheState.COLD
    delivered = sum(
        one.bytes or 0
        for one in seen.readings
        if (one.phase, one.rung.value, one.direction.value) == (read.name, "L6", "read") and one.span.value == "clock"
    )
    assert delivered >= 0.95 * 16 * MIB
    assert fact(seen, "target.setting.server_cache") == knobs.get("server_cache", "direct")
    assert bench.left() == NOTHING
