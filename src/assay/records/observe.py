"""What a file has a command of its own watch: the records of `[observe.NAME]`."""

from __future__ import annotations

from enum import StrEnum

from assay.frozen import dataclass


class ObserveKind(StrEnum):
    """How the numbers of a command are to be read."""

    GAUGE = "gauge"
    """As they are: threads, buffers in use, a temperature."""
    COUNTER = "counter"
    """By their rise: requests, cache hits, bytes."""


@dataclass(frozen=True, kw_only=True)
class ObserveSpec:
    """A command that is run again and again on some hosts, and how numbers are found in its output."""

    name: str
    hosts: tuple[str, ...]
    argv: tuple[str, ...]
    every_ns: int
    pattern: str
    """A regular expression with one group, or with groups that all have a name."""
    unit: str = "count"
    """Base unit of the values that are kept (`assay.units.Unit`)."""
    scale: float = 1.0
    """How many base units one of the printed units is."""
    kind: ObserveKind = ObserveKind.GAUGE
