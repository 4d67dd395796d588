"""time: the elapsed time of a command that prints no figure itself (cp, mv, rm, tar, find).

bash's keyword (bash.1, TIMEFORMAT), the `-p` of POSIX, and GNU time with its default format, -p or -v (time.1 of 1.9).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.catalogue import Parser, printed

EXPECTED = "the output of time (real 0m1.234s, 0:01.23elapsed, or Elapsed of -v), above 0"

FAILED = re.compile(
    r"Command (?:exited with non-zero status|terminated by signal|stopped by signal) \d{1,3}|\s*Exit status: [1-9]\d{0,2}"
    r"|ldap_\w{1,30}(?:\([\w-]{1,20}\))?: .{1,120} \(-?\d{1,5}\)"
    r"|.{1,200}: (?:No such file or directory|Permission denied|Operation not permitted|No space left on device"
    r"|Input/output error|Read-only file system|Stale file handle|Connection refused|Connection reset by peer"
    r"|Broken pipe|command not found)"
    r"|.{1,60}: \d{1,4}: .{1,120}: not found"
    r"|(?:Killed|Terminated|Aborted|Segmentation fault|Bus error|Hangup)(?: \(core dumped\))?"
)
"""What GNU time, an LDAP client, the C library (strerror) or a shell says of a command that did not do its work."""


def recognises(argv: Sequence[str], output: str) -> bool:
    """Return True for a command with `time` that printed its time."""
    return printed.calls(argv, "time") and printed.real_time(printed.lines(output)) is not None


def _figures(text: str) -> Iterator[printed.Figure]:
    elapsed = printed.real_time(printed.lines(text))
    if elapsed:
        yield "command.elapsed_ns", elapsed


def runs(text: str) -> list[str]:
    """Return the text of each command: its time ends it."""
    rows = text.splitlines(keepends=True)
    ends = [at + 1 for at, row in enumerate(rows) if printed.real_time([row.rstrip("\r\n")])]
    return ["".join(rows[start:end]) for start, end in pairwise([0, *ends[:-1], len(rows)])]


PARSER = Parser(
    name="time_output",
    recognises=recognises,
    **printed.reads(_figures, EXPECTED, runs=runs, broken=FAILED),
)
