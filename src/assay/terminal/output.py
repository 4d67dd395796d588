"""What a verb prints: text folded to the terminal, tables, and JSON on standard output or into a file.

On a terminal long lines end at a word and go on below where they began. A file or a pipe gets them as they are: so a line can
be searched and cut where a program reads it, and be read where a person does.
`json` is imported where it is needed: `assay stat` prints none as a rule.
"""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TextIO

from assay.errors import AssayError
from assay.frozen import dataclass
from assay.terminal.printable import printable

STANDARD_OUTPUT = "-"
OUTPUT = "standard output"
"""The name of standard output in its errors."""
NARROWEST = 40
"""Below this folding leaves more gaps than words."""
FARTHEST = 24
"""Behind a label that ends farther to the right what follows would have no room, unless the terminal is wide."""
ROOM_SHARE = 0.4
"""Of a wide terminal, for labels."""
USUAL = 80
"""So wide is what has no terminal, for notes beside a row."""
HANGING = 4
GAP = re.compile(r"(?<=\S) {2,}(?=\S)")
SPACE = re.compile(r"(?<=\S) +(?=\S)(?!(?<=\d )(?:%|(?:[kMGT]i?)?B\b|[nµm]?s\b))")
"""Where a line may end: not between a number and its unit."""
LISTED = re.compile(r"(?<=[^\W\d],)(?=[^\W\d])")
"""Where a list that is longer than a line may end."""
CELLS = 4
"""A line with so many cells is a row of a table: it is broken between cells alone."""
BETWEEN = "  "
"""Between two columns of a table."""


def say(text: str, stream: TextIO | None = None) -> None:
    """Print lines to a stream (default: standard output), folded where it is a terminal.

    Raises AssayError where standard output takes nothing more; a standard error that takes nothing costs no status.
    """
    if stream is None:
        with standard_output() as goal:
            say(text, goal)
        return
    width = columns(stream)
    with suppress(OSError) if stream is sys.stderr else nullcontext():
        print(text if width is None else folded(text, width), file=stream, flush=True)


class NamedOutput(io.TextIOWrapper):
    """Standard output, whose errors name it as those of a file do: any verb may write to it at any time.

    An interrupt may come as soon as bytes were handed over; the layers below are the standard library's own, since in a layer
    in Python it would make the buffer take them for unwritten, and write them again.
    """

    def write(self, text: str, /) -> int:
        """Write a text. Raises OSError with its name, BrokenPipeError without a reader."""
        try:
            return super().write(text)
        except OSError as error:
            raise named(error) from None

    def flush(self) -> None:
        """Write out what waits. Raises as `write`."""
        try:
            super().flush()
        except OSError as error:
            raise named(error) from None


def write_bytes(data: bytes) -> None:
    """Write bytes to standard output. Raises OSError with its name, BrokenPipeError without a reader."""
    try:
        sys.stdout.buffer.write(data)
    except OSError as error:
        raise named(error) from None


def named(error: OSError) -> OSError:
    """Return an error of standard output with its name; without a reader there is nothing to name."""
    return error if isinstance(error, BrokenPipeError) else OSError(error.errno, error.strerror, OUTPUT)


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """Standard output for what only prints, written out at the end.

    Raises AssayError where it takes no more, BrokenPipeError without a reader.
    """
    try:
        yield sys.stdout
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename not in (None, OUTPUT):  # a file that was read meanwhile
            raise
        raise unwritten(error) from error


def unwritten(error: OSError) -> AssayError:
    """Return the error of a standard output that takes no more; nothing more is written to it."""
    with suppress(OSError, ValueError):  # what is left in the buffer must not fail a second time, when the process ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    way = "Send it elsewhere: `> FILE`, or `> /dev/null`" if error.errno == errno.EBADF else "Free space, or send it elsewhere"
    return AssayError(f"standard output: not written ({refusal(error)}). {way}.")


def refusal(error: OSError) -> str:
    """Why a stream takes no more, in words."""
    return "it is closed" if error.errno == errno.EBADF else error.strerror or str(error)


def columns(stream: TextIO) -> int | None:
    """How wide the terminal is that the stream goes to; None where it goes to none, or to one that says nothing of it.

    COLUMNS of the environment counts first, also where there is no terminal.
    """
    try:
        found = _wished() or (os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0)
    except (OSError, ValueError):  # ValueError: the stream is closed, or has no number
        return None
    return found if found >= NARROWEST else None


def _wished() -> int:
    """The width that the user names. With LINES it is no wish: readline leaves both to whatever its program starts."""
    words = os.environ.get("COLUMNS", "")
    return int(words) if words.isdecimal() and "LINES" not in os.environ else 0


def at_most(width: int) -> int:
    """So many characters, or as many as a line of standard output has."""
    return min(width, columns(sys.stdout) or width)


