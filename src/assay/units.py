"""Quantities in text: a closed list of units, exact integers inside ("4 KiB" is 4096, "1 Gbit/s" is 125,000,000 bytes/s)."""

from __future__ import annotations

from enum import StrEnum


class Unit(StrEnum):
    """What a knob or a figure is counted in; quantities are stored in these base units."""

    NONE = ""
    COUNT = "count"
    BYTES = "bytes"
    BYTES_PER_S = "bytes/s"
    PER_S = "1/s"
    NANOSECONDS = "ns"
    SHARE = "share"
