"""From the text of a claim to what it says: figures, links, comparisons, and what is left over.

Clauses end at `,` `;` `.` `:` and brackets; order is free. A word that nothing was done with, and a number without a unit,
are quoted back: nothing is ignored silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from assay.published.draft import Draft, begin
from assay.published.passes import PASSES
from assay.published.scan import scan
from assay.published.statement import Comparison, Figure, Quoted, Statement
from assay.published.vocabulary import Kind, Role

LOOSE: dict[Role, str] = {
    Role.AGAINST: "nothing stands on both sides that could be compared",
    Role.UNDER: "no figure stands behind it",
    Role.ABOVE: "no figure stands behind it",
    Role.ABOUT: "no figure stands behind it",
    Role.TIMES: "nothing stands on both sides that could be multiplied",
    Role.MEMORY: "no amount stands beside it",
    Role.LATENCY: "no time stands beside it",
}
"""Words that mean nothing where nothing was done with them, and why."""


def read(text: str) -> Statement:
    """What the claim says. Never fails: what is not understood is in `quoted`."""
    tokens = scan(text)
    draft = begin(tokens)
    for one in PASSES:
        one(draft)
    compared = tuple(
        Comparison(first=draft.figures[first], second=draft.figures[second], is_change=changes)
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
        assumed=tuple(dict.fromkeys(wire.assumed for wire in wires if wire.assumed is not None)),
        spans=tuple((token.start, token.end) for token in tokens if token.start + 1 not in columns),
    )


def _kept(figures: Iterable[Figure], comparisons: tuple[Comparison, ...]) -> Iterator[Figure]:
    """All but bare numbers that are compared with nothing."""
    compared = [figure for one in comparisons for figure in (one.first, one.second)]
    return (figure for figure in figures if figure.kind is not Kind.NUMBER or figure in compared)


def _quoted(draft: Draft) -> Iterator[Quoted]:
    """What was not understood, in the order of the text."""
    compared = {place for first, second, _ in draft.comparisons for place in (first, second)}
    for place, token in enumerate(draft.tokens):
        reason = token.reason or (_loose(draft, place) if place not in draft.used else None)
        figure = draft.figures.get(place)
        if figure is not None and figure.kind is Kind.NUMBER and place not in compared:
            reason = "a number without a unit"
        if reason is not None:
            yield Quoted(text=token.text, column=token.start + 1, reason=reason)


def _loose(draft: Draft, place: int) -> str | None:
    """Why a word that nothing was done with cannot be passed over; None where it can."""
    role = draft.role(place)
    if role is Role.TO and not draft.word(place).isalpha():
        return "it joins no two figures of one kind"
    return LOOSE.get(role) if role is not None else None
