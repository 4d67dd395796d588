"""dd: bytes copied, time and rate from its summary line, of GNU in any locale, BSD, macOS, busybox and toybox.

GNU: `kB`, `MB`, `GB` of the rate are powers of 1,000 (coreutils 9.1, src/dd.c, print_xfer_stats: human_SI without
human_base_1024); translations move the words, and some translate the units of time. busybox prints the line with powers of
1,024 (coreutils/dd.c and libbb/human_readable.c of 1.37), and so does toybox (lib/lib.c, human_readable). BSD and macOS print
whole bytes per second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from assay.catalogue import Parser, printed

EXPECTED = "dd's lines with records and with bytes copied (not with status=none or status=noxfer)"
RECORDS = re.compile(r"[^\d\n]{0,20}\d{1,20}\+\d{1,20}(?=\D)\D{1,80}")
WORD = r"[^\W\d_]{1,12}"
GNU = re.compile(
    rf"(?:{WORD}\s)?(\d{{1,25}})\s?\D.{{1,150}}?(?:, |[，、] ?)([\d.,e+-]{{1,40}}) ?{WORD}"
    rf"(?:, |[，、] ?)([\d.,]{{1,40}}) ?([kMGTPEZYRQ]?)B/{WORD}"
)
BUSYBOX = re.compile(r"(\d+) bytes \([^()]{1,24}\) copied, ([\d.,]+) seconds, ([\d.,]+)([KMGTPEZY]?)B/s")
TOYBOX = re.compile(r"(\d+) bytes? \([\d.,]+ ?[kMGTPE]?\) copied, ([\d.,]+) s, ([\d.,]+) ?([kMGTPE]?)/s")
BSD = re.compile(r"(\d+) bytes transferred in ([\d.,]+) secs? \((\d+)() bytes/sec\)")
RESULT = re.compile("|".join(f"(?:{form.pattern})" for form in (BSD, BUSYBOX, TOYBOX, GNU)))
FORMS = ((BSD, 1), (BUSYBOX, 1024), (TOYBOX, 1024), (GNU, 1000))
FAILED = re.compile(r"(?:\S{1,80}/)?dd: (?!.{0,200}iflag=fullblock).{1,300}: .{1,100}")
"""A call that ended with an error, which has its records and its rate all the same."""
NO_SOURCE = ("/dev/zero", "/dev/urandom", "/dev/random")
NOWHERE = ("/dev/null", "/dev/zero", "/dev/full")


def operations(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the measured direction by the arguments: dd's output does not tell it."""
    source, goal = printed.option(argv, "if"), printed.option(argv, "of")
    if goal is None or goal in NOWHERE:
        return ("read",)
    return ("write",) if source is None or source in NO_SOURCE else ()


def _figures(text: str) -> Iterator[printed.Figure]:
    """Yield the last result, without progress lines: one comes after each two record lines; several calls may be interleaved.

    Records without a result belong to a call of unknown rate and are refused.
    """
    last: list[printed.Figure] = []
    records, failed, after = 0, False, False
    for line in printed.lines(text):
        records += bool(RECORDS.fullmatch(line))
        failed = failed or bool(FAILED.fullmatch(line))
        match, base = next(((found, base) for pattern, base in FORMS if (found := pattern.fullmatch(line))), (None, 0))
        after = not match and (after or bool(line.strip()))
        if match and records:
            records -= min(records, 2)
            last = [*_copy_figures(match, base)]
            if failed:
                last += printed.both_sides(errors=printed.exact(1.0), attempts=printed.exact(1.0))
            failed = False
    if records and after:
        raise ValueError("line with bytes copied, after the records")
    yield from last


def _copy_figures(match: re.Match[str], base: int) -> Iterator[printed.Figure]:
    amount, seconds = printed.exact(int(match[1])), printed.number(match[2], printed.SECOND)
    rate = printed.number(match[3], printed.power(match[4], base))
    yield from printed.both_sides(bytes=amount, bytes_per_s=rate)
    if seconds.value:
        yield from printed.both_sides(elapsed_ns=seconds)


PARSER = Parser(
    name="dd",
    recognises=printed.prints(("dd",), RECORDS),
    **printed.reads(_figures, EXPECTED, ends=RESULT),
    operations=operations,
    tier=printed.of_device,
    direct="iflag=direct",
    flush="conv=fsync",
)
