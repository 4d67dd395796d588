"""Text on a terminal: long lines end at a word and go on below where they began; a file or a pipe gets them as they are.

So a line can be searched and cut where a program reads it, and be read where a person does.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from typing import TextIO

NARROWEST = 40
"""Below this folding leaves more gaps than words."""
FARTHEST = 24
"""A label that is longer than this is none: what follows it would have no room."""
HANGING = 4
GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
SPACE = re.compile(r"(?<=\S) +(?=\S)(?!(?<=\d )(?:%|(?:[kMGT]i?)?B\b|[nµm]?s\b))")
"""Where a line may end: not between a number and its unit."""
CELLS = 4
"""A line with so many cells is a row of a table: it is broken between cells alone."""


def say(text: str, stream: TextIO | None = None) -> None:
    """Print lines to a stream (default: standard output), folded where it is a terminal."""
    goal = stream if stream is not None else sys.stdout
    width = columns(goal)
    print(text if width is None else folded(text, width), file=goal, flush=True)


def columns(stream: TextIO) -> int | None:
    """How wide the terminal is that the stream goes to; None where it goes to none, or to one that says nothing of it."""
    try:
        found = os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0
    except (OSError, ValueError):  # ValueError: the stream is closed, or has no number
        return None
    return found if found >= NARROWEST else None


def folded(text: str, width: int) -> str:
    """The same text in lines of at most so many characters; only a word or a cell that is longer stands out."""
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def _parts(line: str, width: int) -> Iterator[str]:
    """A line, and what of it goes below: under the text behind its label, else a little further in than where it began."""
    gaps = list(GAP.finditer(line))
    table = len(gaps) + 1 >= CELLS
    begin = len(line) - len(line.lstrip(" "))
    hanging = next((gap.end() for gap in reversed(gaps) if gap.end() <= FARTHEST and not table), 0) or (begin or HANGING)
    if table:
        hanging = begin + HANGING
    while len(line) > width:
        places = [match.span() for match in (GAP if table else SPACE).finditer(line)]
        fitting = [place for place in places if hanging < place[0] <= width] or [place for place in places if place[0] > width]
        if not fitting:
            break
        end, start = fitting[-1] if fitting[-1][0] <= width else fitting[0]
        yield line[:end]
        line = " " * hanging + line[start:]
    yield line
