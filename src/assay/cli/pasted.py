"""The report of a tool in the place of a claim: the figures that its parser reads, as the words of a claim for each operation."""

from __future__ import annotations

import math
from collections.abc import Iterator

from assay.errors import EvidenceError, UsageError
from assay.watch import imported
from assay.watch.claims import operations
from assay.watch.reports import Reported

BYTES = {0: "B", 3: "kB", 6: "MB", 9: "GB", 12: "TB", 15: "PB"}
TIMES = {-9: "ns", -6: "us", -3: "ms", 0: "s"}
COUNTS = {0: ""}
FIGURES = (
    ("bytes_per_s", 1.0, BYTES, "/s"),
    ("ops_per_s", 1.0, COUNTS, " ops/s"),
    ("count", 1.0, COUNTS, " ops"),
    ("bytes", 1.0, BYTES, ""),
    ("elapsed_ns", 1e-9, TIMES, ""),
)
"""Figure, its unit in the unit of a claim, the names of powers of ten of that unit, and what follows."""
LEAST_KNOWN = 0.25
"""A number whose last digit leaves more of it open has no digit that counts."""


def claims_of(text: str) -> dict[str, str]:
    """Return a claim for each operation with a figure to relate, of a text that a parser reads; none for other texts.

    Raises UsageError where a parser reads a text and has no such figure: the words of a tool are no claim (scp's MB is a MiB).
    """
    try:
        told = imported.recognised(text)
    except EvidenceError:
        return {}
    found = {name: claim for name in operations(told.values) if (claim := ", ".join(words(name, told)))}
    if not found:
        raise UsageError(
            f"found a result of {told.tool} without a figure that arithmetic relates; `assay import` reads all of it"
        )
    return found


def words(operation: str, told: Reported) -> Iterator[str]:
    """Yield the figures of an operation that arithmetic relates, with the digits that the tool printed."""
    side = f" {operation}" if operation in ("read", "write") else ""
    found = {}
    for name, size, powers, after in FIGURES:
        value, half = (numbers.get(f"{operation}.{name}", 0.0) * size for numbers in (told.values, told.resolution))
        if value and half <= LEAST_KNOWN * value:
            found[name] = f"{digits(value, half, powers)}{after}{side if name == 'bytes_per_s' else ''}"
    amount, time = found.pop("bytes", None), found.pop("elapsed_ns", None)
    yield from found.values()
    if time is not None:
        yield time if amount is None else f"{amount} in {time}"


def digits(value: float, half: float, powers: dict[int, str]) -> str:
    """Return a number as far as it is known, with a unit that shows no digit too many: 47,700,000 ± 50,000 is `47.7 MB`."""
    if not half:
        return f"{value:.15g}{powers[0]}"
    least = math.floor(math.log10(2 * half) + 1e-9)
    power = next((one for one in sorted(powers) if one >= least), max(powers))
    return f"{value / 10.0**power:.{max(0, power - least)}f}{powers[power]}"
