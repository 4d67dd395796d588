"""The wait for quiet: own dirt is flushed, what shrinks is waited for, strangers do not block for ever."""

import itertools

import pytest

from assay.hosts.local import Local
from assay.records import EndpointKind, PhasePlan, Place
from assay.trial import quiet
from assay.trial.quiet import QuietWait
from stage.trial_stage import MIB

MS = 1_000_000
PLACE = Place(target="t", host="local", kind=EndpointKind.DIRECTORY, address="/t", devices=("sda",))
PLAN = PhasePlan(name="p", operations=(), directions={})


class Machine:
    """A host whose dirt, writing and queue follow a script, one step a look; its clock moves a step a look."""

    name = "script"

    def __init__(self, dirty, written=(0,), in_flight=(0,), step_ns=100 * MS):
        self.dirty, self.written, self.in_flight = (self.forever(values) for values in (dirty, written, in_flight))
        self.now, self.step_ns, self.syncs = 0, step_ns, []
        self.syscalls = self

    @staticmethod
    def forever(values):
        return itertools.chain(values, itertools.repeat(values[-1]))

    def syncfs(self, path):
        self.syncs.append(path)
        return 1

    def monotonic_ns(self):
        return self.now

    def read(self, path):
        if path == "/proc/meminfo":
            self.now += self.step_ns
            dirty = next(self.dirty)
            return f"MemTotal: 9 kB\nDirty: {dirty // 1024} kB\nWriteback: 0 kB\n"
        sectors, flying = next(self.written) // 512, next(self.in_flight)
        return f"   8  0 sda 1 0 1 0 1 0 {sectors} 0 {flying} 0 0\n   8  1 sdb 1 0 1 0 1 0 99999999 0 7 0 0\n"


@pytest.fixture(autouse=True)
def _no_sleep(monkeypatch):
    monkeypatch.setattr(quiet.time, "sleep", lambda seconds: None)


def wait(machine, plan=PLAN, **patience):
    return quiet.wait_for_quiet(machine, PLACE, plan, QuietWait(least_dirty_bytes=4 * MIB, device_bytes_per_s=MIB, **patience))


def test_the_directory_of_a_server_is_flushed_before_the_clock():
    machine = Machine([0])
    served = Place(**{**vars(PLACE), "kind": EndpointKind.URL, "address": "ldap://127.0.0.1:1", "storage": "/srv/data"})
    quiet.wait_for_quiet(machine, served, PLAN, QuietWait(least_dirty_bytes=4 * MIB, device_bytes_per_s=MIB))
    assert machine.syncs == ["/srv/data"]


def test_a_quiet_machine_is_quiet_after_one_step(tmp_path):
    machine = Machine([0])
    ended = wait(machine)
    assert (ended.quiet, ended.dirty_bytes) == (True, 0)
    assert ended.waited_ns <= 300 * MS
    assert machine.syncs == ["/t"]
    assert wait(Machine([0], in_flight=[0])).quiet, "sdb has seven in flight"
    machine = Machine([0])
    ended = wait(machine, longest_ns=0)
    assert (ended.waited_ns, ended.quiet, machine.syncs) == (0, False, [])
    ended = quiet.wait_for_quiet(Local(root=tmp_path), PLACE, PLAN, QuietWait(step_ns=1))
    assert (ended.quiet, ended.dirty_bytes) == (True, None)


def test_dirt_that_shrinks_is_waited_for():
    machine = Machine([100 * MIB - 5 * MIB * step for step in range(21)])
    ended = wait(machine)
    assert ended.quiet
    assert ended.dirty_bytes <= 4 * MIB
    assert ended.waited_ns > 1500 * MS


def test_what_does_not_shrink_or_shrinks_for_ever_is_given_up():
    ended = wait(Machine([50 * MIB, 49 * MIB, 51 * MIB]))
    assert not ended.quiet
    assert ended.dirty_bytes == 51 * MIB
    assert 2000 * MS < ended.waited_ns < 3000 * MS
    machine = Machine([10_000 * MIB - 5 * MIB * step for step in range(1000)])
    ended = wait(machine, longest_ns=5_000 * MS)
    assert not ended.quiet
    assert ended.waited_ns <= 5_300 * MS


def test_a_device_that_is_written_or_has_requests_in_flight_is_not_quiet():
    assert not wait(Machine([0], written=[MIB * step for step in range(500)])).quiet
    assert not wait(Machine([0], in_flight=[3])).quiet
    assert wait(Machine([0], in_flight=[3, 3, 0])).quiet


def test_a_large_phase_allows_a_hundredth_of_its_own_bytes():
    plan = PhasePlan(name="p", operations=(), directions={}, settings=({"regions": ({"size": 5 << 30}, {"size": 5 << 30})},))
    assert wait(Machine([50 * MIB]), plan).quiet
    assert not wait(Machine([50 * MIB])).quiet


def test_planned_bytes_follow_from_the_settings(subtests):
    for settings, planned in [
        ({"regions": [{"size": 10}, {"size": 5}]}, 15),
        ({"count": 20, "file_bytes": 100}, 2000),
        ({"argv": ["true"]}, 0),
        ({"regions": [{"size": "x"}]}, 0),
    ]:
        with subtests.test(settings=settings, planned=planned):
            assert (
                quiet.planned_bytes(PhasePlan(name="p", operations=(), directions={}, settings=(settings, settings)))
                == 2 * planned
            )
