"""Drills on disks over the network: a server that is stopped and goes on, and one that is killed and comes back."""

import shutil

import pytest

from assay.measures.drill import away_ns
from assay.records import Action, Outcome, TargetSpec
from assay.targets import iscsi
from stage.drill_cases import SECOND, began_and_ended, drill, event, fates
from stage.served_stage import NOTHING, SBIN, ServedBench, needs, needs_fuse, needs_root
from stage.sizes import few_and_many
from stage.targets_host import HOST, MIB

NEAR_S = 0.3
"""How much shorter an outage may be than its event: a record that was due before it may end within it."""
NOP_S = 20.0
"""QEMU's driver for iSCSI gives a server up that answers three of its questions, 5 s apart, with nothing."""
PROGRAMS = ("qemu-storage-daemon", "nbdfuse", "losetup", "mkfs.ext4", "ip", "nsenter")
pytestmark = [pytest.mark.root, pytest.mark.slow, needs_root, needs_fuse, needs(*PROGRAMS)]


@pytest.fixture
def bench(tmp_path):
    return ServedBench(tmp_path)


def disk(kind, **knobs):
    """A disk of this kind; skips where its programs are missing."""
    if kind == "iscsi" and not all(shutil.which(name, path=SBIN) for name in ("tgtd", "tgtadm")):
        pytest.skip("not here: tgtd, tgtadm")
    if kind == "iscsi" and iscsi.no_driver(HOST):
        pytest.skip("not here: QEMU's driver for iSCSI (qemu-block-extra)")
    return TargetSpec(name="disk", kind=kind, knobs={"size": 64 * MIB, **knobs})


def came_back(bench, target, action, for_s):
    """Run one drill whose server comes back, and hold that no record is lost and that it was away as long as the events say."""
    load = drill(event(action, at_s=2.0, for_s=for_s), rate=50, duration=round((for_s + 6.0) * SECOND), deadline=60 * SECOND)
    run, seen = bench.conduct(target, workloads=(load,), observers=())
    assert run.outcome is Outcome.FINISHED, run.error
    looked, *bad = fates(run)["d.check"]
    assert looked > 20, "records of some time before and after"
    assert bad == [0, 0, 0]
    (_, began), (ended, _) = began_and_ended(seen)
    assert away_ns(run.phases[0]) > (ended - began - NEAR_S) * SECOND
    assert bench.left() == NOTHING
    return run


DRILLS = {
    "iscsi stopped": ("iscsi", {}, Action.STOP, 2.0),
    "nbd stopped": ("nbd", {}, Action.STOP, 2.0),
    "iscsi killed": ("iscsi", {}, Action.KILL, 1.0),
    "nbd killed": ("nbd", {"reconnect": 60 * SECOND}, Action.KILL, 1.0),
}
LONG_DRILLS = {f"{kind} stopped longer than its client asks": (kind, {}, Action.STOP, NOP_S + 10.0) for kind in ("iscsi", "nbd")}


@pytest.mark.parametrize(
    "drilled",
    [*DRILLS.values(), *(pytest.param(one, marks=pytest.mark.long) for one in LONG_DRILLS.values())],
    ids=[*DRILLS, *LONG_DRILLS],
)
@few_and_many("times", 1, 5)
def test_a_server_of_a_disk_comes_back_and_nothing_is_lost(bench, drilled, times):
    kind, knobs, action, for_s = drilled
    for _ in range(times):
        came_back(bench, disk(kind, **knobs), action, for_s)


def test_a_killed_nbd_server_hangs_nobody_and_no_record_is_lost_without_a_word(bench):
    """nbdfuse does not connect again: a file with such an event is refused, and this is why."""
    run, _ = bench.conduct(disk("nbd"), workloads=(drill(event(Action.KILL), rate=50, deadline=SECOND),), observers=())
    (end,) = [client.drill for client in run.phases[0].clients]
    assert (end.unacknowledged, end.outages[-1].to_ns) == (1, None)
    assert bench.left() == NOTHING
