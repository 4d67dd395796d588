"""Runs of a tool whose reader tells no line that begins or ends one: the text between equal headings. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

NUMBER = re.compile(r"\d+")
MOST_TRIED = 4
MOST_RUNS = 64
LONGEST = 1 << 20
"""Characters of a text in which runs are looked for."""
FEWEST = 2


def parts(text: str, read: Callable[[str], Mapping[str, float] | None]) -> Sequence[str]:
    """Return the texts of the runs where a heading divides a text so that each part tells figures of the same names; else none.

    A heading is a line that occurs again, but for its numbers, and tells no figure itself: rows of intervals are no runs.
    """
    rows = text.splitlines(keepends=True) if len(text) <= LONGEST else []
    places: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        if any(letter.isalpha() for letter in row):
            places.setdefault(NUMBER.sub("#", row.strip()), []).append(at)
    again = [found for found in places.values() if FEWEST <= len(found) <= MOST_RUNS]
    for found in again[:MOST_TRIED]:
        each = ["".join(rows[start:end]) for start, end in pairwise([0, *found[1:], len(rows)])]
        if read(rows[found[0]]) is None and are_alike([read(part) for part in each]):
            return each
    return ()


def are_alike(found: Sequence[Mapping[str, float] | None]) -> bool:
    """Return whether all parts have figures, of the same names."""
    return all(found) and len({frozenset(one or ()) for one in found}) == 1


def joined(reports: Sequence[tuple[str, Mapping[str, float]]]) -> Sequence[str]:
    """Return the texts of the runs of which each has several reports, as of a write and of a read.

    `reports` is the text of each report and its figures; a run has each operation once.
    """
    found: list[str] = []
    seen = set[str]()
    for text, values in reports:
        operations = {name.partition(".")[0] for name in values}
        if not found or operations & seen:
            found.append("")
            seen = set()
        found[-1] += text
        seen |= operations
    return found
