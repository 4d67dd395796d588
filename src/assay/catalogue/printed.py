"""Numbers as external tools print them: a value and half a unit of its last digit, and how a parser is made of them.

A parser's own function only yields `(OPERATION.FIGURE, Printed)` pairs in base units. `values` and `halves` make `Parser.parse`
and `Parser.resolution` of it, which hold the law of all parsers: figures that are finite and not negative, or EvidenceError.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from assay.errors import EvidenceError
from assay.frozen import dataclass

LONGEST = 1 << 20
"""Characters of text output that are looked at, from its end: summaries come last and are much smaller."""
LONGEST_LINE = 4096
"""Characters of the longest line that is looked at; regular expressions see single lines only, so they cannot run away."""
LONGEST_NUMBER = 40
"""Characters of the longest number that a tool prints."""
SECOND = 1e9
KIB, MIB = 2**10, 2**20
_NUMBER = re.compile(r"\d+(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?", re.ASCII)
_WORD_ENDS = re.compile(r"[\s;|&()]+")
_REMOTE = re.compile(r"(?:[\w.-]{1,64}@)?(?:[\w.-]{1,255}|\[[0-9A-Fa-f:.]{2,40}\])::?[^:]{0,4096}|rsync://.{1,4096}", re.DOTALL)
_CLOCK = r"(\d{1,9}(?::\d\d){0,2}[.,]?\d{0,9})"
_REAL = re.compile(
    r"real\s+(\d{1,9}m\d{1,2}[.,]\d{1,9})s"
    r"|real\s+(\d{1,12}[.,]\d{1,9})"
    rf"|[\d.]{{1,20}}user [\d.]{{1,20}}system {_CLOCK}elapsed .{{1,200}}"
    rf"|\s*Elapsed \(wall clock\) time \(h:mm:ss or m:ss\): {_CLOCK}"
)
_STRANGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A number in base units, and half a unit of its last digit in the same unit."""

    value: float
    half: float

    def times(self, size: float) -> Printed:
        """The same in a unit that is so much smaller."""
        return Printed(value=self.value * size, half=self.half * size)


Tell = Callable[[str], Iterable[tuple[str, Printed]]]
"""Text in, figures out; of two figures with one name the later counts. May raise what `_STRANGE` names."""


def printed(text: str, size: float = 1) -> Printed:
    """The number that the text is, times the unit's size in base units. Raises ValueError where it is none.

    `0.0731825` is known to half of 1e-7. A comma is a decimal point, as some locales print it. Nothing measured has a sign.
    """
    match = _NUMBER.fullmatch(text.strip().replace(",", ".")) if len(text) <= LONGEST_NUMBER else None
    if match is None:
        raise ValueError(f"{text[:LONGEST_NUMBER]!r} as a number")
    half = 0.5 * 10.0 ** (int(match[2] or 0) - len(match[1] or ""))
    return Printed(value=float(match[0]), half=half).times(size)


def exact(value: float) -> Printed:
    """A number that is known to its last digit, such as a count."""
    return Printed(value=float(value), half=0.0)


def total(parts: Iterable[Printed]) -> Printed:
    """The sum; what the digits leave open adds up."""
    held = tuple(parts)
    return Printed(value=math.fsum(part.value for part in held), half=math.fsum(part.half for part in held))


def together(parts: Iterable[tuple[float, Printed]]) -> Printed:
    """One rate of several parts done after each other, each an amount and its rate: all amounts over all times."""
    held = tuple(parts)
    if len(held) == 1:
        return held[0][1]
    amount = math.fsum(part for part, _ in held)
    seconds = math.fsum(part / rate.value for part, rate in held)
    slack = max(rate.half / rate.value for _, rate in held)
    return Printed(value=amount / seconds, half=amount / seconds * slack)


def lines(text: str) -> list[str]:
    """The whole lines; one without its end was cut off and is left out. A carriage return begins a new one, as on a terminal."""
    *whole, _ = re.split(r"[\r\n]", text)
    return [line for line in whole if len(line) <= LONGEST_LINE]


def last_run(rows: Sequence[str], begins: re.Pattern[str]) -> int:
    """Where the last of several runs in one output begins, by the line that begins each; 0 where no such line was kept."""
    return next((index for index in reversed(range(len(rows))) if begins.fullmatch(rows[index])), 0)


def damaged(rows: Sequence[str], index: int) -> ValueError:
    """To be raised where a line should be part of a result and is none: which one, and what it says."""
    return ValueError(f"line {index + 1}, {rows[index].strip()[:80]!r}")


def real_time(rows: Iterable[str]) -> Printed | None:
    """The last elapsed time that `time` printed, a shell's or GNU time's, also with -p and -v. None where there is none, or 0.

    The forms: bash.1 (TIMEFORMAT), POSIX `time -p`, and time.1 of GNU time 1.9 (default format, -v).
    """
    found = [match for row in rows if (match := _REAL.fullmatch(row))]
    if not found:
        return None
    *larger, seconds = next(text for text in found[-1].groups() if text).replace("m", ":").split(":")
    told = printed(seconds, SECOND)
    whole = sum(int(part) * 60.0 ** (power + 1) for power, part in enumerate(reversed(larger)))
    return Printed(value=told.value + whole * SECOND, half=told.half) if told.value + whole else None


def copied(argv: Sequence[str]) -> tuple[str, ...]:
    """What a copy does on this host: `read` where the goal is remote (`host:path`), `write` where a source is; else empty."""
    words = [word for word in argv if not word.startswith("-")]
    if words and _REMOTE.fullmatch(words[-1]):
        return ("read",)
    return ("write",) if any(_REMOTE.fullmatch(word) for word in words[:-1]) else ()


def values(tell: Tell, expected: str) -> Callable[[str], Mapping[str, float]]:
    """`Parser.parse` of it; `expected` says in words what the output should hold."""
    return lambda text: {key: number.value for key, number in _told(tell, expected, text).items()}


def halves(tell: Tell, expected: str) -> Callable[[str], Mapping[str, float]]:
    """`Parser.resolution` of it."""
    return lambda text: {key: number.half for key, number in _told(tell, expected, text).items()}


def _told(tell: Tell, expected: str, text: str) -> Mapping[str, Printed]:
    try:
        found = dict(tell(text[-LONGEST:]))
    except _STRANGE as error:
        raise EvidenceError(f"found a strange or missing {error} in the output; expected {expected}") from error
    if not found:
        raise EvidenceError(f"found {len(text)} characters of output without a whole result; expected {expected}")
    for key, number in found.items():
        if not (math.isfinite(number.value) and math.isfinite(number.half) and number.value >= 0):
            raise EvidenceError(f"found {number.value} as {key}; expected {expected}")
    return found


def calls(argv: Sequence[str], *names: str) -> bool:
    """Whether one of these programs is among the words, also behind `sudo`, `mpirun` or in a shell's line."""
    return any(word.rpartition("/")[2] in names for argument in argv for word in _WORD_ENDS.split(argument[:LONGEST]))


def option(argv: Sequence[str], *names: str) -> str | None:
    """The value of the last of these options (`--output=F`, `--output F`, `-o F`); None where it is not given."""
    found = None
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in names:
            found = value if equals else (argv[index + 1] if index + 1 < len(argv) else None)
    return found


def file_option(tool: str, *names: str) -> Callable[[Sequence[str]], str | None]:
    """`Parser.result_file` of a tool that is given the file by one of these options."""
    return lambda argv: option(argv, *names) if calls(argv, tool) else None
