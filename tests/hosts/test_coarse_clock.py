"""A coarse clock is known within true bounds, whatever the way there takes, and closely where it is quick."""

import random
import time

from assay.hosts.coarse_clock import ClockReading, CoarseClock

TICK_NS = 10_000_000
OFFSET_NS = 123_456_789_012


class Far:
    """A clock that is so much ahead of ours, told in ticks, over a way that takes some time there and back."""

    def __init__(self, way_s, seed=0, offset_ns=OFFSET_NS, tick_ns=TICK_NS):
        self.way_s, self.offset_ns, self.tick_ns = way_s, offset_ns, tick_ns
        self.random = random.Random(seed)

    def __call__(self):
        asked_ns = time.monotonic_ns()
        time.sleep(self.random.uniform(*self.way_s))
        theirs_ns = time.monotonic_ns() + self.offset_ns
        time.sleep(self.random.uniform(*self.way_s))
        return ClockReading(
            asked_ns=asked_ns,
            theirs_ns=theirs_ns // self.tick_ns * self.tick_ns,
            tick_ns=self.tick_ns,
            answered_ns=time.monotonic_ns(),
        )


def test_the_truth_lies_within_the_bound_of_every_comparison(subtests):
    for way_s in [(0.0, 0.0002), (0.0, 0.004), (0.001, 0.02)]:
        with subtests.test(way_s=way_s):
            clock = CoarseClock(Far(way_s))
            for _ in range(12):
                asked_ns, theirs_ns, answered_ns = clock.probe()
                offset_ns = theirs_ns - (asked_ns + answered_ns) // 2
                assert abs(offset_ns - OFFSET_NS) <= (answered_ns - asked_ns + 1) // 2 + 1
                assert abs(clock.offset_ns() - OFFSET_NS) <= clock.bound_ns()


def test_some_comparisons_know_it_far_better_than_its_ticks():
    clock = CoarseClock(Far((0.0, 0.0001)))
    bounds = [answered_ns - asked_ns for asked_ns, _, answered_ns in (clock.probe() for _ in range(20))]
    assert min(bounds) / 2 < TICK_NS / 4


def test_a_clock_that_was_set_is_followed():
    far = Far((0.0, 0.0001))
    clock = CoarseClock(far)
    clock.probe()
    far.offset_ns += 5_000_000_000
    clock.probe()
    assert abs(clock.offset_ns() - far.offset_ns) <= clock.bound_ns()


def test_what_is_known_widens_with_age(monkeypatch):
    clock = CoarseClock(Far((0.0, 0.0001)))
    clock.probe()
    young_ns = clock.bound_ns()
    now_ns = time.monotonic_ns()
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ns + 10 * 10**9)
    assert clock.bound_ns() >= young_ns + 1_900_000


def test_a_clock_of_whole_seconds_has_such_a_bound():
    clock = CoarseClock(Far((0.0, 0.0001), tick_ns=10**8))
    clock.probe()
    assert abs(clock.offset_ns() - OFFSET_NS) <= clock.bound_ns()
