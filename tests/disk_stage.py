"""What the tests of targets share whose server gives a disk: one is set up with its knobs, and nothing of it may be left."""

import contextlib
import time

from assay import catalogue
from assay.machine import mounted
from assay.records import CacheState, Outcome, TargetSpec
from assay.undo.ledger import Ledger
from served_stage import NOTHING, fact
from targets_host import HOST, MIB, setting
from trial_stage import bulk

LATEST_S = 120.0
"""3 s on a machine that does nothing else."""


def given(target, undo, tmp_path, **knobs):
    """The setting of a disk of 64 MiB, unless the knobs say otherwise."""
    return setting(undo, tmp_path, **catalogue.resolved(target.knobs, {"size": 64 * MIB, **knobs}))


class PlacedDisk:
    """A target that was set up, and the clients that have its disk."""

    def __init__(self, target, undo, scratch, knobs):
        self.target, self.setting, self.ends = target, given(target, undo, scratch, **knobs), []
        self.place = target.prepare(HOST, self.setting)

    def attached(self, client=0):
        """Give a client the disk."""
        self.ends.append(self.target.attach(HOST, self.setting, self.place, client))
        return self.ends[-1]

    def end(self):
        """Take the disk from all clients, and end its server."""
        for end in reversed(self.ends):
            self.target.detach(HOST, self.setting, end)
        self.target.teardown(HOST, self.setting, self.place)


@contextlib.contextmanager
def placing(target, tmp_path):
    """Yield what sets a target up with these knobs; everything is undone and looked for at the end."""
    ledger, scratch, made = Ledger(tmp_path / "ledger"), tmp_path / "scratch", []
    scratch.mkdir()

    def place(**knobs):
        made.append(PlacedDisk(target, ledger, scratch, knobs))
        return made[-1]

    yield place
    for one in made:
        one.end()
    assert [one for one in ledger.unwind() if one.state == "left"] == []
    assert list(scratch.iterdir()) == []


def facts_of_a_shared_disk(placed):
    """Set it up for two clients, hold what every such target must show, and return its facts."""
    began = time.monotonic()
    made = placed()
    first, second = made.attached(), made.attached(1)
    assert time.monotonic() - began < LATEST_S
    assert first.address == second.address
    facts = dict(made.target.facts(HOST, made.place))
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
