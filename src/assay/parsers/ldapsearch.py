"""ldapsearch: number of entries, and the elapsed time of `time` around it; ldapsearch itself prints no time.

`# numEntries` and `result: CODE` end its LDIF (OpenLDAP 2.5, clients/tools/ldapsearch.c); a code other than 0 is an error, and
each result is an attempt.
`# numResponses` is the sum of entries, references and results, which proves that the output is complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "ldapsearch's '# numEntries' (not with -LLL), or the elapsed time of time"
ENTRIES = re.compile(r"# numEntries: (\d{1,15})")
NUMBER = re.compile(r"# num([A-Z][A-Za-z]{1,30}): (\d{1,15})")
RESULT = re.compile(r"result: (\d{1,4}) .{1,80}")


def recognises(argv: Sequence[str], output: str) -> bool:
    """Return True for the last lines of ldapsearch, or the time around it."""
    rows = printed.lines(output)
    is_timed = len(argv) > 1 and printed.real_time(rows) is not None  # a time alone does not tell of which command
    return printed.calls(argv, "ldapsearch") and (any(RESULT.fullmatch(row) for row in rows) or is_timed)


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures: a paged search has one count per page; of several timed searches the last counts."""
    whole = printed.lines(text)
    timed = [index for index, row in enumerate(whole) if printed.real_time([row])]
    rows = whole[timed[-2] + 1 if len(timed) > 1 else 0 :]
    if any(row.startswith("# numEntries") and not ENTRIES.fullmatch(row) for row in rows):
        raise ValueError("number of entries")  # a missing line means no entries
    counts = [int(match[1]) for row in rows if (match := ENTRIES.fullmatch(row))]
    codes = [int(match[1]) for row in rows if (match := RESULT.fullmatch(row))]
    numbers = [(match[1], int(match[2])) for row in rows if (match := NUMBER.fullmatch(row))]
    responses = sum(number for name, number in numbers if name == "Responses")
    if responses != len(codes) + sum(number for name, number in numbers if name != "Responses"):
        raise ValueError(f"part of {responses} responses")
    if codes:
        yield "search.count", printed.exact(sum(counts))
        yield "search.errors", printed.exact(sum(code != 0 for code in codes))
        yield "search.attempts", printed.exact(len(codes))
    elapsed = printed.real_time(rows)
    if elapsed:
        yield "search.elapsed_ns", elapsed


PARSER = Parser(
    name="ldapsearch",
    recognises=recognises,
    **printed.reads(_figures, EXPECTED),
)
