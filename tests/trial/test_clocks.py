"""Clocks of far hosts: the true offset is always within the bound, at each comparison, over a whole phase, and at the start."""

import subprocess
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.catalogue import Machine
from assay.hosts.local import Local
from assay.trial import clocks
from assay.trial.clocks import DRIFT_PPM, WANDER_PPM, Clock, compare, compared, course
from assay.trial.rendezvous import Rendezvous
from stage.trial_stage import engine

MS = 10**6
SECOND = 10**9


@dataclass
class Time:
    """The controller's clock, in simulated nanoseconds."""

    now_ns: int = 10**15


class FarHost:
    """A machine whose clock runs at another rate, behind a line with these ways there and back, one pair after another."""

    def __init__(self, time, offset_ns, drift_ppb, trips, machine=None):
        self.time, self.trips, self.asked = time, list(trips), 0
        self.began_ns, self.offset_ns, self.drift_ppb = time.now_ns, offset_ns, drift_ppb
        self._machine = machine or Machine(serial="far", boot=f"far-{id(self)}")

    def machine(self):
        return self._machine

    def truth(self, at_ns):
        """Its clock minus ours at a time of ours."""
        return self.offset_ns + self.drift_ppb * (at_ns - self.began_ns) // 10**9

    def probe(self):
        there_ns, back_ns = self.trips[self.asked % len(self.trips)]
        self.asked += 1
        asked_ns = self.time.now_ns
        self.time.now_ns += there_ns
        theirs_ns = self.time.now_ns + self.truth(self.time.now_ns)
        self.time.now_ns += back_ns
        return asked_ns, theirs_ns, self.time.now_ns


class GoneHost(FarHost):
    def probe(self):
        raise OSError("c.2 does not answer")


TRIPS = st.lists(st.tuples(st.integers(0, 50 * MS), st.integers(0, 50 * MS)), min_size=1, max_size=9)
OFFSETS = st.integers(-(10**15), 10**15)
DRIFTS = st.integers(-DRIFT_PPM * 1000, DRIFT_PPM * 1000)
HOSTS = st.builds(lambda *of: of, OFFSETS, DRIFTS, TRIPS)


def far_host(time, of):
    return FarHost(time, *of)


@given(
    asked=st.integers(0, 10**15), there=st.integers(0, 10**9), back=st.integers(0, 10**9), offset=st.integers(-(10**12), 10**12)
)
def test_the_true_offset_lies_within_half_the_round_trip(asked, there, back, offset):
    seen = compared("c", (asked, asked + there + offset, asked + there + back))
    assert abs(seen.offset_ns - offset) <= seen.error_ns
    assert seen.error_ns <= (there + back) / 2 * (1 + 2 * DRIFT_PPM / 10**6) + 3


