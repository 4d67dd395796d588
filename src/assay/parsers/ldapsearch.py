"""ldapsearch: number of entries, and the elapsed time of `time` around it; ldapsearch itself prints no time.

`# numEntries` and `result: CODE` end its LDIF (OpenLDAP 2.5, clients/tools/ldapsearch.c); a code other than 0 is an error, and
each result is an attempt.
`# numResponses` is the sum of entries, references and results, which proves that the output is complete.
With -L a result is a line `# search result` only, and its code is said of an error only, on the error output.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "ldapsearch's '# numEntries' (not with -LLL), or the elapsed time of time"
ENTRIES = re.compile(r"# numEntries: (\d{1,15})")
NUMBER = re.compile(r"# num([A-Z][A-Za-z]{1,30}): (\d{1,15})")
RESULT = re.compile(r"result: (\d{1,4}) .{1,80}")
HEAD = re.compile(r"# extended LDIF|version: 1")
COOKIE = re.compile(r"(?:# )?pagedresults(?:: )?.{0,40}cookie=(.{0,1000})")
"""What ends a page; with a cookie the head of the next page follows, of the same call."""
ENDED, NUMBERED = "# search result", re.compile(r"search: \d{1,10}")
ERROR = re.compile(r"[A-Z][A-Za-z' /]{1,60} \(\d{1,4}\)")


def recognises(argv: Sequence[str], output: str) -> bool:
    """Return True for the last lines of ldapsearch, or the time around it."""
    rows = printed.lines(output)
    is_timed = len(argv) > 1 and printed.real_time(rows) is not None  # a time alone does not tell of which command
    return printed.calls(argv, "ldapsearch") and (any(RESULT.fullmatch(row) or row == ENDED for row in rows) or is_timed)


def runs(text: str) -> list[str]:
    """Return the text of each call."""
    found, goes_on = [""], True
    for row in text.splitlines(keepends=True):
        bare = row.rstrip("\r\n")
        if HEAD.fullmatch(bare):
            found += [] if goes_on else [""]
            goes_on = False
        elif match := COOKIE.fullmatch(bare):
            goes_on = bool(match[1])
        found[-1] += row
    return found


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the figures of the last call: a paged search has one count per page."""
    rows = printed.lines(runs(text)[-1])
    if any(row.startswith("# numEntries") and not ENTRIES.fullmatch(row) for row in rows):
        raise ValueError("number of entries")  # a missing line means no entries
    counts = [int(match[1]) for row in rows if (match := ENTRIES.fullmatch(row))]
    codes = [int(match[1]) for row in rows if (match := RESULT.fullmatch(row))]
    numbers = [(match[1], int(match[2])) for row in rows if (match := NUMBER.fullmatch(row))]
    responses = sum(number for name, number in numbers if name == "Responses")
    results = len(codes) if any(NUMBERED.fullmatch(row) for row in rows) else rows.count(ENDED)
    if responses != results + sum(number for name, number in numbers if name != "Responses"):
        raise ValueError(f"part of {responses} responses")
    errors = sum(code != 0 for code in codes) if codes else sum(ERROR.fullmatch(row) is not None for row in rows)
    if results:
        yield "search.count", printed.exact(sum(counts))
        yield "search.attempts", printed.exact(results)
    if codes or errors:
        yield "search.errors", printed.exact(errors)
    elapsed = printed.real_time(rows)
    if elapsed:
        yield "search.elapsed_ns", elapsed


PARSER = Parser(
    name="ldapsearch",
    recognises=recognises,
    **printed.reads(_figures, EXPECTED, runs=runs),
)
