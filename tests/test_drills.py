"""Drills on real targets: what an event does to the records, and that the time away is what the events say."""

import re
import subprocess
from dataclasses import replace

import pytest

from assay.audit import judge
from assay.machine import nfs_clients
from assay.measures import windows
from assay.measures.cost import cost, processor_ns
from assay.measures.drill import away_ns, times_away
from assay.records import Action, Claim, Event, Experiment, Measure, Outcome, Severity, State, TargetSpec
from stage.assay_process import wait_until
from stage.drill_cases import SECOND, began_and_ended, drill, event, fates
from stage.served_stage import NOTHING, WAN, ServedBench, needs, needs_fuse, needs_root, sshd
from stage.sizes import first_and_all
from stage.targets_host import MIB
from stage.trial_stage import bulk

RECORD_BYTES = 4096
NEAR_NS = 900_000_000
"""How exactly an outage of 2 s is known on a busy machine, on which a client may be late to try again."""
SIZES = {"ext4": 64 * MIB, "xfs": 320 * MIB}
pytestmark = [pytest.mark.root, needs_root, needs_fuse, needs("losetup", "mkfs.ext4", "mkfs.xfs", "ip", "nsenter")]
on_crash_disk = needs("nbdkit", "nbdfuse")


@pytest.fixture
def bench(tmp_path):
    return ServedBench(tmp_path)


def disk(**knobs):
    size = SIZES[knobs.get("filesystem", "ext4")]
    return TargetSpec(name="disk", kind="crash_disk", knobs={"size": size, **knobs})


def taken_bytes(run, seen):
    """What the disk took before it had power again, by its own counter."""
    (one,) = (
        one for one in seen.over_time("d.append", "block", "write_bytes") if one.subject == f"device:{run.places[0].devices[0]}"
    )
    return max(value for at_ns, value in zip(one.at_ns, one.value, strict=True) if at_ns < 4 * SECOND)


@on_crash_disk
@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_a_cut_of_the_power_loses_no_flushed_record(bench, filesystem):
    run, seen = bench.conduct(disk(filesystem=filesystem), workloads=(drill(event(Action.POWER)),), observers=())
    assert run.outcome is Outcome.FINISHED, run.error
    looked, *bad = fates(run)["d.check"]
    assert looked > 30
    assert bad == [0, 0, 0]
    assert any("not tested" in one.value for one in seen.facts if one.key == "event.d.append.0")
    assert times_away(run.phases[0]), "it was away meanwhile"
    assert bench.left() == NOTHING


IGNORED, UNFLUSHED = {"disk": {"flush": "ignored"}}, {"load": {"flush": "none"}}
CASES_OF_LIES = [("ext4", IGNORED), ("xfs", UNFLUSHED), ("ext4", UNFLUSHED), ("xfs", IGNORED)]


@on_crash_disk
@pytest.mark.parametrize(("filesystem", "lie"), first_and_all(CASES_OF_LIES, few=2))
def test_a_lying_disk_and_a_load_without_flushes_lose_all_that_came_before_the_cut(bench, filesystem, lie):
    target, load = disk(filesystem=filesystem, **lie.get("disk", {})), drill(event(Action.POWER), **lie.get("load", {}))
    run, seen = bench.conduct(target, workloads=(load,), observers=("block",))
    assert run.outcome is Outcome.FINISHED, run.error
    (check,) = run.phases[1].clients
    found = check.drill
    assert found.bad > 30
    assert found.last_bad - found.first_bad + 1 == found.bad, "all from the first to the last one before the cut"
    if found.first_bad:  # a sync(2) of any program, or a kernel that is short of memory, writes back what nobody flushed
        assert "load" in lie
        assert taken_bytes(run, seen) >= found.first_bad * RECORD_BYTES
    assert bench.left() == NOTHING


