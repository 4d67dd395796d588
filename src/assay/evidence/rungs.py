"""One phase's ladder of bytes in one direction, rung by rung, as it is shown: what was counted, not what follows from it."""

from __future__ import annotations

from collections.abc import Iterator

from assay.evidence import fuse, ladder
from assay.frozen import dataclass
from assay.records import Direction, Observations, Phase, Reading, Run, Rung, Span

DEVICES = (Rung.UPPER_DEVICE, Rung.LOWEST_DEVICE)


@dataclass(frozen=True, kw_only=True)
class Device:
    """What one block device did while the clock ran, and what it wrote and flushed in the drain after it; others included."""

    name: str
    read_bytes: int
    write_bytes: int
    flushes: int
    drain_write_bytes: int
    drain_flushes: int


@dataclass(frozen=True, kw_only=True)
class Network:
    """What passed one network interface while the clock ran."""

    name: str
    read_bytes: int
    write_bytes: int


@dataclass(frozen=True, kw_only=True)
class Rungs:
    """Bytes of one direction from the application to what its processes made storage move; None where nobody counted."""

    application: float | None
    source: str
    calls: float | None
    storage: float | None
    behind: float | None = None
    """Of reads through a file system in user space: what the process behind it read from storage."""
    is_counted: bool = True
    """Whether the kernel counts what storage was made to read: not of reads through a file system in user space."""

    @property
    def hit_share(self) -> float | None:
        """The share of what was asked that storage was not made to move; None where one of the two is not known."""
        if not self.application or self.storage is None or not self.is_counted:
            return None
        return 1 - min(1.0, self.storage / self.application)


def rungs(phase: Phase, observations: Observations, direction: Direction, run: Run | None = None) -> Rungs:
    """The rungs above the devices; of a run whose places are known with what is behind file systems in user space."""
    calls = ladder.passed(phase, observations, Rung.SYSCALL, direction)
    storage = ladder.passed(phase, observations, Rung.CLIENT_CACHE, direction)
    asked = ladder.requested_bytes(phase, observations, direction)
    user_space = fuse.behind(run, phase, observations) if run is not None and direction is Direction.READ else None
    is_reported = any(True for _ in observations.rung(phase.name, Rung.APPLICATION, direction))
    return Rungs(
        application=asked,
        source="application" if is_reported else "system calls",
        calls=calls.bytes if calls else None,
        storage=storage.bytes if storage else None,
        behind=user_space.read_bytes if user_space else None,
        is_counted=user_space is None,
    )


def devices(phase: Phase, observations: Observations) -> tuple[Device, ...]:
    """Every device that was watched, upper ones first."""
    names = dict.fromkeys(
        one.subject for rung in DEVICES for one in observations.readings if one.rung is rung and one.phase == phase.name
    )
    return tuple(_device(phase, observations, name) for name in names)


def _device(phase: Phase, observations: Observations, subject: str) -> Device:
    def counted(direction: Direction, span: Span = Span.CLOCK) -> Iterator[Reading]:
        for rung in DEVICES:
            yield from observations.rung(phase.name, rung, direction, span, subject)

    def byte_count(direction: Direction, span: Span = Span.CLOCK) -> int:
        return max((one.bytes or 0 for one in counted(direction, span)), default=0)

    def operation_count(span: Span) -> int:
        return max((one.operations or 0 for one in counted(Direction.FLUSH, span)), default=0)

    return Device(
        name=subject.partition(":")[2],
        read_bytes=byte_count(Direction.READ),
        write_bytes=byte_count(Direction.WRITE),
        flushes=operation_count(Span.CLOCK),
        drain_write_bytes=byte_count(Direction.WRITE, Span.DRAIN),
        drain_flushes=operation_count(Span.DRAIN),
    )


def networks(phase: Phase, observations: Observations) -> tuple[Network, ...]:
    """Every interface through which something passed."""
    seen: dict[str, dict[Direction, int]] = {}
    for one in observations.readings:
        if (one.rung, one.phase, one.span) == (Rung.CLIENT_NIC, phase.name, Span.CLOCK):
            seen.setdefault(one.subject.partition(":")[2], {})[one.direction] = one.bytes or 0
    made = (
        Network(name=name, read_bytes=each.get(Direction.READ, 0), write_bytes=each.get(Direction.WRITE, 0))
        for name, each in seen.items()
    )
    return tuple(one for one in made if one.read_bytes or one.write_bytes)