def folded(text: str, width: int) -> str:
    """The same text in lines of at most so many characters; only a word or a cell that is longer stands out."""
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def _parts(line: str, width: int) -> Iterator[str]:
    """A line, and what of it goes below: under the text behind its label, else a little further in than where it began."""
    gaps = list(GAP.finditer(line))
    table = len(gaps) + 1 >= CELLS
    begin = len(line) - len(line.lstrip(" "))
    farthest = max(FARTHEST, int(ROOM_SHARE * width))
    hanging = next((gap.end() for gap in reversed(gaps) if gap.end() <= farthest), 0) or (begin or HANGING)
    if table or (gaps and hanging == begin):
        hanging = begin + HANGING
    while len(line) > width:
        places = [match.span() for match in (GAP if table else SPACE).finditer(line)]
        lists = [match.span() for match in LISTED.finditer(line)]
        fitting = next(filter(None, ([one for one in some if hanging < one[0] <= width] for some in (places, lists))), [])
        fitting = fitting or [one for one in places if one[0] > width]
        if not fitting:
            break
        end, start = fitting[-1] if fitting[-1][0] <= width else fitting[0]
        yield line[:end]
        line = " " * hanging + line[start:]
    yield line


def deliver(
    json_to: str | None, verb: str, values: Callable[[], Mapping[str, object]], text: Callable[[], str] | None = None
) -> None:
    """Print the text, unless the JSON owns standard output, and write the JSON, of the schema `assay.VERB/1`, where asked."""
    if json_to != STANDARD_OUTPUT and text is not None:
        say(text())
    if json_to is not None:
        import json

        write(json_to, json.dumps({"schema": f"assay.{verb}/1", **values()}, default=str))


def write(path: str, text: str) -> None:
    """Write a text with its end of line to a file, or to standard output for `-`. Raises AssayError for an unwritable file."""
    if path == STANDARD_OUTPUT:
        with standard_output() as stream:
            stream.write(f"{text}\n")
        return
    try:
        Path(path).write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise AssayError(f"{path}: not written ({error.strerror}). Name a writable file.") from error


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table with a note, which goes to a line of its own where the width has no room for it."""

    cells: tuple[str, ...]
    note: str = ""


def table(header: Sequence[str], rows: Sequence[Row], right: Iterable[int] = (), width: int | None = None) -> str:
    """Aligned lines; the columns in `right` are aligned to the right. Width is that of the terminal.

    A table that is wider than the terminal has several lines for each row, and the same ones for its head. What could steer the
    terminal is escaped: cells come from anywhere.
    """
    lines = [tuple(header), *(tuple(map(printable, row.cells)) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    known = width or columns(sys.stdout)
    room = known or USUAL
    grid = _grid(widths, known)
    start = sum(widths) + len(BETWEEN) * len(widths) if len(grid) == 1 else room
    made: list[str] = []
    for line, note in zip(lines, ["", *(row.note for row in rows)], strict=True):
        *above, last = _row(line, grid, frozenset(right))
        made += [*above, *with_note(last, note, start, room)]
    return "\n".join(made)


Grid = list[list[tuple[int, int]]]
"""Which columns are on each line of a row, and how wide they are."""


def _grid(widths: Sequence[int], room: int | None) -> Grid:
    """As many columns on a line as there is room for; a wider one is as wide as the room. None: all on one line."""
    if room is None or sum(widths) + len(BETWEEN) * (len(widths) - 1) <= room:
        return [list(enumerate(widths))]
    made: Grid = []
    used = room
    for column, size in enumerate(min(each, room - HANGING) for each in widths):
        if made and used + len(BETWEEN) + size <= room:
            made[-1].append((column, size))
            used += len(BETWEEN) + size
        else:
            used = HANGING * bool(made) + size
            made.append([(column, size)])
    return made


def _row(cells: Sequence[str], grid: Grid, right: frozenset[int]) -> Iterator[str]:
    """The lines of one row; a cell that is wider than its column goes on below itself."""
    from textwrap import wrap

    for number, places in enumerate(grid):
        parts = [(wrap(cells[column], size) if len(cells[column]) > size else [cells[column]]) or [""] for column, size in places]
        for depth in range(max(map(len, parts))):
            texts = [part[depth] if depth < len(part) else "" for part in parts]
            aligned = (
                text.rjust(size) if column in right else text.ljust(size)
                for text, (column, size) in zip(texts, places, strict=True)
            )
            yield (" " * HANGING * bool(number) + BETWEEN.join(aligned)).rstrip()


def with_note(text: str, note: str, start: int, room: int) -> Iterator[str]:
    """A line with its note: beside it where there is room, else indented below it."""
    if not note:
        yield text
    elif start + len(note) <= room:
        yield text.ljust(start) + note
    else:
        yield text
        yield f"    {note}"
