"""GNU tar: bytes of the archive and their rate, from its line of --totals.

`MiB/s` is 2^20 bytes/s; digits are rounded up (tar 1.34, src/buffer.c: human_base_1024, and human_ceiling by default).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from assay.catalogue import Parser, console, printed

EXPECTED = "tar's --totals line, such as 'Total bytes written: 10240 (10KiB, 154MiB/s)'"
TOTALS = re.compile(r"([^:\d]{3,80}): (\d{1,18}) \([\d.,]{1,20}([KMGTPE]i)?B, ([\d.,]{1,20})(?:([KMGTPE])i)?B/s\)")
SIDES = {"Total bytes written": ("write",), "Total bytes read": ("read",)}
WRITES, READS = frozenset("cruA"), frozenset("xtd")


def recognises(argv: Sequence[str], output: str) -> bool:
    """Return True for the output of GNU tar."""
    return printed.calls(argv, "tar", "gtar") and any(
        _result(line) for reading in console.readings(output) for line in printed.lines(reading)
    )


def operations(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the direction by the arguments: the text of other locales does not tell it."""
    at = next((index for index, word in enumerate(argv) if word.rpartition("/")[2] in ("tar", "gtar")), len(argv))
    words = argv[at + 1 :]
    letters = {
        letter
        for index, word in enumerate(words)
        if re.fullmatch(r"-?[A-Za-z]+" if index == 0 else r"-[A-Za-z]+", word)
        for letter in word
    }
    if letters & WRITES or {"--create", "--append", "--update"} & set(words):
        return ("write",)
    return ("read",) if letters & READS or {"--extract", "--get", "--list", "--diff"} & set(words) else ()


def _result(line: str) -> re.Match[str] | None:
    """Match a result; tar's other messages, such as checkpoints, begin with its name."""
    return None if line.startswith(("tar:", "/")) else TOTALS.fullmatch(line)


def _figures(text: str) -> Iterator[printed.Figure]:
    for line in printed.lines(text):
        if line.startswith(tuple(SIDES)) and not _result(line):
            raise ValueError(f"line {line[:80]!r}")  # an earlier total (--totals=SIGNAL) is not the final one
        if match := _result(line):
            rate = printed.number(match[4], printed.power(match[5] or ""))
            for side in SIDES.get(match[1], ("read", "write")):
                yield f"{side}.bytes", printed.exact(int(match[2]))
                yield f"{side}.bytes_per_s", printed.ParsedNumber(value=rate.value, half=2 * rate.half)


def trap(argv: Sequence[str]) -> str | None:
    """Return what GNU tar does with an archive that is /dev/null: it opens no file (tar 1.34, src/create.c, file_dumpable_p).

    It looks at the archive itself, so standard output that a shell sent there is the same.
    """
    goals = (after for word, after in pairwise(argv) if re.fullmatch(r"-?[A-Za-z]*f|--file", word))
    sent = any(word in (">", ">>") and after == "/dev/null" for word, after in pairwise(argv))
    nowhere = "/dev/null" in goals or (sent and "-" in argv) or not {"-f/dev/null", "--file=/dev/null"}.isdisjoint(argv)
    if not nowhere or operations(argv) != ("write",):
        return None
    return "GNU tar reads no file if the archive is /dev/null. Use a pipe: tar cf - DIR | cat > /dev/null"


PARSER = Parser(
    name="tar",
    programs=("tar", "gtar"),
    recognises=recognises,
    **printed.reads(_figures, EXPECTED, ends=TOTALS),
    operations=operations,
    trap=trap,
)
