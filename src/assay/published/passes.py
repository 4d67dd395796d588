"""What words do to the figures beside them, one pass a kind of phrase, in the order of `PASSES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from assay.published import digits
from assay.published.digits import Interval, Printed
from assay.published.draft import Draft
from assay.published.scan import Token
from assay.published.statement import TOLD, Figure
from assay.published.vocabulary import Kind, Role

MOST_REQUEST_BYTES = 64 << 20
"""A larger amount beside `reads` is the data, not one request."""
OF = ("of", "=", ":", "is")
WAYS = frozenset({*TOLD, Role.BOTH_WAYS})
COMPARED = frozenset({Kind.RATE, Kind.EVENTS, Kind.TIME, Kind.LATENCY, Kind.AMOUNT, Kind.SHARE, Kind.NUMBER, Kind.COUNT})


def _limits(draft: Draft) -> None:
    """`under 20 MB/s`, `at least 5 s`, `~400 MB/s`."""
    for place in draft.places(Role.UNDER, Role.ABOVE, Role.OVER, Role.ABOUT):
        figure = draft.figures.get(place + 1)
        role = draft.role(place)
        if figure is None or role is None or (role is Role.OVER and not _is_over_a_limit(draft, place, figure)):
            continue
        draft.figures[place + 1] = _limited(figure, role, draft.tokens[place])
        draft.used.add(place)


def _is_over_a_limit(draft: Draft, place: int, figure: Figure) -> bool:
    """Whether `over` says more than, and not which way or how long."""
    begins = place == 0 or draft.role(place - 1) in (Role.BREAK, Role.AGAINST)
    return begins and figure.kind in (Kind.RATE, Kind.EVENTS, Kind.SHARE, Kind.NUMBER)


def _limited(figure: Figure, role: Role, word: Token) -> Figure:
    text = f"{word.text} {figure.text}" if word.text[-1].isalpha() or word.text[-1] == "." else f"{word.text}{figure.text}"
    where = replace(figure, text=text, start=word.start)
    if role is Role.UNDER:
        return replace(where, limit=Role.UNDER, interval=Interval(low=Fraction(0), high=figure.value))
    if role is Role.ABOUT:
        number = digits.NUMBER_AT.match(figure.text)
        step = Printed(value=figure.value, interval=figure.interval)
        rough = digits.roughly(number[0], step) if number is not None and figure.ends is None else step
        return replace(where, interval=rough.interval)
    return replace(where, limit=Role.ABOVE, interval=Interval(low=figure.value, high=None))


def _changes_and_ranges(draft: Draft) -> None:
    """`from A to B` is a change; `A - B` and `A to B` with units on both sides are a range."""
    for place in draft.places(Role.TO):
        first, second = draft.figures.get(place - 1), draft.figures.get(place + 1)
        if first is None or second is None or first.kind is not second.kind:
            continue
        if draft.role(place - 2) is Role.FROM:
            draft.comparisons.append((place - 1, place + 1, True))
            draft.used |= {place - 2, place}
        elif first.value <= second.value and first.ends is second.ends is None:
            draft.figures[place - 1] = replace(
                first,
                text=f"{first.text} {draft.tokens[place].text} {second.text}",
                end=second.end,
                interval=Interval(low=first.interval.low, high=second.interval.high),
                ends=(Printed(value=first.value, interval=first.interval), Printed(value=second.value, interval=second.interval)),
            )
            del draft.figures[place + 1]
            draft.used.add(place)


def _changes_in_one_unit(draft: Draft) -> None:
    """`from 1 to 2 GB/s`: the ends of what looks like a range are the two figures of a change."""
    for place in draft.places(Role.FROM):
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


def _unit(figure: Figure) -> str:
    """The printed unit of a range: what stands behind its last digit."""
    return figure.text.rpartition(next((c for c in reversed(figure.text) if c.isdigit()), ""))[2].strip()


def _memories(draft: Draft) -> None:
    """`12 GB RAM`, `12 GB of memory`, `RAM: 12 GB`."""
    for place in draft.places(Role.MEMORY):
        before = place - 2 if draft.word(place - 1) == "of" else place - 1
        after = place + 2 if draft.word(place + 1) in OF else place + 1
        for other in (before, after):
            figure = draft.figures.get(other)
            if figure is not None and figure.kind is Kind.AMOUNT:
                draft.figures[other] = replace(figure, kind=Kind.MEMORY)
                draft.used.add(place)
                break


def _data_sets(draft: Draft) -> None:
    """`16 GB file` says how much there is, `512 MB in 0.6 s` how much was moved; `200 GB volume` says neither."""
    for role, kind in ((Role.DATA, Kind.DATA), (Role.DEVICE, Kind.CAPACITY)):
        for place in draft.places(role):
            of = place + 2 if draft.word(place + 1) in OF else place + 1
            for other in (place - 1, of):
                figure = draft.figures.get(other)
                if figure is not None and figure.kind is Kind.AMOUNT:
                    draft.figures[other] = replace(figure, kind=kind)
                    break


def _products(draft: Draft) -> None:
    """`4 KiB x 2,097,152` and `2 x 512 MB`: a size and how often."""
    for place in draft.places(Role.TIMES):
        sides = {place - 1: draft.figures.get(place - 1), place + 1: draft.figures.get(place + 1)}
        kinds = {figure.kind: other for other, figure in sides.items() if figure is not None}
        count = kinds.get(Kind.NUMBER, kinds.get(Kind.COUNT))
        if count is not None and Kind.AMOUNT in kinds:
            size = kinds[Kind.AMOUNT]
            draft.figures[size] = _exact(draft.figures[size], Kind.SIZE)
            draft.figures[count] = _exact(draft.figures[count], Kind.COUNT)
            draft.used.add(place)


def _exact(figure: Figure, kind: Kind) -> Figure:
    """Counts and sizes of requests are settings, not results: they are what is printed, where no word limits them."""
    as_printed = Interval(low=figure.value, high=figure.value)
    return replace(figure, kind=kind, interval=figure.interval if figure.limit or figure.ends else as_printed)


def _sizes(draft: Draft) -> None:
    """`4 KiB records`, `4 KiB random reads`, `record size 4 KiB`, `10,000 IOPS of 4 KiB`."""
    for place, figure in tuple(draft.figures.items()):
        if figure.kind is not Kind.AMOUNT or figure.value > MOST_REQUEST_BYTES:
            continue
        behind = draft.role(place + 1)
        of = place - 2 if draft.word(place - 1) in OF else place - 1
        plural = behind in (Role.READ, Role.WRITE) and draft.word(place + 1).endswith("s")
        events = draft.figures.get(place - 2 if draft.role(place - 1) in (Role.PLAIN, Role.TIMES) else place - 1)
        counted = events is not None and events.kind is Kind.EVENTS
        if counted or plural or behind in (Role.BLOCK, Role.RANDOM, Role.SEQUENTIAL) or draft.role(of) is Role.BLOCK:
            draft.figures[place] = _exact(figure, Kind.SIZE)


def _latencies_and_depths(draft: Draft) -> None:
    """`4 ms latency`, `32 threads`, `queue depth 32`."""
    for role, was, becomes in ((Role.LATENCY, Kind.TIME, Kind.LATENCY), (Role.IN_FLIGHT, Kind.NUMBER, Kind.IN_FLIGHT)):
        for place in draft.places(role):
            of = place + 2 if draft.word(place + 1) in OF else place + 1
            for other in (place - 1, of):
                figure = draft.figures.get(other)
                if figure is not None and figure.kind is was:
                    draft.figures[other] = _exact(figure, becomes) if becomes is Kind.IN_FLIGHT else replace(figure, kind=becomes)
                    draft.used.add(place)
                    break


def _against(draft: Draft) -> None:
    """`A against B`, with other words between; a bare number takes the unit of its partner. `0.52/0.6` is one too."""
    for place, token in enumerate(draft.tokens):
        if token.text == "/" and {draft.figures[p].kind for p in (place - 1, place + 1) if p in draft.figures} != {Kind.NUMBER}:
            continue
        if token.text != "/" and token.role is not Role.AGAINST:
            continue
        before = [other for other in sorted(draft.figures) if other < place and draft.figures[other].kind in COMPARED]
        behind = [other for other in sorted(draft.figures) if other > place and draft.figures[other].kind in COMPARED]
        pair = next(((a, b) for b in behind for a in reversed(before) if _comparable(draft.figures[a], draft.figures[b])), None)
        if pair is not None:
            draft.comparisons.append((*pair, False))
            _share_unit(draft, *pair)
            draft.used.add(place)


def _comparable(first: Figure, second: Figure) -> bool:
    return first.kind is second.kind or Kind.NUMBER in (first.kind, second.kind)


def _share_unit(draft: Draft, first: int, second: int) -> None:
    for one, other in ((first, second), (second, first)):
        bare, model = draft.figures[one], draft.figures[other]
        if bare.kind is Kind.NUMBER and model.kind is not Kind.NUMBER:
            text = f"{bare.text} {_unit(model)}"
            scaled = bare.interval.scaled(model.unit)
            draft.figures[one] = replace(
                bare, kind=model.kind, text=text, value=bare.value * model.unit, interval=scaled, unit=model.unit
            )


def _roles(draft: Draft) -> None:
    """Read, write, random, inside, ... belong to the rates of their clause."""
    clause, said = 0, dict[int, set[Role]]()
    for token in draft.tokens:
        clause += token.role in (Role.BREAK, Role.AGAINST)
        if token.role in WAYS:
            said.setdefault(clause, set()).add(token.role)
    for place, figure in draft.figures.items():
        if figure.kind in (Kind.RATE, Kind.EVENTS):
            draft.figures[place] = replace(figure, roles=figure.roles | said.get(figure.clause, set()))


def _inside_and_out(draft: Draft) -> None:
    """Two rates of which one is that inside or outside are held against each other."""
    rates = [place for place in sorted(draft.figures) if draft.figures[place].kind is Kind.RATE]
    sides = {Role.INSIDE, Role.OUTSIDE}
    if len(rates) == 2 and not draft.comparisons and any(draft.figures[place].roles & sides for place in rates):
        draft.comparisons.append((rates[0], rates[1], False))


PASSES: tuple[Callable[[Draft], None], ...] = (
    _limits,
    _changes_in_one_unit,
    _changes_and_ranges,
    _memories,
    _products,
    _data_sets,
    _sizes,
    _latencies_and_depths,
    _against,
    _roles,
    _inside_and_out,
)
