"""Reads the text of a claim: tokens, figures, links, comparisons, and what is left over.

Clauses end at `,` `;` `.` `:` and brackets; order is free. A word without effect and a number without a unit are quoted back:
nothing is ignored silently. Every character that is no blank is in exactly one token.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from assay import units
from assay.published import printouts, statement, vocabulary
from assay.published.statement import LABEL_ROLES, ClaimComparison, Leftover, PrintedFigure, Statement, Wire
from assay.published.vocabulary import (
    ADJECTIVES,
    NOUNS,
    UNIT_PATTERNS,
    WORD,
    WORDS,
    Interval,
    PrintedNumber,
    QuantityKind,
    Sense,
    unit_size,
)


@dataclass(frozen=True, kw_only=True)
class Token:
    """A piece of the text: a figure, a link, a word with a role, or none of them and why."""

    start: int
    end: int
    text: str
    figure: PrintedFigure | None = None
    wire: Wire | None = None
    role: Sense | None = None
    reason: str | None = None


UNKNOWN = "unknown word"
_RANGE = re.compile(rf"({vocabulary.NUMBER})\s*(?:-|–|—|\.\.|to(?![A-Za-z0-9_]))\s*({vocabulary.NUMBER})", re.ASCII)
_DECIMAL_COMMA = re.compile(r"[0-9]+(?:[.,][0-9]+){1,99}", re.ASCII)
_LETTERS = re.compile(r"\s*([A-Za-zµμ/%]+)")
_GLUED = re.compile(r"(?:(?P<depth>QD|iodepth)=?|(?:bs|blocksize)=)(?=[0-9])", re.IGNORECASE)
_PARALLEL = re.compile(r"(?:-P ?|--parallel[ =])(?=[0-9])")
"""What iperf calls its streams."""
_PRINTED_BY_FIO = re.compile(
    r"(?P<key>IOPS|bs|blocksize)=(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>[kKmMgG]?)(?![A-Za-z0-9.])", re.ASCII
)
_RATE_OF_FIO = re.compile(r"BW=(?=[0-9])")
_ORDINAL = re.compile(r"[0-9.]{1,7}th(?:\s+percentile)?(?![A-Za-z0-9])", re.ASCII | re.IGNORECASE)
_REST = re.compile(r"[^\s,;:()]+|[,;:()]")
_BLANK = re.compile(r"\s+")


def scan(text: str) -> Iterator[Token]:
    """Yield the tokens of a claim, in order."""
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
    wire = statement.wire_at(text, start)
    return None if wire is None else Token(start=start, end=wire.end, text=text[start : wire.end], wire=wire)


def _clock(text: str, start: int) -> Token | None:
    match = vocabulary.CLOCK.match(text, start)
    if match is None or text[match.end() : match.end() + 1].isalnum():
        return None
    printed = vocabulary.clock(match[0])
    return None if printed is None else _figure(text, (start, match.end()), QuantityKind.TIME, (printed, printed), Fraction(1))


def _quantity(text: str, start: int) -> Token | None:
    """Return a number or a range, with the unit behind it; one whose unit has two meanings is refused, with what to write."""
    between = _RANGE.match(text, start)
    match = between or vocabulary.NUMBER_AT.match(text, start)
    if match is None:
        return None
    whole = _DECIMAL_COMMA.match(text, start)
    if between is None and whole is not None and whole.end() > match.end():
        return _refused(text, start, whole.end(), "a decimal point, and commas only between thousands, are expected")
    printed = tuple(vocabulary.number(part) for part in (match.groups() if between else (match[0], match[0])))
    low, high = printed
    if low is None or high is None:
        return _refused(text, start, match.end(), f"more than {vocabulary.MOST_DIGITS} digits")
    if low.value > high.value:
        return _refused(text, start, match.end(), "the lower end of a range is expected first")
    return _with_unit(text, start, match.end(), (low, high))


def _with_unit(text: str, start: int, end: int, ends: tuple[PrintedNumber, PrintedNumber]) -> Token:
    unit_at = end + len(text[end:]) - len(text[end:].lstrip())
    for kind, pattern in UNIT_PATTERNS.items():
        match = pattern.match(text, unit_at)
        if match is not None and not _splits_a_word(text, match.end()):
            size = unit_size(kind, match)
            parts = match.groupdict()
            adjectives = (parts.get("how") or parts.get("of") or "").split()
            roles = {NOUNS.get(parts.get("noun") or ""), *(ADJECTIVES[word] for word in adjectives)} - {None}
            token = _figure(text, (start, match.end()), kind, (ends[0].scaled(size), ends[1].scaled(size)), size)
            return (
                token
                if not roles or token.figure is None
                else replace(token, figure=replace(token.figure, roles=frozenset(role for role in roles if role is not None)))
            )
    letters = _LETTERS.match(text, end)
    meant = units.hint(letters[1]) if letters else None
    if letters is not None and meant is not None and letters[1].lower() not in WORDS:
        return _refused(text, start, max(letters.end(), _end_of_run(text, end)), f"for {letters[1]!r} write {meant}")
    if letters is not None and letters.start(1) == end and letters[1].lower() not in WORDS:
        return _refused(text, start, _end_of_run(text, end), f"{letters[1]!r} is an unknown unit")
    return _figure(text, (start, end), QuantityKind.NUMBER, ends, Fraction(1))


def _end_of_run(text: str, start: int) -> int:
    """Return where a run of letters and digits ends: of `1e9` no part is a figure."""
    match = _REST.match(text, start)
    return match.end() if match is not None else start


def _splits_a_word(text: str, end: int) -> bool:
    """Return whether a unit would end in the middle of a word: `s` of `sda`."""
    return text[end - 1].isalnum() and (text[end : end + 1].isalnum() or text[end : end + 1] == "_")


def _figure(
    text: str, span: tuple[int, int], kind: QuantityKind, ends: tuple[PrintedNumber, PrintedNumber], size: Fraction
) -> Token:
    low, high = ends
    printed = text[span[0] : span[1]]
    figure = PrintedFigure(
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


def _ordinal(text: str, start: int) -> Token | None:
    """`99th percentile`."""
    match = _ORDINAL.match(text, start)
    if match is None or " ".join(match[0].lower().split()) not in vocabulary.RANKS:
        return None
    return Token(start=start, end=match.end(), text=" ".join(match[0].split()), role=Sense.PERCENTILE)


def _glued(text: str, start: int) -> Token | None:
    """`QD32`, `bs=4k`, `-P 4`: a word and its number in one."""
    if parallel := _PARALLEL.match(text, start):
        return Token(start=start, end=parallel.end(), text=parallel[0], role=Sense.IN_FLIGHT)
    match = _GLUED.match(text, start)
    role = Sense.BLOCK if match is None or match["depth"] is None else Sense.DEPTH
    return None if match is None else Token(start=start, end=match.end(), text=match[0], role=role)


def _printed_by_fio(text: str, start: int) -> Token | None:
    """`IOPS=82.8k`, `bs=4k`, and `BW=` before a rate: fio counts operations in powers of 1,000, a block in powers of 1,024."""
    if rate := _RATE_OF_FIO.match(text, start):
        return Token(start=start, end=rate.end(), text=rate[0], role=Sense.PLAIN)
    match = _PRINTED_BY_FIO.match(text, start)
    number = vocabulary.number(match["number"]) if match is not None else None
    if match is None or number is None or (match["key"] != "IOPS" and not match["unit"]):
        return None
    is_rate = match["key"] == "IOPS"
    size = Fraction(1000 if is_rate else 1024) ** " kmg".index(match["unit"].lower() or " ")
    kind = QuantityKind.EVENTS if is_rate else QuantityKind.SIZE
    scaled = number.scaled(size) if is_rate else vocabulary.around(number.value * size, Fraction(0))
    return _figure(text, (start, match.end()), kind, (scaled, scaled), size)


def _printed_by_a_tool(text: str, start: int) -> Token | None:
    """`Failed requests: 3`, `bw=102400KB/s`: a label with its figure."""
    found = printouts.printout_at(text, start)
    if found is None:
        return None
    if found.kind is None:
        return Token(start=start, end=found.end, text=text[start : found.end], role=Sense.PLAIN)
    return _figure(text, (start, found.end), found.kind, (found.number, found.number), found.unit)


def _unknown(text: str, start: int) -> Token:
    end = max(start + 1, _end_of_run(text, start))
    return Token(start=start, end=end, text=text[start:end], reason=UNKNOWN)


_MATCHERS: tuple[Callable[[str, int], Token | None], ...] = (
    _printed_by_a_tool,
    _wire,
    _clock,
    _ordinal,
    _quantity,
    _printed_by_fio,
    _glued,
    _word,
    _unknown,
)


@dataclass(kw_only=True)
class Draft:
    """A claim while it is read: the figures by the place of their token, and which tokens something was done with."""

    tokens: tuple[Token, ...]
    figures: dict[int, PrintedFigure] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    comparisons: list[tuple[int, int, bool]] = field(default_factory=list)

    def role(self, place: int) -> Sense | None:
        """Return what the word at a place does; None where there is no word."""
        return self.tokens[place].role if 0 <= place < len(self.tokens) else None

    def word(self, place: int) -> str:
        """Return the token at a place in small letters; empty beyond the ends."""
        return self.tokens[place].text.lower() if 0 <= place < len(self.tokens) else ""

    def places(self, *roles: Sense) -> Iterator[int]:
        """Return where words with one of these roles stand."""
        return (place for place, token in enumerate(self.tokens) if token.role in roles)


def begin(tokens: tuple[Token, ...]) -> Draft:
    """Return the draft of these tokens; each figure knows its clause."""
    figures, clause = dict[int, PrintedFigure](), 0
    for place, token in enumerate(tokens):
        clause += token.role in (Sense.BREAK, Sense.AGAINST)
        if token.figure is not None:
            figures[place] = replace(token.figure, clause=clause)
    return Draft(tokens=tokens, figures=figures)


MOST_REQUEST_BYTES = 64 << 20
"""A larger amount beside `reads` is the data, not one request."""
USUAL_REQUEST_BYTES = 1 << 20
OF = ("of", "=", ":", "is")
WAYS = frozenset({*LABEL_ROLES, Sense.BOTH_WAYS})
COMPARED = frozenset(
    {
        QuantityKind.RATE,
        QuantityKind.EVENTS,
        QuantityKind.TIME,
        QuantityKind.LATENCY,
        QuantityKind.PERCENTILE,
        QuantityKind.AMOUNT,
        QuantityKind.SHARE,
        QuantityKind.NUMBER,
        QuantityKind.COUNT,
    }
)


def _limits(draft: Draft) -> None:
    """`under 20 MB/s`, `at least 5 s`, `~400 MB/s`."""
    for place in draft.places(Sense.UNDER, Sense.ABOVE, Sense.OVER, Sense.ABOUT):
        figure = draft.figures.get(place + 1)
        role = draft.role(place)
        if figure is None or role is None or (role is Sense.OVER and not _is_over_a_limit(draft, place, figure)):
            continue
        draft.figures[place + 1] = _limited(figure, role, draft.tokens[place])
        draft.used.add(place)


def _is_over_a_limit(draft: Draft, place: int, figure: PrintedFigure) -> bool:
    """Return whether `over` says more than, and not which way or how long."""
    begins = place == 0 or draft.role(place - 1) in (Sense.BREAK, Sense.AGAINST)
    return begins and figure.kind in (QuantityKind.RATE, QuantityKind.EVENTS, QuantityKind.SHARE, QuantityKind.NUMBER)


def _limited(figure: PrintedFigure, role: Sense, word: Token) -> PrintedFigure:
    gap = " " if word.text[-1].isalpha() or word.text[-1] == "." else ""
    where = replace(figure, text=f"{word.text}{gap}{figure.text}", start=word.start)
    if role is Sense.UNDER:
        return replace(where, limit=Sense.UNDER, interval=Interval(low=Fraction(0), high=figure.value))
    if role is Sense.ABOUT:
        number = vocabulary.NUMBER_AT.match(figure.text)
        step = PrintedNumber(value=figure.value, interval=figure.interval)
        rough = vocabulary.roughly(number[0], step) if number is not None and figure.ends is None else step
        return replace(where, interval=rough.interval)
    return replace(where, limit=Sense.ABOVE, interval=Interval(low=figure.value, high=None))


def _changes_and_ranges(draft: Draft) -> None:
    """`from A to B` is a change; `A - B` and `A to B` with units on both sides are a range."""
    for place in draft.places(Sense.TO):
        first, second = draft.figures.get(place - 1), draft.figures.get(place + 1)
        if first is None or second is None or first.kind is not second.kind:
            continue
        if draft.role(place - 2) is Sense.FROM:
            draft.comparisons.append((place - 1, place + 1, True))
            draft.used |= {place - 2, place}
        elif first.value <= second.value and first.ends is second.ends is None:
            draft.figures[place - 1] = replace(
                first,
                text=f"{first.text} {draft.tokens[place].text} {second.text}",
                end=second.end,
                interval=Interval(low=first.interval.low, high=second.interval.high),
                ends=(
                    PrintedNumber(value=first.value, interval=first.interval),
                    PrintedNumber(value=second.value, interval=second.interval),
                ),
            )
            del draft.figures[place + 1]
            draft.used.add(place)


def _changes_in_one_unit(draft: Draft) -> None:
    """`from 1 to 2 GB/s`: the ends of what looks like a range are the two figures of a change."""
    for place in draft.places(Sense.FROM):
        figure = draft.figures.get(place + 1)
        if figure is None or figure.ends is None:
            continue
        first, second = (
            replace(
                figure,
                value=end.value,
                interval=end.interval,
                ends=None,
                text=f"{end.value / figure.unit} {_unit(figure)}".strip(),
            )
            for end in figure.ends
        )
        draft.figures[place], draft.figures[place + 1] = first, second
        draft.comparisons.append((place, place + 1, True))
        draft.used.add(place)


def _unit(figure: PrintedFigure) -> str:
    """Return the printed unit of a range: what stands behind its last digit."""
    return figure.text.rpartition(next((c for c in reversed(figure.text) if c.isdigit()), ""))[2].strip()


def _memories(draft: Draft) -> None:
    """`12 GB RAM`, `12 GB of memory`, `RAM: 12 GB`."""
    for place in draft.places(Sense.MEMORY):
        before = place - 2 if draft.word(place - 1) == "of" else place - 1
        after = place + 2 if draft.word(place + 1) in OF else place + 1
        if _becomes(draft, (before, after), QuantityKind.AMOUNT, QuantityKind.MEMORY):
            draft.used.add(place)


def _becomes(draft: Draft, places: Sequence[int], was: QuantityKind, kind: QuantityKind) -> bool:
    """Give the first figure of a kind at these places another kind; return whether there is one."""
    for place in places:
        figure = draft.figures.get(place)
        if figure is not None and figure.kind is was:
            draft.figures[place] = (
                _exact(figure, kind) if kind in (QuantityKind.IN_FLIGHT, QuantityKind.PARTS) else replace(figure, kind=kind)
            )
            return True
    return False


def _data_sets(draft: Draft) -> None:
    """`16 GB file` says how much there is, `512 MB in 0.6 s` how much was moved; `200 GB volume` says neither."""
    for role, kind in ((Sense.DATA, QuantityKind.DATA), (Sense.DEVICE, QuantityKind.CAPACITY)):
        for place in draft.places(role):
            of = place + 2 if draft.word(place + 1) in OF else place + 1
            _becomes(draft, (place - 1, of), QuantityKind.AMOUNT, kind)


def _products(draft: Draft) -> None:
    """`4 KiB x 2,097,152` and `2 x 512 MB`: a size and how often."""
    for place in draft.places(Sense.TIMES):
        sides = {place - 1: draft.figures.get(place - 1), place + 1: draft.figures.get(place + 1)}
        kinds = {figure.kind: other for other, figure in sides.items() if figure is not None}
        count = kinds.get(QuantityKind.NUMBER, kinds.get(QuantityKind.COUNT))
        if count is not None and QuantityKind.AMOUNT in kinds:
            size = kinds[QuantityKind.AMOUNT]
            draft.figures[size] = _exact(draft.figures[size], QuantityKind.SIZE)
            draft.figures[count] = _exact(draft.figures[count], QuantityKind.COUNT)
            draft.used.add(place)


def _exact(figure: PrintedFigure, kind: QuantityKind) -> PrintedFigure:
    """Counts and sizes of requests are settings, not results: they are what is printed, where no word limits them."""
    as_printed = Interval(low=figure.value, high=figure.value)
    return replace(figure, kind=kind, interval=figure.interval if figure.limit or figure.ends else as_printed)


def _sizes(draft: Draft) -> None:
    """`4 KiB random reads`, `random 4 KiB`, `10,000 IOPS of 4 KiB`; so little alone is never all that was moved."""
    moved = {one.clause for one in draft.figures.values() if one.kind in (QuantityKind.TIME, QuantityKind.COUNT)}
    for place, figure in tuple(draft.figures.items()):
        if figure.kind is QuantityKind.AMOUNT and _is_counted_in(draft, place):
            draft.figures[place] = _exact(figure, QuantityKind.SIZE)
        if draft.figures[place].kind is not QuantityKind.AMOUNT or figure.value > MOST_REQUEST_BYTES:
            continue
        ordered = draft.role(place - 1) in (Sense.RANDOM, Sense.SEQUENTIAL)
        if ordered or (figure.value <= USUAL_REQUEST_BYTES and figure.clause not in moved):
            draft.figures[place] = _exact(figure, QuantityKind.SIZE)
            continue
        behind = draft.role(place + 1)
        of = place - 2 if draft.word(place - 1) in OF else place - 1
        plural = behind in (Sense.READ, Sense.WRITE) and draft.word(place + 1).endswith("s")
        events = draft.figures.get(place - 2 if draft.role(place - 1) in (Sense.PLAIN, Sense.TIMES) else place - 1)
        counted = events is not None and events.kind is QuantityKind.EVENTS
        if counted or plural or behind in (Sense.BLOCK, Sense.RANDOM, Sense.SEQUENTIAL) or draft.role(of) is Sense.BLOCK:
            draft.figures[place] = _exact(figure, QuantityKind.SIZE)


def _is_counted_in(draft: Draft, place: int) -> bool:
    """Return whether so many of this size are counted: `100,000 objects of 1 MB`."""
    counted = draft.figures.get(place - 2)
    return draft.word(place - 1) == "of" and counted is not None and counted.kind is QuantityKind.COUNT


SUMMED = (QuantityKind.RATE, QuantityKind.EVENTS)
COUNTED = (QuantityKind.IN_FLIGHT, QuantityKind.PARTS)


def _parts_and_totals(draft: Draft) -> None:
    """`4 threads, each 500 MB/s`, `50 MB/s per job`, `2 GB/s in total`."""
    shared = any(token.role is Sense.EACH_PART or token.text.lower() == "each" for token in draft.tokens)
    for place, token in enumerate(draft.tokens if shared else ()):
        if token.role is Sense.PART or token.text.lower() in ("disks", "ports"):
            _becomes(draft, (place - 1,), QuantityKind.NUMBER, QuantityKind.PARTS)
    for place in range(len(draft.tokens)):
        role = Sense.EACH if draft.word(place) == "each" else draft.role(place)
        if role not in (Sense.EACH, Sense.EACH_PART, Sense.TOTAL):
            continue
        near = [place - 1, *range(place + 1, _end_of_clause(draft, place))]
        at = next((one for one in near if one in draft.figures and draft.figures[one].kind not in COUNTED), None)
        if at is None or draft.figures[at].kind not in SUMMED:
            continue
        draft.figures[at] = replace(draft.figures[at], roles=draft.figures[at].roles | {role})
        draft.used |= {place, *(one for one in (at - 1,) if draft.role(one) is Sense.TIMES)}


def _multiplied_rates(draft: Draft) -> None:
    """`10 threads x 1000 requests/s`, `3 x 500 MB/s`: a rate of each of so many."""
    for place in draft.places(Sense.TIMES):
        rate, count = draft.figures.get(place + 1), draft.figures.get(place - 1)
        several = draft.role(place - 1) is Sense.IN_FLIGHT or (count is not None and count.kind is QuantityKind.NUMBER)
        if rate is None or rate.kind not in SUMMED or not several:
            continue
        if count is not None:
            draft.figures[place - 1] = _exact(count, QuantityKind.PARTS)
        draft.figures[place + 1] = replace(rate, roles=rate.roles | {Sense.EACH_PART if count is not None else Sense.EACH})
        draft.used.add(place)


def _end_of_clause(draft: Draft, place: int) -> int:
    """Return the place behind the last token of the clause."""
    ends = (one for one in range(place, len(draft.tokens)) if draft.role(one) in (Sense.BREAK, Sense.AGAINST))
    return next(ends, len(draft.tokens))


def _latencies_and_depths(draft: Draft) -> None:
    """`4 ms latency`, `p99 3 ms`, `32 threads`, `queue depth 32`."""
    for place in draft.places(Sense.LATENCY, Sense.ROUND_TRIP, Sense.PERCENTILE):
        _time_of_a_request(draft, place)
    for role, was, becomes in (
        (Sense.IN_FLIGHT, QuantityKind.NUMBER, QuantityKind.IN_FLIGHT),
        (Sense.DEPTH, QuantityKind.NUMBER, QuantityKind.IN_FLIGHT),
    ):
        for place in draft.places(role):
            of = place + 2 if draft.word(place + 1) in OF else place + 1
            known = {one for one in (place - 1, of) if one in draft.figures and draft.figures[one].kind is becomes}
            if _becomes(draft, (place - 1, of), was, becomes):
                draft.used.add(place)
                if role is Sense.DEPTH:
                    _depth(draft, [one for one in (place - 1, of) if one not in known])


def _time_of_a_request(draft: Draft, place: int) -> None:
    """Mark the time next to `latency`, `RTT` or the name of a percentile."""
    role = draft.role(place)
    kind = QuantityKind.PERCENTILE if role is Sense.PERCENTILE else QuantityKind.LATENCY
    near = (place - 1, place + 2 if draft.word(place + 1) in OF else place + 1)
    at = next((one for one in near if one in draft.figures and draft.figures[one].kind is QuantityKind.TIME), None)
    if at is None or role is None:
        if role is Sense.LATENCY and draft.role(place + 1) in (Sense.LATENCY, Sense.PERCENTILE):
            draft.used.add(place)  # `latency avg 2 ms`
        return
    figure = replace(draft.figures[at], kind=kind, rank=vocabulary.RANKS.get(draft.word(place).removesuffix(" latency")))
    draft.figures[at] = replace(figure, roles=figure.roles | {role}) if role is Sense.ROUND_TRIP else figure
    draft.used.add(place)


def _windows(draft: Draft) -> None:
    """`64 KiB window`, `window of 64 KiB`: what a connection may have on its way."""
    for place in draft.places(Sense.WINDOW):
        of = place + 2 if draft.word(place + 1) in OF else place + 1
        if _becomes(draft, (place - 1, of), QuantityKind.AMOUNT, QuantityKind.WINDOW):
            draft.used.add(place)


def _depth(draft: Draft, places: Sequence[int]) -> None:
    """Mark the number of requests that one client keeps in flight: threads may think between theirs."""
    for place in places:
        figure = draft.figures.get(place)
        if figure is not None and figure.kind is QuantityKind.IN_FLIGHT:
            draft.figures[place] = replace(figure, roles=figure.roles | {Sense.DEPTH})


def _failures(draft: Draft) -> None:
    """`12479 errors`, `errors: 12479`, `90 % lost`: what failed, and what did not arrive."""
    counts, share = (QuantityKind.NUMBER, QuantityKind.COUNT), QuantityKind.SHARE
    for place in draft.places(Sense.FAILED, Sense.LOSS):
        behind = place + 2 if draft.word(place + 1) in OF else place + 1
        for near in (place - 1, behind):
            figure = draft.figures.get(near)
            if figure is None or figure.kind not in (*counts, share):
                continue
            kind = QuantityKind.LOST if figure.kind is share else QuantityKind.FAILED
            role = frozenset({Sense.LOSS}) if draft.role(place) is Sense.LOSS else frozenset[Sense]()
            draft.figures[near] = replace(figure, kind=kind, roles=role)
            draft.used.add(place)
            break


def _sent_and_received(draft: Draft) -> None:
    """`10000 datagrams sent, 2000 received`."""
    for place in draft.places(Sense.SENT, Sense.RECEIVED):
        behind = place + 2 if draft.word(place + 1) in OF else place + 1
        for near in (place - 1, behind):
            figure, role = draft.figures.get(near), draft.role(place)
            if figure is not None and role is not None and figure.kind in (QuantityKind.NUMBER, QuantityKind.COUNT):
                draft.figures[near] = replace(_exact(figure, QuantityKind.COUNT), roles=frozenset({role}))
                draft.used.add(place)
                break


SET_LIMITS = {QuantityKind.EVENTS: QuantityKind.OPERATION_LIMIT, QuantityKind.RATE: QuantityKind.RATE_LIMIT}


def _set_limits(draft: Draft) -> None:
    """`limit 10,000 IOPS`, `3000 IOPS provisioned`: what somebody allows, and no result."""
    for place in draft.places(Sense.LIMIT):
        behind = place + 2 if draft.word(place + 1) in OF else place + 1
        for near in (behind, place - 1):
            figure = draft.figures.get(near)
            if figure is not None and figure.kind in SET_LIMITS:
                draft.figures[near] = replace(figure, kind=SET_LIMITS[figure.kind], limit=None)
                draft.used.add(place)
                break


def _against(draft: Draft) -> None:
    """`A against B`, with other words between; a bare number takes the unit of its partner. `0.52/0.6` is one too."""
    for place, token in enumerate(draft.tokens):
        if token.text == "/" and {draft.figures[p].kind for p in (place - 1, place + 1) if p in draft.figures} != {
            QuantityKind.NUMBER
        }:
            continue
        if token.text != "/" and token.role is not Sense.AGAINST:
            continue
        before = [other for other in sorted(draft.figures) if other < place and draft.figures[other].kind in COMPARED]
        behind = [other for other in sorted(draft.figures) if other > place and draft.figures[other].kind in COMPARED]
        found = [(a, b) for b in behind for a in reversed(before) if _comparable(draft.figures[a], draft.figures[b])]
        pair = next((one for one in found if not _is_same_work(draft, *one)), found[0] if found else None)
        if pair is not None:
            draft.comparisons.append((*pair, False))
            _share_unit(draft, *pair)
            draft.used.add(place)


def _is_same_work(draft: Draft, first: int, second: int) -> bool:
    """Return whether a pair is the work that two times have in common: `1008 entries in 2 s against 1008 entries in 8 s`."""
    one, other = draft.figures[first], draft.figures[second]
    return one.kind is other.kind and one.kind in (QuantityKind.COUNT, QuantityKind.AMOUNT) and one.value == other.value


def _comparable(first: PrintedFigure, second: PrintedFigure) -> bool:
    return first.kind is second.kind or QuantityKind.NUMBER in (first.kind, second.kind)


def _share_unit(draft: Draft, first: int, second: int) -> None:
    for one, other in ((first, second), (second, first)):
        bare, model = draft.figures[one], draft.figures[other]
        if bare.kind is QuantityKind.NUMBER and model.kind is not QuantityKind.NUMBER:
            text = f"{bare.text} {_unit(model)}"
            scaled = bare.interval.scaled(model.unit)
            draft.figures[one] = replace(
                bare, kind=model.kind, text=text, value=bare.value * model.unit, interval=scaled, unit=model.unit
            )


def _roles(draft: Draft) -> None:
    """Read, write, random, inside, ... belong to the rates of their clause."""
    clause, named = 0, dict[int, set[Sense]]()
    for token in draft.tokens:
        clause += token.role in (Sense.BREAK, Sense.AGAINST)
        if token.role in WAYS:
            named.setdefault(clause, set()).add(token.role)
    for place, figure in draft.figures.items():
        if figure.kind in (QuantityKind.RATE, QuantityKind.EVENTS):
            draft.figures[place] = replace(figure, roles=figure.roles | named.get(figure.clause, set()))


def _inside_and_out(draft: Draft) -> None:
    """Two rates of which one is that inside or outside are held against each other."""
    rates = [place for place in sorted(draft.figures) if draft.figures[place].kind is QuantityKind.RATE]
    sides = {Sense.INSIDE, Sense.OUTSIDE}
    if len(rates) == 2 and not draft.comparisons and any(draft.figures[place].roles & sides for place in rates):
        draft.comparisons.append((rates[0], rates[1], False))


PASSES: tuple[Callable[[Draft], None], ...] = (
    _limits,
    _changes_in_one_unit,
    _changes_and_ranges,
    _memories,
    _windows,
    _products,
    _data_sets,
    _latencies_and_depths,
    _parts_and_totals,
    _multiplied_rates,
    _failures,
    _sent_and_received,
    _set_limits,
    _sizes,
    _against,
    _roles,
    _inside_and_out,
)


LOOSE: dict[Sense, str] = {
    Sense.AGAINST: "no two comparable figures around it",
    Sense.UNDER: "no figure follows it",
    Sense.ABOVE: "no figure follows it",
    Sense.ABOUT: "no figure follows it",
    Sense.TIMES: "no two figures to multiply around it",
    Sense.MEMORY: "no amount next to it",
    Sense.LATENCY: "no time next to it",
    Sense.ROUND_TRIP: "no time next to it",
    Sense.PERCENTILE: "no time next to it",
    Sense.WINDOW: "no amount next to it",
    Sense.FAILED: "no number next to it",
    Sense.LOSS: "no number next to it",
    Sense.LIMIT: "no rate next to it",
}
"""Words that mean nothing where nothing was done with them, and why."""


def read(text: str) -> Statement:
    """Return what the claim says. Never fails: what is not understood is in `quoted`."""
    tokens = tuple(scan(text))
    draft = begin(tokens)
    for one in PASSES:
        one(draft)
    compared = tuple(
        ClaimComparison(first=draft.figures[first], second=draft.figures[second], is_change=changes)
        for first, second, changes in draft.comparisons
    )
    quoted = tuple(_quoted(draft))
    columns = {one.column for one in quoted}
    wires = tuple(token.wire for token in tokens if token.wire is not None)
    return Statement(
        text=text,
        figures=tuple(_kept((draft.figures[place] for place in sorted(draft.figures)), compared)),
        wires=wires,
        comparisons=compared,
        roles=frozenset(token.role for token in tokens if token.role is not None),
        quoted=quoted,
        assumed=tuple(dict.fromkeys((*(wire.assumed for wire in wires if wire.assumed is not None), *_taken_as_bits(draft)))),
        spans=tuple((token.start, token.end) for token in tokens if token.start + 1 not in columns),
    )


def _taken_as_bits(draft: Draft) -> Iterator[str]:
    """Yield what `Mbps` counts as, which some write for megabytes."""
    for figure in draft.figures.values():
        if figure.text.endswith("bps"):
            yield f"{figure.text!r} counts as bits; megabytes are MB/s"


def _kept(figures: Iterable[PrintedFigure], comparisons: tuple[ClaimComparison, ...]) -> Iterator[PrintedFigure]:
    """Return all but bare numbers that are compared with nothing."""
    compared = [figure for one in comparisons for figure in (one.first, one.second)]
    return (figure for figure in figures if figure.kind is not QuantityKind.NUMBER or figure in compared)


def _quoted(draft: Draft) -> Iterator[Leftover]:
    """Yield what was not understood, in the order of the text."""
    compared = {place for first, second, _ in draft.comparisons for place in (first, second)}
    for place, token in enumerate(draft.tokens):
        reason = token.reason or (_loose(draft, place) if place not in draft.used else None)
        figure = draft.figures.get(place)
        if figure is not None and figure.kind is QuantityKind.NUMBER and place not in compared:
            reason = "a number without a unit"
        if reason is not None:
            yield Leftover(text=token.text, column=token.start + 1, reason=reason)


def _loose(draft: Draft, place: int) -> str | None:
    """Return why a word that nothing was done with cannot be passed over; None where it can."""
    role = draft.role(place)
    if role is Sense.TO and not draft.word(place).isalpha():
        return "no two figures of one kind around it"
    return LOOSE.get(role) if role is not None else None
