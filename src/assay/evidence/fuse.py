"""What was read through file systems in user space (FUSE): whether their processes were asked, and what those read themselves.

The kernel counts no storage reads of a process that reads through FUSE, so that 0 of them says nothing. What the process behind
the mount read from storage, or got over a network, is the layer below.
"""

from __future__ import annotations

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.records import Direction, Observations, Phase, Place, Run, Rung, Series

LAYER, ABOUT = "fuse", "mount:"
READ, CALLS, CALL_BYTES, NETWORKED = "read_bytes", "calls", "call_bytes", "networked"
MOSTLY = 0.5
"""A process that moved so much of what was requested may have been asked for it."""


@dataclass(frozen=True, kw_only=True)
class Behind:
    """What the processes behind the mounts of a run did under the clock; None where that was not seen."""

    mounts: tuple[str, ...]
    read_bytes: float | None
    """From storage; with what the load itself made storage read, where it has data beside the mounts."""
    calls: float | None
    """Their read calls: one or more for each request that reached them."""
    networked: bool
    received_bytes: float | None
    """By all interfaces of the host, the loopback too: no more than that came over a network."""


def behind(run: Run, phase: Phase, observations: Observations) -> Behind | None:
    """Return what is known of the mounts in user space that hold data of a run; None where none does."""
    places = [(place.directory or place.address, place.is_in_user_space) for place in run.places]
    seen = [*observations.over_time(phase.name, LAYER, READ)]
    points = {one.subject.removeprefix(ABOUT) for one in observations.over_time(phase.name, LAYER, NETWORKED)}
    holding = {_holding(address, points) or (address if known else None) for address, known in places} - {None}
    mounts = tuple(sorted(str(point) for point in holding))
    if not mounts:
        return None
    accounts = {metric: _rise(phase, observations, mounts, metric) for metric in (READ, CALLS)}
    own = ladder.passed(phase, observations, Rung.CLIENT_CACHE, Direction.READ)
    beside = own.raw_bytes if own and any(_is_beside(place, points) for place in run.places) else 0.0
    read = accounts[READ]
    connected = _of(observations, phase, mounts, NETWORKED)
    return Behind(
        mounts=mounts,
        read_bytes=read + beside if read is not None and seen else None,
        calls=accounts[CALLS],
        networked=any(value for one in connected for value in one.value),
        received_bytes=received(phase, observations),
    )


def others_asked(run: Run, phase: Phase, observations: Observations, requested: float) -> str | None:
    """Return a mount that holds no known data of a run, and may have been asked for so many bytes all the same; None without one.

    Of a command it is not known for certain which files it opened there.
    """
    for one in observations.over_time(phase.name, LAYER, CALL_BYTES):
        point = one.subject.removeprefix(ABOUT)
        moved = (_rise(phase, observations, (point,), metric) or 0.0 for metric in (CALL_BYTES, READ))
        connected = any(value for series in _of(observations, phase, (point,), NETWORKED) for value in series.value)
        got = max((*moved, (received(phase, observations) or 0.0) if connected else 0.0))
        if got >= MOSTLY * requested and not any(_holding(place.directory or place.address, {point}) for place in run.places):
            return point
    return None


def _is_beside(place: Place, points: set[str]) -> bool:
    """Whether a place is on devices and at no mount in user space."""
    return bool(place.devices) and not place.is_in_user_space and _holding(place.directory or place.address, points) is None


def _holding(address: str, points: set[str]) -> str | None:
    """Return the innermost mount point that holds an address."""
    found = [point for point in points if f"{address}/".startswith(f"{point.rstrip('/')}/")]
    return max(found, key=len, default=None)


def _of(observations: Observations, phase: Phase, mounts: tuple[str, ...], metric: str) -> list[Series]:
    return [one for one in observations.over_time(phase.name, LAYER, metric) if one.subject.removeprefix(ABOUT) in mounts]


def _rise(phase: Phase, observations: Observations, mounts: tuple[str, ...], metric: str) -> float | None:
    """Return the rise over all of the mounts; None where one was not seen."""
    found = _of(observations, phase, mounts, metric)
    if len({one.subject for one in found}) < len(mounts):
        return None
    return ladder.rises(found, phase.start_ns, phase.end_ns)


def received(phase: Phase, observations: Observations) -> float | None:
    """Return the bytes that all interfaces received under the clock, the loopback included; None where nobody counted."""
    inside = ladder.host_rise(phase, observations, "network", "loopback_bytes")
    outside = ladder.passed(phase, observations, Rung.CLIENT_NIC, Direction.READ)
    return None if inside is None else inside + (outside.raw_bytes if outside else 0.0)
