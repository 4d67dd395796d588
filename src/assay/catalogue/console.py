"""Text as files and terminals hold it: encodings, escapes, line ends, and what a log puts before each line.

A result comes from a file, a terminal, a container's log or a job's log. `decoded` turns bytes into text, `readings` gives the
text as a tool printed it, and once more without the times and names that a log put before each line.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Iterator
from functools import lru_cache

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""The longer marks first: that of UTF-16 begins that of UTF-32."""
LOOKED_AT_BYTES = 4096
GZIP = b"\x1f\x8b\x08"
MOST_UNPACKED = 1 << 26
LOGGED = b'{"log":"'
"""How a file begins in which Docker keeps what a container printed (json-file)."""
ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B]|[=>78cDEHM])")
"""Control sequences of ECMA-48, titles of xterm, and the character sets of VT100."""
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_DATE = rf"\d{{4}}([-/])\d\d\1\d\d[T ]{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?"
_UNIT = r"[\w.-]+ [\w./@-]+\[\d+\]:(?: |$)"
_LEVEL = "(?:TRACE|DEBUG|INFO|NOTICE|WARNING|WARN|ERROR)"
PREFIXES = tuple(
    re.compile(form)
    for form in (
        rf"\[?{_DATE}\]?(?: \d\d[OE])?(?: \[\d{{1,9}}\])?(?: |$)",  # kubectl, docker, GitHub, Jenkins, GitLab, rsync
        rf"{_MONTH} [ \d]\d {_CLOCK} {_UNIT}",  # journald, syslog
        _UNIT,  # journald -o short-iso, behind the time
        rf"(?:- )?(?:\[{_LEVEL}\]|{_LEVEL}(?::\w{{1,40}}:|:| -)?)(?: |$)",  # a program's log, also behind the time
        rf"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?{_MONTH} [ \d]\d {_CLOCK}(?: \d{{4}})?(?: |$)",  # ts, iperf3 --timestamps
        rf"\[?{_CLOCK}\]?(?: |$)",  # ts -s, ts -i
        r"[\w./-]{1,64} {0,40}\| ?",  # docker compose logs
        r"\[pod/[\w./-]{1,200}\](?: |$)",  # kubectl logs --prefix
        r"(?:stdout|stderr) [FP](?: |$)",  # the log files of a container runtime, behind the time
        r"[^\t]{1,100}\t[^\t]{1,100}\t(?=\ufeff?\d{4}-)",  # gh run view --log: job and step, before the time
        r"\[\d+,\d+\]<(?:stdout|stderr)>:",  # mpirun --tag-output
        r" {0,5}\d{1,6}\t",  # cat -n
        r"(?:> ?)+",  # an answer to a mail
    )
)
"""What a log or a page puts before each line of a program."""
HOST = re.compile(r"[\w.-]{1,64}: +|[\w.-]{1,64}:\t")
"""What pdsh and its like put before each line: a host, the same for all lines."""
MOST_LAYERS = 4
"""A quotation, a name, a time and a stream: nobody puts more before a line."""
QUOTED = re.compile(r"=3D|=20$|^.{60,75}[^=]=$", re.MULTILINE)
"""What a mail in quoted-printable has for an equals sign, for a space at a line's end, and at the end of a line that goes on."""
BARE = re.compile(r"=(?![0-9A-F]{2}|\s*$)", re.MULTILINE)
"""An equals sign that such a mail has not: each of its own begins two digits of base 16, or ends a line."""
EQUALS = "=3D"
"""The sign of such a mail that no tool prints: what has it is read as a mail only."""
MARK = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,2}[.)]) |^ *(?:\*\*|`)+|(?:\*\*|`)*[ \t]*$", re.MULTILINE)
REMARK = re.compile(r"\s+(?:#|//|<-|←).*$", re.MULTILINE)
"""What people put around a line of a result in a note: a place in a list, stress; and a remark behind it."""
INDENT = " \t"
FEWEST_LINES = 1