@on_crash_disk
def test_after_a_cut_the_evidence_is_that_of_the_device_on_which_the_disk_came_back(bench):
    """A program still has a file of the dead file system open, so the disk comes back on another loop device."""
    hold = Event(phase="append", at_ns=SECOND // 2, argv=("sh", "-c", "setsid sleep 8 3>>{directory}/held >/dev/null 2>&1 &"))
    run, seen = bench.conduct(
        disk(), workloads=(drill(hold, event(Action.POWER, at_s=5.0), duration=12 * SECOND),), observers=("block",)
    )
    assert run.outcome is Outcome.FINISHED, run.error
    (told,) = [one for one in seen.facts if one.key.startswith("event.d.append.device.")]
    old, new = told.key.rpartition(".")[2], told.value.rpartition(" ")[2]
    assert old == run.places[0].devices[0] != new
    subjects = {one.subject for one in seen.readings if one.phase == "d.check" and one.subject.startswith("device:loop")}
    assert subjects == {f"device:{new}"}
    assert bench.left() == NOTHING


@on_crash_disk
def test_a_full_disk_takes_nothing_until_it_has_room_and_loses_nothing(bench):
    run, _ = bench.conduct(disk(), workloads=(drill(event(Action.FILL, for_s=3.0), duration=12 * SECOND),), observers=())
    assert run.outcome is Outcome.FINISHED, run.error
    assert fates(run)["d.check"][1:] == (0, 0, 0)
    assert {one.code for one in run.phases[0].clients[0].errors} == {28}
    assert away_ns(run.phases[0]) > 0.5 * SECOND
    assert bench.left() == NOTHING


def served(**knobs):
    return TargetSpec(name="files", kind="sftp_openssh", knobs={**sshd(), **knobs})


@needs("ssh", "ssh-keygen", "sshfs")
def test_a_stopped_server_is_away_as_long_as_the_events_say(bench):
    run, seen = bench.conduct(served(), workloads=(drill(event(Action.STOP, for_s=2.0), clients=2),), clients=2)
    assert run.outcome is Outcome.FINISHED, run.error
    (_, stopped), (_, going_on) = began_and_ended(seen)
    assert abs(away_ns(run.phases[0]) - (going_on - stopped) * SECOND) < NEAR_NS
    assert fates(run)["d.check"][1:] == fates(run)["d.check_other"][1:] == (0, 0, 0)
    assert bench.left() == NOTHING


has_nfs = pytest.mark.skipif(not nfs_clients.CLIENT.exists(), reason="no NFS client: make clients (libnfs-dev, libfuse3-dev)")
MOOSEFS = ("mfsmaster", "mfschunkserver", "mfsmount", "mfssetgoal", "mfscli")
CLUSTER = TargetSpec(name="cluster", kind="moosefs", knobs={"chunkservers": 1, "copies": 1})


@needs(*MOOSEFS, "ganesha.nfsd", "rpcbind")
@has_nfs
@pytest.mark.parametrize("on", ["", "cluster"])
def test_a_killed_server_comes_back_whether_another_one_stands_on_it_or_it_on_another(bench, on):
    """Each is killed and started by itself; a master of MooseFS that was killed starts again from its changelogs."""
    upper = TargetSpec(name="nfs", kind="nfs_ganesha", knobs={"on": "cluster"})
    load = drill(event(Action.KILL, on=on), duration=10 * SECOND, rate=20, deadline=30 * SECOND)
    run, _ = bench.conduct(*((CLUSTER,) if on else (upper, CLUSTER)), workloads=(load,), observers=())
    assert run.outcome is Outcome.FINISHED, run.error
    looked, *_, unreadable = fates(run)["d.check"]
    assert (looked > 100, unreadable) == (True, 0), "it is back before the end"
    assert bench.left() == NOTHING


@needs("ssh", "ssh-keygen", "sshfs")
def test_the_programs_of_the_mounts_are_in_the_cpu_time_of_the_client(bench):
    run, _ = bench.conduct(served(), workloads=(bulk(clients=2, size=64 * MIB),), clients=2)
    assert run.outcome is Outcome.FINISHED, run.error
    for phase in run.phases:
        own_ns = sum(processor_ns(client.cost) for client in phase.clients)
        operations = sum(one.count for client in phase.clients for one in client.operations)
        assert phase.mounts_cpu_ns > 0, "sshfs and ssh of both clients encrypt what passes"
        assert cost(phase, "cpu_ns_per_op") == pytest.approx((own_ns + phase.mounts_cpu_ns) / operations)
    assert bench.left() == NOTHING


@needs("ssh", "ssh-keygen", "sshfs")
def test_a_server_that_never_comes_back_hangs_nobody(bench):
    """sshfs does not connect again: each record fails, none is lost without a word, and the lab ends in time."""
    run, _ = bench.conduct(served(), workloads=(drill(event(Action.KILL), deadline=SECOND),), observers=())
    assert run.outcome is not Outcome.FINISHED, "its mount is no mount any more"
    (end,) = [client.drill for client in run.phases[0].clients]
    assert (end.unacknowledged, end.outages[-1].to_ns) == (1, None)
    assert run.phases[1].clients[0].drill.unreadable == end.acknowledged
    assert bench.left() == NOTHING


@needs("ssh", "ssh-keygen", "sshfs")
def test_a_path_that_no_event_mends_hangs_nobody(bench):
    """A call on the mount waits until the lab mends the path after the phase; the mount may be back when records are checked."""
    cut = Event(phase="append", at_ns=2 * SECOND, on="wan", action=Action.CUT)
    load = drill(cut, duration=5 * SECOND, deadline=SECOND)
    run, _ = bench.conduct(served(through="wan"), workloads=(load,), paths=(WAN,), observers=())
    (end,) = [client.drill for client in run.phases[0].clients]
    assert (end.unacknowledged, end.hung > 0) == (1, True)
    looked, lost, changed, unreadable = fates(run)["d.check"]
    assert looked >= end.acknowledged > 0
    assert (lost, changed) == (0, 0)
    assert unreadable in (0, looked)
    assert bench.left() == NOTHING


class MountOfTheUsers:
    """A FUSE mount that the lab did not make, and the process that it is gone with."""

    def __init__(self, home):
        self.home, self.point, self.store = home, home / "theirs", home / "store"
        self.point.mkdir()
        self.store.mkdir()
        self.begin()

    def begin(self):
        cache = ("--vfs-cache-mode", "writes", "--cache-dir", str(self.home / "cache"))
        self.client = subprocess.Popen(["rclone", "mount", f":local:{self.store}", str(self.point), *cache])
        wait_until(self.point.is_mount)

    def end(self):
        self.client.kill()
        self.client.wait(300)
        subprocess.run(["umount", "-l", str(self.point)], check=False, capture_output=True)


@pytest.fixture
def theirs(tmp_path):
    mount = MountOfTheUsers(tmp_path)
    yield mount
    mount.end()


@needs("rclone")
@pytest.mark.parametrize("how", ["its program is killed", "it is unmounted"])
def test_a_mount_of_the_users_that_goes_away_ends_the_run_with_a_message(bench, theirs, how):
    argv = ("kill", "-KILL", str(theirs.client.pid)) if how == "its program is killed" else ("umount", "-l", str(theirs.point))
    load = drill(Event(phase="append", at_ns=2 * SECOND, argv=argv), duration=4 * SECOND, deadline=SECOND)
    target = TargetSpec(name="theirs", kind="directory", knobs={"path": str(theirs.point)})
    run, _ = bench.conduct(target, workloads=(load,))
    assert run.outcome is Outcome.FAILED
    (end,) = [client.drill for client in run.phases[0].clients]
    assert (end.acknowledged > 0, run.phases[1].clients[0].drill.lost) == (True, 0)
    if how == "it is unmounted":
        assert "not there any more" in run.error
        return
    assert "Transport endpoint is not connected" in run.error
    assert "run `assay doctor`" in run.error
    theirs.end()
    theirs.begin()
    bench.ledger.unwind()
    assert not [*theirs.store.iterdir()], "what doctor does when it is back"


@needs("ssh", "ssh-keygen", "sshfs", "ss")
def test_a_silent_cut_is_longer_for_the_client_by_one_retransmission_at_most(bench):
    cut = Event(phase="append", at_ns=3 * SECOND, on="wan", action=Action.CUT, for_ns=2 * SECOND)
    run, seen = bench.conduct(served(through="wan"), workloads=(drill(cut, duration=9 * SECOND),), paths=(WAN,))
    assert run.outcome is Outcome.FINISHED, run.error
    (away,) = [one for one in times_away(run.phases[0]) if one.to_ns is not None]
    facts = {one.key: one.value for one in seen.facts if one.key.startswith("event.")}
    longest_s = float(re.search(r"retransmission timeout ([0-9.]+) s", facts["event.d.append.1"])[1])
    took_s = (away.to_ns - away.from_ns) / SECOND
    assert 2.0 - 0.3 < took_s < 2.0 + longest_s + 0.3
    assert bench.left() == NOTHING


@needs("qemu-storage-daemon", "nbdfuse")
def test_a_read_that_a_dead_path_holds_ends_with_the_time_that_was_asked(bench):
    """The path is away from 1 s to 5 s of a load of 3 s: the read that was under way ends more than a second late."""
    cut = Event(phase="random_read", at_ns=SECOND, on="wan", action=Action.CUT, for_ns=4 * SECOND)
    load = replace(
        bulk(
            operations=("random_read",),
            record_size=RECORD_BYTES,
            duration=3 * SECOND,
            direct=True,
            flush="none",
            cache="unchanged",
        ),
        events=(cut,),
    )
    disk = TargetSpec(name="disk", kind="nbd", knobs={"size": 64 * MIB, "through": "wan"})
    run, seen = bench.conduct(disk, workloads=(load,), paths=(WAN,), observers=())
    assert run.outcome is Outcome.FINISHED, run.error
    phase = run.phases[-1]
    ((client, total, late),) = windows.stuck(phase, "random_read")
    assert (client.stopped_by, late.count, late.bytes) == ("time", 1, RECORD_BYTES)
    assert late.from_ns - phase.start_ns == pytest.approx(SECOND, abs=NEAR_NS)
    assert total.last_ns - phase.start_ns > 5 * SECOND
    whole = windows.whole_window(phase, "random_read")
    assert whole.seconds == pytest.approx(3.0, abs=0.01)
    assert whole.count == total.count - 1
    asked = Experiment(
        title="t",
        question="q",
        targets=(disk,),
        workloads=(load,),
        factors=(),
        measures=(Measure(workload="w", operation="random_read", figure="ops_per_s", claim=Claim()),),
        paths=(WAN,),
    )
    (verdict,) = judge.judge_run(asked, run, seen)
    (found,) = [one for one in verdict.findings if one.rule == "W12"]
    assert (found.state, found.severity) == (State.FAIL, Severity.QUALIFIES)
    assert found.bound.low == pytest.approx(whole.count / 3, rel=0.01)
    assert found.bound.high == pytest.approx(total.count / 3, rel=0.01)
    assert bench.left() == NOTHING
