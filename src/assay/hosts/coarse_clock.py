"""The clock of a host that tells it only coarsely, such as /proc/uptime in hundredths of a second.

A reading says that the clock lay within one tick at some moment between question and answer. Readings are intersected. The next
one is asked so that it should arrive just when the clock's middle estimate reaches a tick: its answer then halves what is left.
Each bound is true whatever the way there and back takes, and widens with age by more than two clocks can drift apart.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from assay.frozen import dataclass

DRIFT = 200e-6
"""More than two crystals, each adjusted by at most 100 ppm or so, can differ."""
FRESH_NS = 20 * 10**9
"""As long as an estimate is used without another reading: it has widened by 8 ms then."""
FIRST_READINGS = 6
SLOW_TICK_NS = 10**9
"""A clock of whole seconds, as date(1) has it where it knows no smaller unit."""


@dataclass(frozen=True, kw_only=True)
class ClockReading:
    """One answer: the clock was from `theirs_ns` to less than a tick later, at some moment from `asked_ns` to `answered_ns`."""

    asked_ns: int
    theirs_ns: int
    tick_ns: int
    answered_ns: int


class CoarseClock:
    """A far CLOCK_MONOTONIC less ours, within bounds that are true."""

    def __init__(self, read: Callable[[], ClockReading]) -> None:
        self._read = read
        self._mutex = threading.Lock()
        self._bounds: tuple[float, float] | None = None
        self._at_ns = 0
        self._last: ClockReading | None = None

    def probe(self) -> tuple[int, int, int]:
        """Read once more; the question, their clock, the answer (ns) of a comparison whose bound is all that is known now."""
        with self._mutex:
            if self._bounds is None:
                for _ in range(FIRST_READINGS):
                    self._read_at_tick()
            self._read_at_tick()
            low, high = self._now()
        half = int(high - low) // 2 + 1
        now_ns = time.monotonic_ns()
        return now_ns - 2 * half, round((low + high) / 2) + now_ns - half, now_ns

    def offset_ns(self) -> int:
        """Their clock less ours as it is known; asks only where that is too old."""
        with self._mutex:
            if self._bounds is None or time.monotonic_ns() - self._at_ns > FRESH_NS:
                for _ in range(self._readings()):
                    self._read_at_tick()
            low, high = self._now()
        return round((low + high) / 2)

    def now_ns(self) -> int:
        """Their clock now, as it is known."""
        return self.offset_ns() + time.monotonic_ns()

    def bound_ns(self) -> int:
        """By how much `offset_ns` can be wrong now."""
        self.offset_ns()
        with self._mutex:
            low, high = self._now()
        return int(high - low) // 2 + 1

    def learn(self, reading: ClockReading) -> None:
        """Take in a reading that came with something else."""
        with self._mutex:
            self._take(reading)

    def _readings(self) -> int:
        """How many are needed for a fresh estimate: each waits for a tick, so a clock of whole seconds is read once more."""
        is_slow = self._bounds is not None and self._last is not None and self._last.tick_ns >= SLOW_TICK_NS
        return 1 if is_slow else FIRST_READINGS

    def _read_at_tick(self) -> None:
        last = self._last
        if last is not None and self._bounds is not None:
            low, high = self._now()
            way_ns = (last.answered_ns - last.asked_ns) // 2
            arrives_ns = time.monotonic_ns() + way_ns + round((low + high) / 2)
            time.sleep((-arrives_ns % last.tick_ns) / 1e9)
        self._take(self._read())

    def _take(self, reading: ClockReading) -> None:
        low = reading.theirs_ns - reading.answered_ns
        high = reading.theirs_ns + reading.tick_ns - reading.asked_ns
        self._last = reading
        if self._bounds is not None:
            known_low, known_high = self._now(reading.answered_ns)
            if max(low, known_low) <= min(high, known_high):
                low, high = max(low, round(known_low)), min(high, round(known_high))
        self._bounds, self._at_ns = (low, high), reading.answered_ns

    def _now(self, now_ns: int | None = None) -> tuple[float, float]:
        assert self._bounds is not None
        age_ns = max(0, (time.monotonic_ns() if now_ns is None else now_ns) - self._at_ns)
        return self._bounds[0] - DRIFT * age_ns, self._bounds[1] + DRIFT * age_ns
