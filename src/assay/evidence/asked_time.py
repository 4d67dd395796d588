"""How long the words of a command ask a tool to go on, in seconds; many tools end sooner where something else is done first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.evidence.words import given, programs

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "fio": ("--runtime",),
    "ab": ("-t",),
    "sysbench": ("--time", "--max-time"),
    "iperf3": ("-t", "--time"),
    "iperf": ("-t", "--time"),
    "db_bench": ("--duration",),
}
SUFFIXES: Mapping[str, float] = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def asked_seconds(argv: Sequence[str]) -> tuple[str, float] | None:
    """Return the option with its value, and the seconds; None where no time, or the time of several calls, is asked for."""
    found = [
        (f"{option} {value}", time)
        for program, words in programs(argv)
        for option in OPTIONS.get(program, ())
        if (value := given(words, (option,))) is not None and (time := seconds(value))
    ]
    return found[0] if len(found) == 1 else None


def seconds(text: str) -> float | None:
    """Return the seconds of `300`, `5m`; None where it is no such time."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smhd]?)", text)
    return None if match is None else float(match[1]) * SUFFIXES[match[2]]
