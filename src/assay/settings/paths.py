"""Paths between two ends: what the knobs of `[paths.NAME]` are for each direction, and the mistakes between them.

`up` leads from the load to the server, `down` back. `up.rate` and its like replace `rate` in that direction alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay import units
from assay.catalogue import FRAMES, Unit
from assay.settings.knobs import Values, fraction, integer, text

WAYS = ("up", "down")
PACKET_BYTES = 1_500
LATE_SHARE = 0.05
"""A packet is late if it comes later than this share of the delay ..."""
LEAST_LATE_NS = 200_000
"""... and than this: a wake-up of a busy machine takes as long."""
LEAST_QUEUE_BYTES = 100_000


@dataclass(frozen=True, kw_only=True)
class PathMistake:
    """What is wrong with a path: at which of its keys, what was found, what was expected."""

    key: str
    found: str
    expected: str


@dataclass(frozen=True, kw_only=True)
class PathWay:
    """One direction of a path."""

    rate_bytes_per_s: int | None
    delay_ns: int
    queue_bytes: int | None
    loss_share: float
    frame_bytes: int

    @property
    def late_ns(self) -> int:
        """From which delay beyond its own a packet is late."""
        return max(LEAST_LATE_NS, int(self.delay_ns * LATE_SHARE))

    def settings(self) -> dict[str, object]:
        """As the line takes it."""
        return {
            "rate_bytes_per_s": self.rate_bytes_per_s,
            "delay_ns": self.delay_ns,
            "queue_bytes": self.queue_bytes,
            "loss": self.loss_share,
            "frame_bytes": self.frame_bytes,
            "late_ns": self.late_ns,
        }

    def words(self) -> str:
        """The direction in words: `100 Mbit/s, 2 ms, queue 500 kB, loss 0.01 %, 38 bytes of framing`."""
        rate, queue = self.rate_bytes_per_s, self.queue_bytes
        said = [
            "no limit of the rate" if rate is None else f"{rate * 8 / 1e6:g} Mbit/s",
            f"delay {units.format(self.delay_ns, Unit.NANOSECONDS)}",
            None if queue is None else f"queue {units.format(queue, Unit.BYTES)}",
            f"loss {self.loss_share * 100:g} %" if self.loss_share else "no loss",
            f"{self.frame_bytes} bytes of framing",
        ]
        return ", ".join(filter(None, said))


def way(values: Values, name: str) -> PathWay:
    """One direction (`up` or `down`) of a path with these knobs."""

    def of(key: str) -> str:
        return own if values.get(own := f"{name}.{key}") is not None else key

    rate, queue = integer(values, of("rate")), integer(values, of("queue"))
    return PathWay(
        rate_bytes_per_s=rate or None,
        delay_ns=integer(values, of("delay")),
        queue_bytes=queue or None,
        loss_share=fraction(values, of("loss")),
        frame_bytes=FRAMES[text(values, of("framing")) or "ethernet"],
    )


def mistakes(values: Values) -> tuple[PathMistake, ...]:
    """Return what is wrong with the knobs of a path, each thing once."""
    return tuple(dict.fromkeys(one for name in WAYS for one in _of_way(values, name)))


def _of_way(values: Values, name: str) -> Iterator[PathMistake]:
    found = way(values, name)

    def at(key: str) -> str:
        return f"{name}.{key}" if values.get(f"{name}.{key}") is not None else key

    least = PACKET_BYTES + found.frame_bytes
    if found.loss_share >= 1:
        yield PathMistake(key=at("loss"), found=f"loss of {found.loss_share * 100:g} %", expected="a share below 100 %")
    if found.queue_bytes is not None and found.queue_bytes < least:
        written = units.format(found.queue_bytes, Unit.BYTES)
        wanted = f"at least one packet on the wire, {least:,} bytes; usual is the rate times the round trip"
        yield PathMistake(key=at("queue"), found=f"a queue of {written}", expected=wanted)
    if found.rate_bytes_per_s is None and found.queue_bytes is not None:
        yield PathMistake(key=at("queue"), found="a queue without a rate", expected="a rate with it: without one nothing waits")
    if found.rate_bytes_per_s is not None and found.queue_bytes is None:
        usual = max(LEAST_QUEUE_BYTES, found.rate_bytes_per_s * 2 * found.delay_ns // 1_000_000_000)
        wanted = f'queue = "{usual / 1e6:g} MB" (rate times round trip): the queue decides the results'
        yield PathMistake(key=at("rate"), found="a rate without a queue", expected=wanted)
