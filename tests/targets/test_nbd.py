"""The plug `nbd`: a disk over the network whose blocks are proved at the server, and nothing of it afterwards."""

import time
from pathlib import Path

import pytest

from assay import catalogue
from assay.errors import TrialError
from assay.machine import mounted
from assay.records import CacheState, Outcome, TargetSpec
from assay.targets import nbd
from assay.undo.ledger import Ledger
from served_stage import NOTHING, ServedBench, fact, needs, needs_fuse, needs_root
from targets_host import HOST, MIB, setting
from trial_stage import bulk

TARGET = catalogue.find("targets", "nbd")
pytestmark = [
    pytest.mark.root,
    needs_root,
    needs_fuse,
    needs("qemu-storage-daemon", "nbdfuse", "losetup", "mkfs.ext4", "ip", "nsenter"),
]


def given(undo, tmp_path, **knobs):
    return setting(undo, tmp_path, **catalogue.resolved(TARGET.knobs, {"size": 64 * MIB, **knobs}))


def spec(**knobs):
    return TargetSpec(name="disk", kind="nbd", knobs={"size": 64 * MIB, **knobs})


@pytest.fixture
def bench(tmp_path):
    return ServedBench(tmp_path)


@pytest.fixture
def placed(tmp_path):
    """What sets a target up with these knobs, once; everything is undone and looked for at the end."""
    ledger, scratch, made = Ledger(tmp_path / "ledger"), tmp_path / "scratch", []
    scratch.mkdir()

    def place(**knobs):
        wanted = given(ledger, scratch, **knobs)
        made.append((wanted, TARGET.prepare(HOST, wanted), []))
        return made[-1]

    yield place
    for wanted, found, ends in made:
        for end in reversed(ends):
            TARGET.detach(HOST, wanted, end)
        TARGET.teardown(HOST, wanted, found)
    assert [one for one in ledger.unwind() if one.state == "left"] == []
    assert list(scratch.iterdir()) == []


def attached(made, client=0):
    wanted, place, ends = made
    ends.append(TARGET.attach(HOST, wanted, place, client))
    return ends[-1]


def test_its_disk_is_the_servers_and_all_clients_share_it(placed):
    began = time.monotonic()
    made = placed()
    first, second = attached(made), attached(made, 1)
    took = time.monotonic() - began
    assert first.address == second.address
    Path(first.address, "a").write_text("once")
    told = dict(TARGET.facts(HOST, made[1]))
    assert told["setting.server_cache"] == "direct"
    assert told["clients.fsync"] == mounted.REACHED
    assert told["disk.filesystem"] == "ext4"
    assert (told["server.route"], told["server.route_kind"]) == ("load0", "virtual")
    assert took < 30, "3 s on a machine that does nothing else"


def test_a_server_that_ignores_flushes_is_seen_doing_it(placed):
    made = placed(server_cache="page_cache", flush="ignored")
    assert attached(made).details["fsync"] == mounted.IN_MEMORY


def test_a_server_that_does_not_do_what_was_asked_is_refused(placed, monkeypatch):
    made = placed(server_cache="page_cache", flush="honoured")
    monkeypatch.setattr(mounted, "reached", lambda host, path: mounted.IN_MEMORY)
    with pytest.raises(TrialError, match="flush: set to honoured, and the running server has ignored"):
        attached(made)


def test_a_disk_that_is_not_the_servers_is_refused(placed, monkeypatch):
    made = placed()
    other = Path(made[1].address).parent / "other.img"
    other.write_bytes(bytes(MIB))
    monkeypatch.setattr(nbd.disk_client, "image_of", lambda instance: str(other))
    with pytest.raises(TrialError, match="a block that was written to it is not there"):
        attached(made)


def test_a_disk_that_loses_writes_is_refused(placed, monkeypatch):
    made = placed()
    stored = Path(made[1].address) / "disk.img"
    other = stored.with_name("other.img")
    monkeypatch.setattr(
        nbd.disk_client, "_proof", lambda host, file, image: other.write_bytes(bytes(4 * MIB)) and mounted.REACHED
    )
    monkeypatch.setattr(nbd.disk_client, "image_of", lambda instance: str(other))
    with pytest.raises(TrialError, match="loses writes"):
        attached(made)


def test_a_trial_writes_behind_and_both_ends_are_charged(bench):
    run, seen = bench.conduct(spec(), workloads=(bulk(flush="none", size=16 * MIB),))
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
    assert fact(seen, "target.setting.server_cache") == "direct"
    assert bench.left() == NOTHING


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    found = TARGET.check(HOST, given(None, tmp_path, size=8 * MIB + 1, filesystem="xfs"))
    assert any("expected whole MiB, at least" in one for one in found)
