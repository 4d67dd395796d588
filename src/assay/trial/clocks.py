"""How far each host's clock is from ours: compared one host after another, before and after each phase.

One comparison is three stamps: ours at asking, theirs, ours at the answer. Theirs was read at some time between our two, so their
clock minus the middle of ours is wrong by at most half the round trip, however unequal the ways there and back are. Hosts are
asked one after another, and stamps are taken where a line is sent and received: answers to many questions at once wait for each
other, and 30 hosts were then known 100 times worse.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from assay.catalogue import Host
from assay.errors import AssayError
from assay.hosts.local import Local
from assay.records import HostClock

DRIFT_PPM = 200
"""By how much the rates of two machines' clocks differ at most: two crystals, and a time daemon that corrects one of them."""
WANDER_PPM = 10
"""By how much such a difference may itself change within a phase: crystals become warm, daemons correct."""
TIMES = 8
ENOUGH_NS = 100_000
"""A host whose clock is known this well is not asked again: a start together is some milliseconds wide on any machine."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """A host's CLOCK_MONOTONIC against ours at one time: the true offset is within `error_ns` of `offset_ns`."""

    host: str
    at_ns: int
    """When it was so, on our clock."""
    offset_ns: int
    """Theirs minus ours."""
    error_ns: int
    """0 for our own machine, and for no other."""

    @property
    def exact(self) -> bool:
        """Whether it is our own clock."""
        return self.error_ns == 0

    @property
    def trip_ns(self) -> int:
        """The round trip of the comparison."""
        return 2 * self.error_ns

    def later(self, at_ns: int) -> Clock:
        """What is still known of it at another time without a comparison then: the same offset, less surely."""
        if self.exact:
            return replace(self, at_ns=at_ns)
        return replace(self, at_ns=at_ns, error_ns=self.error_ns + share_of(abs(at_ns - self.at_ns), DRIFT_PPM))


def ours(host: str, at_ns: int) -> Clock:
    """The clock of a host that is our own machine."""
    return Clock(host=host, at_ns=at_ns, offset_ns=0, error_ns=0)


def compared(host: str, stamps: tuple[int, int, int]) -> Clock:
    """One comparison of another machine's clock: ours at asking, theirs, ours at the answer. Stamps are whole nanoseconds."""
    asked_ns, theirs_ns, answered_ns = stamps
    trip_ns = max(0, answered_ns - asked_ns)
    middle_ns = asked_ns + trip_ns // 2
    error_ns = 1 + trip_ns - trip_ns // 2 + share_of(trip_ns, DRIFT_PPM)
    return Clock(host=host, at_ns=middle_ns, offset_ns=theirs_ns - middle_ns, error_ns=error_ns)


def compare(hosts: Mapping[str, Host], times: int = TIMES, lost: Callable[[str, str], None] | None = None) -> dict[str, Clock]:
    """Compare the clock of each host with ours, at most this many times, and keep the best: name -> clock.

    A host that is this machine is not asked. `lost` takes the name of a host that does not answer, and why; it is then left out.
    Raises OSError or AssayError for such a host where no `lost` is given.
    """
    found: dict[str, Clock] = {}
    for name, host in hosts.items():
        try:
            found[name] = _best(name, host, times)
        except (OSError, AssayError) as error:
            if lost is None:
                raise
            lost(name, str(error))
    return found


def _best(name: str, host: Host, times: int) -> Clock:
    if _boot(host) == _own_boot() != "":
        return ours(name, Local().monotonic_ns())
    best = compared(name, host.probe())
    for _ in range(times - 1):
        if best.error_ns <= ENOUGH_NS:
            break
        best = min(best, compared(name, host.probe()), key=lambda clock: clock.error_ns)
    return best


@functools.cache
def _own_boot() -> str:
    return _boot(Local())


@functools.lru_cache(maxsize=1024)
def _boot(host: Host) -> str:
    """The boot id: asked once a host, for after another boot it is another connection and another host."""
    return host.machine().boot


def course(before: Clock, after: Clock, t0_ns: int) -> HostClock:
    """One offset for a whole phase, from the comparisons at both its ends: true within its error at every time between them.

    A clock that drifts evenly lies between its two ends; each end is known by its own comparison, and by the other one as far
    as a clock can drift. `t0_ns` is T0 on our clock.
    """
    if before.exact and after.exact:
        return HostClock(host=before.host, offset_ns=0, error_ns=0, t0_mono_ns=t0_ns, drift_ppm=0.0)
    length_ns = max(0, after.at_ns - before.at_ns)
    ends = _narrowed(before, after, share_of(length_ns, DRIFT_PPM))
    low_ns, high_ns = min(low for low, _ in ends), max(high for _, high in ends)
    offset_ns = (low_ns + high_ns) // 2
    return HostClock(
        host=before.host,
        offset_ns=offset_ns,
        error_ns=high_ns - offset_ns + share_of(length_ns - length_ns // 2, WANDER_PPM),
        t0_mono_ns=t0_ns + offset_ns,
        drift_ppm=_drift_ppm(before, after),
    )


def _narrowed(before: Clock, after: Clock, drift_ns: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Lowest and highest offset at each end. Comparisons that contradict each other are both taken as they are."""
    first, last = ((one.offset_ns - one.error_ns, one.offset_ns + one.error_ns) for one in (before, after))
    ends = (_both(first, last, drift_ns), _both(last, first, drift_ns))
    return ends if all(low <= high for low, high in ends) else (first, last)


def _both(own: tuple[int, int], other: tuple[int, int], drift_ns: int) -> tuple[int, int]:
    return max(own[0], other[0] - drift_ns), min(own[1], other[1] + drift_ns)


def _drift_ppm(before: Clock, after: Clock) -> float | None:
    """The rate of their clock against ours; None where the comparisons say less of it than is known of every clock."""
    length_ns = after.at_ns - before.at_ns
    if share_of(length_ns, DRIFT_PPM) < before.error_ns + after.error_ns:
        return None
    return (after.offset_ns - before.offset_ns) / length_ns * 1e6


def share_of(length_ns: int, ppm: int) -> int:
    """So many millionths of a time, rounded up."""
    return -(-length_ns * ppm // 1_000_000)
