"""The elapsed time that `time` printed, for commands that say nothing themselves (cp, mv, rm, tar, find).

bash's keyword (bash.1, TIMEFORMAT), the `-p` of POSIX, and GNU time with its default format, -p or -v (time.1 of 1.9).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.catalogue import Parser
from assay.catalogue.printed import Printed, calls, halves, lines, real_time, values

EXPECTED = "what time prints (real 0m1.234s, 0:01.23elapsed, or -v's Elapsed), and more than 0 in its digits"


def recognises(argv: Sequence[str], output: str) -> bool:
    """Whether a time was asked for and printed."""
    return calls(argv, "time") and real_time(lines(output)) is not None


def _told(text: str) -> Iterator[tuple[str, Printed]]:
    elapsed = real_time(lines(text))
    if elapsed:
        yield "command.elapsed_ns", elapsed


PARSER = Parser(
    name="time_output",
    recognises=recognises,
    parse=values(_told, EXPECTED),
    resolution=halves(_told, EXPECTED),
)
