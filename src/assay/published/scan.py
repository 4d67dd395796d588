"""From the text of a claim to its tokens: figures with units, links, known words, and what is neither.

Every character that is no blank is in exactly one token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from assay import units
from assay.published import digits, wires
from assay.published.digits import Interval, Printed
from assay.published.statement import Figure
from assay.published.vocabulary import NOUNS, UNIT_PATTERNS, WORD, WORDS, Kind, Role, unit_size
from assay.published.wires import Wire


@dataclass(frozen=True, kw_only=True)
class Token:
    """A piece of the text: a figure, a link, a word with a role, or none of them and why."""

    start: int
    end: int
    text: str
    figure: Figure | None = None
    wire: Wire | None = None
    role: Role | None = None
    reason: str | None = None


UNKNOWN = "no word that this grammar has"
_NUMBER = re.compile(digits.NUMBER, re.ASCII)
_RANGE = re.compile(rf"({digits.NUMBER})\s*(?:-|–|—|\.\.|to(?![A-Za-z0-9_]))\s*({digits.NUMBER})", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[0-9]+(?:[.,][0-9]+){1,99}", re.ASCII)
_LETTERS = re.compile(r"\s*([A-Za-zµμ/%]+)")
_REST = re.compile(r"[^\s,;:()]+|[,;:()]")
_BLANK = re.compile(r"\s+")


def scan(text: str) -> tuple[Token, ...]:
    """The tokens of a claim, in order."""
    return tuple(_tokens(text))


def _tokens(text: str) -> Iterator[Token]:
    start = 0
    while start < len(text):
        blank = _BLANK.match(text, start)
        if blank is not None:
            start = blank.end()
            continue
        token = next(found for matcher in _MATCHERS if (found := matcher(text, start)) is not None)
        yield token
        start = token.end


def _wire(text: str, start: int) -> Token | None:
    wire = wires.at(text, start)
    return None if wire is None else Token(start=start, end=wire.end, text=text[start : wire.end], wire=wire)


def _clock(text: str, start: int) -> Token | None:
    match = digits.CLOCK.match(text, start)
    if match is None or text[match.end() : match.end() + 1].isalnum():
        return None
    printed = digits.clock(match[0])
    return None if printed is None else _figure(text, (start, match.end()), Kind.TIME, (printed, printed), Fraction(1))


def _quantity(text: str, start: int) -> Token | None:
    """A number or a range, with the unit behind it; one whose unit has two meanings is refused, with what to write."""
    between = _RANGE.match(text, start)
    match = between or _NUMBER.match(text, start)
    if match is None:
        return None
    whole = _DECIMAL_COMMA.match(text, start)
    if between is None and whole is not None and whole.end() > match.end():
        return _refused(text, start, whole.end(), "a decimal point, and commas only between thousands, are expected")
    printed = tuple(digits.number(part) for part in (match.groups() if between else (match[0], match[0])))
    low, high = printed
    if low is None or high is None:
        return _refused(text, start, match.end(), f"a number of at most {digits.MOST_DIGITS} digits is expected")
    if low.value > high.value:
        return _refused(text, start, match.end(), "the lower end of a range is expected first")
    return _with_unit(text, start, match.end(), (low, high))


def _with_unit(text: str, start: int, end: int, ends: tuple[Printed, Printed]) -> Token:
    unit_at = end + len(text[end:]) - len(text[end:].lstrip())
    for kind, pattern in UNIT_PATTERNS.items():
        match = pattern.match(text, unit_at)
        if match is not None and not _splits_a_word(text, match.end()):
            size = unit_size(kind, match)
            noun = NOUNS.get(match.groupdict().get("noun") or "")
            token = _figure(text, (start, match.end()), kind, (ends[0].scaled(size), ends[1].scaled(size)), size)
            return (
                token
                if noun is None or token.figure is None
                else replace(token, figure=replace(token.figure, roles=frozenset({noun})))
            )
    letters = _LETTERS.match(text, end)
    meant = units.hint(letters[1]) if letters else None
    if letters is not None and meant is not None and letters[1].lower() not in WORDS:
        return _refused(text, start, letters.end(), f"for {letters[1]!r} write {meant}")
    if letters is not None and letters.start(1) == end and letters[1].lower() not in WORDS:
        return _refused(text, start, _end_of_run(text, end), f"{letters[1]!r} is no unit that this grammar has")
    return _figure(text, (start, end), Kind.NUMBER, ends, Fraction(1))


def _end_of_run(text: str, start: int) -> int:
    """Where a run of letters and digits ends: of `1e9` no part is a figure."""
    match = _REST.match(text, start)
    return match.end() if match is not None else start


def _splits_a_word(text: str, end: int) -> bool:
    """Whether a unit would end in the middle of a word: `s` of `sda`."""
    return text[end - 1].isalnum() and (text[end : end + 1].isalnum() or text[end : end + 1] == "_")


def _figure(text: str, span: tuple[int, int], kind: Kind, ends: tuple[Printed, Printed], size: Fraction) -> Token:
    low, high = ends
    printed = text[span[0] : span[1]]
    figure = Figure(
        kind=kind,
        text=printed,
        start=span[0],
        end=span[1],
        value=low.value,
        interval=Interval(low=low.interval.low, high=high.interval.high),
        unit=size,
        ends=ends if low != high else None,
    )
    return Token(start=span[0], end=span[1], text=printed, figure=figure)


def _refused(text: str, start: int, end: int, reason: str) -> Token:
    return Token(start=start, end=end, text=text[start:end], reason=reason)


def _word(text: str, start: int) -> Token | None:
    match = WORD.match(text, start)
    if match is None or not match[0]:
        return None
    role = WORDS.get(" ".join(match[0].lower().split()))
    return Token(start=start, end=match.end(), text=match[0], role=role)


def _unknown(text: str, start: int) -> Token:
    match = _REST.match(text, start)
    end = match.end() if match is not None else start + 1
    return Token(start=start, end=end, text=text[start:end], reason=UNKNOWN)


_MATCHERS: tuple[Callable[[str, int], Token | None], ...] = (_wire, _clock, _quantity, _word, _unknown)
