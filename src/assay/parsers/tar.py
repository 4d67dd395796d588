"""GNU tar's --totals: bytes of the archive that it wrote or read, and their rate.

`MiB/s` is 2^20 bytes/s; digits are rounded up (tar 1.34, src/buffer.c: human_base_1024, and human_ceiling by default).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser
from assay.catalogue.printed import Printed, calls, exact, halves, lines, printed, values

EXPECTED = "tar's line of --totals, such as 'Total bytes written: 10240 (10KiB, 154MiB/s)'"
TOTALS = re.compile(r"([^:\d]{3,80}): (\d{1,18}) \([\d.,]{1,20}([KMGTPE]i)?B, ([\d.,]{1,20})(?:([KMGTPE])i)?B/s\)")
SIDES = {"Total bytes written": ("write",), "Total bytes read": ("read",)}
WRITES, READS = frozenset("cruA"), frozenset("xtd")


def recognises(argv: Sequence[str], output: str) -> bool:
    """Whether this is tar's."""
    return calls(argv, "tar", "gtar") and any(_result(line) for line in lines(output))


def operations(argv: Sequence[str]) -> tuple[str, ...]:
    """An archive is written or read; the words of other languages do not say which."""
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
    """tar's own notes, checkpoints among them, begin with its name."""
    return None if line.startswith(("tar:", "/")) else TOTALS.fullmatch(line)


def _told(text: str) -> Iterator[tuple[str, Printed]]:
    for line in lines(text):
        if line.startswith(tuple(SIDES)) and not _result(line):
            raise ValueError(f"line {line[:80]!r}")  # one before it is of what was done until then (--totals=SIGNAL)
        if match := _result(line):
            rate = printed(match[4], 1024.0 ** " KMGTPE".index(match[5] or " "))
            for side in SIDES.get(match[1], ("read", "write")):
                yield f"{side}.bytes", exact(int(match[2]))
                yield f"{side}.bytes_per_s", Printed(value=rate.value, half=2 * rate.half)


PARSER = Parser(
    name="tar",
    programs=("tar", "gtar"),
    recognises=recognises,
    parse=values(_told, EXPECTED),
    resolution=halves(_told, EXPECTED),
    operations=operations,
)
