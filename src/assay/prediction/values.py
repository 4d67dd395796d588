"""Single values of the file of `assay predict`: each is read, and what is wrong with it noted in the document."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.toml_document import Document, Path, Point, shown
from assay.units import Refusal, Unit, attempt

Selection = Mapping[str, tuple[str, ...]]
"""Factor, `workload` or `phase` -> the levels of which one must fit."""
SELECTION = 'a table that selects trials, such as { target = "ext4", workload = ["a", "b"] }'
WHOLE = 0.005
"""Shares may be rounded by so much together."""
_RANGE = re.compile(r"\s*(?P<low>[\d.]+)\s*%?\s*(?:to|-|–)\s*(?P<high>[\d.]+\s*%)\s*")
"""`8 % to 12 %`, `8-12 %`."""


def count(document: Document, path: Path, values: Mapping[str, object]) -> int:
    """Return how many CPUs, at least 1."""
    value = values.get(str(path[-1]))
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        document.wrong(path, shown(value) if value is not None else f"no {path[-1]}", "a whole number from 1: cpus = 4")
        return 1
    return value


def positive(document: Document, path: Path, value: object) -> float:
    """Return a number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        document.wrong(path, shown(value), "a number above 0")
        return 1.0
    return float(value)


def bounds(document: Document, path: Path, value: object) -> tuple[float, float] | None:
    """Return a number, or a range of two."""
    ends = value if isinstance(value, list) else [value, value]
    numbers = [float(end) for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(ends) != 2 or len(numbers) != 2 or not 0 < numbers[0] <= numbers[1] < float("inf"):
        document.wrong(path, shown(value), "a number above 0, or a range such as [6.5, 7.5]")
        return None
    return numbers[0], numbers[1]


def shares(document: Document, path: Path, value: object) -> tuple[float, float] | None:
    """`8 % to 12 %`, or one share."""
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    ends = (f"{match['low']} %", match["high"]) if match else (value, value)
    low, high = (attempt(end, Unit.SHARE) if isinstance(end, str) else None for end in ends)
    if not isinstance(low, float) or not isinstance(high, float) or not 0 < low <= high <= 1:
        document.wrong(path, shown(value), 'a share of all CPUs up to 100 %: "8 % to 12 %" or "10 %"')
        return None
    return low, high


def rates(document: Document, path: Path, value: object) -> Mapping[str, tuple[float, ...]]:
    """Operation -> operations/s, one for each busy hour."""
    if not isinstance(value, dict) or not value:
        document.wrong(path, shown(value), 'a table of operations, such as { read = "900 /s" }')
        return {}
    found = {name: _hours(document, (*path, name), one) for name, one in value.items()}
    hours = sorted({len(one) for one in found.values()} - {1})
    if len(hours) > 1:
        counts = " and ".join(str(one) for one in hours)
        document.wrong(path, f"{counts} busy hours", "as many for each operation, in the same order", Point.KEY)
    return found


def _hours(document: Document, path: Path, value: object) -> tuple[float, ...]:
    if isinstance(value, list) and value:
        return tuple(_rate(document, (*path, place), one) for place, one in enumerate(value))
    return (_rate(document, path, value),)


def _rate(document: Document, path: Path, value: object) -> float:
    found = (
        attempt(value, Unit.PER_S) if isinstance(value, str) else Refusal(found=shown(value), expected='a rate such as "900 /s"')
    )
    if isinstance(found, Refusal):
        document.wrong(path, found.found, found.expected)
        return 0.0
    return float(found)


def mix(document: Document, path: Path, value: object) -> Mapping[str, float] | None:
    """Operation -> share of all; they make up all of it."""
    if not isinstance(value, dict) or not value:
        document.wrong(path, shown(value), 'shares of operations, such as { read = "70 %", write = "30 %" }')
        return None
    found = {name: attempt(one, Unit.SHARE) if isinstance(one, str) else None for name, one in value.items()}
    known = {name: one for name, one in found.items() if isinstance(one, float) and 0 <= one <= 1}
    for name in value:
        if name not in known:
            document.wrong((*path, name), shown(value[name]), 'a share such as "70 %"')
    total = sum(known.values())
    if len(known) == len(value) and abs(total - 1) > WHOLE:
        document.wrong(path, f"shares of {total * 100:.4g} % together", "100 % together", Point.KEY)
    return known


def selection(document: Document, path: Path, value: object) -> Selection:
    """Return what selects trials; levels are told as everywhere, so their texts are compared."""
    if not isinstance(value, dict):
        document.wrong(path, shown(value), SELECTION)
        return {}
    flat = dict(_flattened((), value))
    listed = {name: level if isinstance(level, list) else [level] for name, level in flat.items()}
    return {
        name: tuple(str(one).lower() if isinstance(one, bool) else str(one) for one in found) for name, found in listed.items()
    }


def _flattened(before: tuple[str, ...], value: Mapping[str, object]) -> list[tuple[str, object]]:
    """`mix.read_share = ...` is a table in a table: the path of a factor again."""
    found: list[tuple[str, object]] = []
    for key, one in value.items():
        found += _flattened((*before, key), one) if isinstance(one, dict) else [(".".join((*before, key)), one)]
    return found


def names(document: Document, path: Path, value: object) -> Mapping[str, str]:
    """Operation -> what it is called in the others."""
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        document.wrong(path, shown(value), 'a table of names, such as { read = "random_read" }')
        return {}
    return {name: str(one) for name, one in value.items()}