def test_the_best_comparison_counts_and_hosts_are_asked_one_after_the_other():
    time = Time()
    host = FarHost(time, 7 * SECOND, 0, [(9 * MS, 90 * MS), (MS, MS), (30 * MS, 0)])
    found = compare({"c": host}, times=3)["c"]
    assert (host.asked, found.error_ns) == (3, 1 + MS + 2 * MS * DRIFT_PPM // 10**6)
    assert (found.host, found.offset_ns) == ("c", 7 * SECOND)
    time, asked = Time(), []
    hosts = {name: FarHost(time, 0, 0, [(MS, MS)]) for name in ("c.1", "c.2")}
    for name, host in hosts.items():
        host.probe = lambda name=name, host=host: (asked.append(name), FarHost.probe(host))[1]
    compare(hosts, times=2)
    assert asked == ["c.1", "c.1", "c.2", "c.2"]


def test_this_machine_alone_is_exact(monkeypatch):
    here = FarHost(Time(), 5 * SECOND, 0, [(MS, MS)], Local().machine())
    found = compare({"c.1": here, "local": Local()})
    assert {(one.offset_ns, one.error_ns, one.exact) for one in found.values()} == {(0, 0, True)}
    assert here.asked == 0
    monkeypatch.setattr(clocks, "_own_boot", lambda: "")
    host = FarHost(Time(), 0, 0, [(MS, MS)], Machine(serial="", boot=""))
    assert not compare({"c": host})["c"].exact
    assert not compare({"c": FarHost(Time(), 0, 0, [(0, 0)])})["c"].exact


def test_a_lost_host_is_left_out_and_named():
    time, named = Time(), []
    hosts = {"c.1": FarHost(time, 0, 0, [(MS, MS)]), "c.2": GoneHost(time, 0, 0, [(MS, MS)])}
    found = compare(hosts, lost=lambda name, reason: named.append((name, reason)))
    assert (list(found), named) == (["c.1"], [("c.2", "c.2 does not answer")])
    with pytest.raises(OSError, match="does not answer"):
        compare(hosts)


# ------------------------------------------------------------------------------------------ over a phase


@settings(max_examples=400, deadline=None)
@given(of=HOSTS, after=TRIPS, length_ns=st.integers(0, 3600 * SECOND), shares=st.lists(st.floats(0, 1), max_size=8))
def test_the_true_offset_is_within_the_bound_at_every_time_of_the_phase(of, after, length_ns, shares):
    time = Time()
    host = far_host(time, of)
    first = compare({"c": host})["c"]
    begins_ns = time.now_ns
    time.now_ns += length_ns
    host.trips = list(after)
    ends_ns = time.now_ns
    last = compare({"c": host})["c"]
    found = course(first, last, t0_ns=5)
    for share in (0.0, 1.0, *shares):
        at_ns = begins_ns + round(share * (ends_ns - begins_ns))
        assert abs(host.truth(at_ns) - found.offset_ns) <= found.error_ns
    assert found.t0_mono_ns == 5 + found.offset_ns
    if found.drift_ppm is not None:
        unsure_ppm = (first.error_ns + last.error_ns) / (last.at_ns - first.at_ns) * 1e6
        assert abs(found.drift_ppm - host.drift_ppb / 1000) <= unsure_ppm + 0.001


@settings(max_examples=200, deadline=None)
@given(of=HOSTS, lengths=st.lists(st.integers(1, 600 * SECOND), min_size=2, max_size=6), data=st.data())
def test_a_rate_that_wanders_a_little_is_allowed_for(of, lengths, data):
    """Pieces of a phase with rates of their own, each within the stated share of the mean of all."""
    total_ns = sum(lengths)
    ppb = [data.draw(st.integers(-WANDER_PPM * 1000, WANDER_PPM * 1000)) for _ in lengths]
    mean = sum(rate * length for rate, length in zip(ppb, lengths, strict=True)) / total_ns
    ppb = [round((rate - mean) / 2) for rate in ppb]
    at = [0, *(sum(lengths[:end]) for end in range(1, len(lengths) + 1))]
    moved = [sum(rate * length for rate, length in zip(ppb[:end], lengths[:end], strict=True)) / 1e9 for end in range(len(at))]
    offset_ns, drift_ppb, _ = of
    truth = [offset_ns + drift_ppb * one / 1e9 * 0.9 + more for one, more in zip(at, moved, strict=True)]
    before = Clock(host="c", at_ns=0, offset_ns=round(truth[0]) + 300, error_ns=302)
    after = Clock(host="c", at_ns=total_ns, offset_ns=round(truth[-1]) - 500, error_ns=502)
    found = course(before, after, t0_ns=0)
    assert all(abs(one - found.offset_ns) <= found.error_ns + 2 for one in truth)


def test_two_comparisons_bound_the_clock_between_them():
    before = Clock(host="c", at_ns=0, offset_ns=SECOND, error_ns=100_000)
    after = Clock(host="c", at_ns=2 * SECOND, offset_ns=SECOND + 4 * MS, error_ns=5 * MS)
    assert course(before, after, 0).error_ns < MS
    before = Clock(host="c", at_ns=0, offset_ns=SECOND, error_ns=MS)
    after = Clock(host="c", at_ns=2 * SECOND, offset_ns=3 * SECOND, error_ns=MS)
    found = course(before, after, 0)
    assert (found.offset_ns, found.error_ns) == (2 * SECOND, SECOND + MS + SECOND * WANDER_PPM // 10**6)
    before = Clock(host="c", at_ns=0, offset_ns=SECOND, error_ns=100_000)
    after = Clock(host="c", at_ns=100 * SECOND, offset_ns=SECOND - 5 * MS, error_ns=100_000)
    assert course(before, after, 0).drift_ppm == pytest.approx(-50)
    soon = Clock(host="c", at_ns=SECOND // 2, offset_ns=SECOND, error_ns=100_000)
    assert course(before, soon, 0).drift_ppm is None
    found = course(clocks.ours("local", 0), clocks.ours("local", 3600 * SECOND), t0_ns=7)
    assert (found.offset_ns, found.error_ns, found.drift_ppm, found.t0_mono_ns) == (0, 0, 0.0, 7)


def test_a_host_that_was_lost_is_known_less_surely_at_the_end():
    time = Time()
    host = FarHost(time, SECOND, 150_000, [(MS, MS)])
    before = compare({"c": host})["c"]
    ends_ns = time.now_ns + 60 * SECOND
    found = course(before, before.later(ends_ns), 0)
    assert found.drift_ppm is None
    assert all(abs(host.truth(at_ns) - found.offset_ns) <= found.error_ns for at_ns in range(time.now_ns, ends_ns, SECOND))
    assert clocks.ours("local", 0).later(ends_ns).exact


# ------------------------------------------------------------------------------------------ the start


@settings(max_examples=150, deadline=None)
@given(hosts=st.lists(HOSTS, min_size=2, max_size=8), clients=st.integers(1, 3))
def test_hosts_start_together_within_the_sum_of_their_bounds(hosts, clients):
    time = Time()
    far = {f"c.{number}": far_host(time, of) for number, of in enumerate(hosts)}
    rendezvous = armed(tuple(far) * clients)
    rendezvous.clocks = compare(far)
    goes = {one.client: one.message["at_ns"] for one in rendezvous.start(time.now_ns) if one.message["type"] == "go"}
    at = {client: instant(far[rendezvous.hosts[client]], own_ns, rendezvous.start_ns) for client, own_ns in goes.items()}
    bounds = {name: clock.later(rendezvous.start_ns).error_ns for name, clock in rendezvous.clocks.items()}
    known = [bounds[name] * (1 + 2 * DRIFT_PPM / 10**6) + 2 for name in rendezvous.hosts]  # of its clock, and so of the time
    for one, other in pairwise(sorted(at, key=at.__getitem__)):
        assert at[other] - at[one] <= known[one] + known[other]
    assert all(abs(at[client] - rendezvous.start_ns) <= known[client] for client in at)


def armed(hosts):
    rendezvous = Rendezvous(hosts=hosts, now_ns=0)
    for client in range(len(hosts)):
        rendezvous.hear(client, {"type": "hello", "pid": 1}, 1)
    rendezvous.arm("p", [{}] * len(hosts), SECOND, 2)
    for client in range(len(hosts)):
        rendezvous.hear(client, {"type": "armed", "phase": "p"}, 3)
    return rendezvous


def instant(host, own_ns, near_ns):
    """When a host's clock shows a time, on ours: found by going on from a guess, for the rates hardly differ."""
    at_ns = near_ns
    for _ in range(5):
        at_ns = own_ns - host.truth(at_ns)
    return at_ns


# ------------------------------------------------------------------------------------------ against the truth


class Shifted:
    """A real engine in a time namespace of its own: another CLOCK_MONOTONIC, by a known number of seconds."""

    def __init__(self, seconds):
        command = ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(seconds), engine()]
        self.offset_ns = seconds * SECOND
        self.process = subprocess.Popen(command, stdin=-1, stdout=-1, bufsize=0)
        self.process.stdout.readline()

    def machine(self):
        return Machine(serial="far", boot=f"far-{self.offset_ns}")

    def probe(self):
        here = Local()
        asked_ns = here.monotonic_ns()
        self.process.stdin.write(b'{"type":"clock"}\n')
        line = self.process.stdout.readline()
        answered_ns = here.monotonic_ns()
        return asked_ns, int(line.split(b":")[-1].strip(b"}\n")), answered_ns

    def close(self):
        self.process.communicate()


@pytest.mark.root
def test_real_clocks_that_are_apart_are_known_within_their_bounds():
    seconds = (1, 1000, 86_400)
    made = {f"c.{shift}": Shifted(shift) for shift in seconds}
    try:
        before, after = compare(made), compare(made)
    finally:
        for host in made.values():
            host.close()
    for name, host in made.items():
        for one in (before[name], after[name], course(before[name], after[name], 0)):
            assert abs(one.offset_ns - host.offset_ns) <= one.error_ns