def decoded(data: bytes) -> str:
    """Return the text of bytes by their byte-order mark; UTF-16 without one by its zero bytes; else UTF-8.

    What no encoding explains becomes U+FFFD. What gzip packed is unpacked, up to 64 MiB of it.
    """
    if data.startswith(GZIP):
        data = unpacked(data)
    if data.startswith(LOGGED):
        return logged(data)
    for mark, encoding in BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    head = data[:LOOKED_AT_BYTES]
    for start, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = head[start::2], head[1 - start :: 2]
        if len(head) > 1 and not zeros.strip(b"\0") and b"\0" not in others:
            return data.decode(encoding, "replace")
    return data.decode("utf-8", "replace")


def logged(data: bytes) -> str:
    """Return what a container printed, of the lines that Docker keeps of it; the text itself where they are no such."""
    import json

    text = data.decode("utf-8", "replace")
    try:
        return "".join(json.loads(row)["log"] for row in text.split("\n") if row.strip())
    except (ValueError, TypeError, KeyError):
        return text


def unpacked(data: bytes) -> bytes:
    """Return what gzip packed, as far as it is whole; the bytes themselves where they are no such."""
    import zlib

    with contextlib.suppress(zlib.error):
        return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, MOST_UNPACKED)
    return data


@lru_cache(maxsize=4)
def plain(text: str) -> str:
    """Return the text without byte-order mark and escape sequences, and with LF as its line ends."""
    found = text.removeprefix("\ufeff")
    if "\x1b" in found:
        found = ESCAPE.sub("", found)
    return found.replace("\r\n", "\n") if "\r\n" in found else found


def readings(text: str) -> Iterator[str]:
    """Yield the plain text, then the text without what a mail or a log made of its lines, where there is such."""
    found = plain(text)
    is_mail = QUOTED.search(found) is not None and BARE.search(found) is None
    if not is_mail or EQUALS not in found:
        yield found
    if is_mail:
        import quopri

        found = quopri.decodestring(found.encode()).decode("utf-8", "replace")
        yield found
    for _ in range(MOST_LAYERS):
        bare = without_prefix(found)
        if bare is None:
            return
        found = bare
        yield found


def notes(text: str) -> Iterator[str]:
    """Yield the barest text without what people put around its lines, for a text that is no result as it stands."""
    *_, barest = readings(text)
    yield (found := MARK.sub("", barest))
    yield MARK.sub("", REMARK.sub("", found))


def by_host(text: str) -> dict[str, str]:
    """Return what each of several hosts printed, where every line begins with one; nothing where not."""
    for reading in (*readings(text), *notes(text)):
        rows = [row for row in reading.split("\n") if row.strip()]
        found: dict[str, list[str]] = {}
        for match in (match for row in rows if (match := HOST.match(row))):
            found.setdefault(match[0].rstrip(": \t"), []).append(match.string[match.end() :])
        if len(found) > 1 and sum(map(len, found.values())) == len(rows):
            return {host: "\n".join(mine) for host, mine in found.items()}
    return {}


@lru_cache(maxsize=8)
def without_prefix(text: str) -> str | None:
    """Return the text without a prefix that each line with a word has; None where there is none."""
    rows = text.split("\n")
    words = [row for row in rows if row.strip()]
    if len(words) < FEWEST_LINES:
        return None
    first, last = min(words), max(words)
    common = first[: next((at for at, (one, other) in enumerate(zip(first, last, strict=False)) if one != other), len(first))]
    if (indent := common[: len(common) - len(common.lstrip(INDENT))]) or (len(words) > 1 and (indent := host_of(common))):
        return "\n".join(row.removeprefix(indent) for row in rows)
    for form in PREFIXES:
        if all(form.match(row) for row in words):
            return "\n".join(form.sub("", row, count=1) for row in rows)
    return None


def host_of(common: str) -> str:
    """Return the host that all lines begin with, as a tool that runs a command on hosts puts it there; empty without one."""
    return match[0] if (match := HOST.match(common)) else ""
