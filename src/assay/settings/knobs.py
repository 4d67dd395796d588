"""Knobs as workloads declare and read them, and the mistakes between them.

Declare with `choice`, `switch`, `number`, `ratio`, `share`, `quantity` and `texts`; each returns a `catalogue.Knob`.
`between` is the lowest and the highest accepted value; None = no bound.
Read with `catalogue.resolved(KNOBS, order.knobs)`, which fills in defaults, then with `integer`, `fraction`, `text` and `names`.
A mistake is a pair (condition, "found X; expected Y"); `messages` returns the texts whose condition holds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import cast

from assay import units
from assay.catalogue import Knob, KnobKind, Unit
from assay.records import Factor, Value

Between = tuple[int | None, int | None]
MOST_CHECKED = 1000
"""Combinations of levels that are looked at."""
Values = Mapping[str, Value]
"""Knobs with their defaults filled in."""


def choice(name: str, text: str, *choices: str) -> Knob:
    """Declare a knob that takes one of these words; the first is the default."""
    return Knob(name=name, kind=KnobKind.CHOICE, help=text, default=choices[0], choices=choices)


def switch(name: str, text: str) -> Knob:
    """Declare a knob that is off by default."""
    return Knob(name=name, kind=KnobKind.SWITCH, help=text, default=False)


def number(name: str, text: str, default: int | None = None, between: Between = (1, None)) -> Knob:
    """Declare a knob that takes a count."""
    return Knob(name=name, kind=KnobKind.INTEGER, help=text, default=default, unit=Unit.COUNT, low=between[0], high=between[1])


def ratio(name: str, text: str, default: float, between: Between) -> Knob:
    """Declare a knob that takes a number with or without a fraction."""
    return Knob(name=name, kind=KnobKind.NUMBER, help=text, default=default, low=between[0], high=between[1])


def share(name: str, text: str, default: float | None = None) -> Knob:
    """Declare a knob that takes a share from 0 to 1, written with a percent sign."""
    return Knob(name=name, kind=KnobKind.QUANTITY, help=text, default=default, unit=Unit.SHARE, low=0, high=1)


def quantity(name: str, text: str, unit: Unit, default: int | None = None, between: Between = (1, None)) -> Knob:
    """Declare a knob that takes a quantity with a unit."""
    return Knob(name=name, kind=KnobKind.QUANTITY, help=text, default=default, unit=unit, low=between[0], high=between[1])


def texts(name: str, text: str, default: tuple[str, ...] = (), choices: tuple[str, ...] = ()) -> Knob:
    """Declare a knob that takes a list of texts, each from `choices` unless empty."""
    return Knob(name=name, kind=KnobKind.TEXTS, help=text, default=default, choices=choices)


def integer(values: Values, name: str, otherwise: int = 0) -> int:
    """Return a count or quantity; `otherwise` if it is not set."""
    value = values.get(name)
    return otherwise if value is None else cast("int", value)


def fraction(values: Values, name: str, otherwise: float = 0.0) -> float:
    """Return a share or ratio; `otherwise` if it is not set."""
    value = values.get(name)
    return otherwise if value is None else float(cast("float", value))


def text(values: Values, name: str) -> str:
    """Return a word; empty if it is not set."""
    value = values.get(name)
    return "" if value is None else str(value)


def names(values: Values, name: str) -> tuple[str, ...]:
    """Return a list of texts; empty if it is not set."""
    return tuple(cast("tuple[str, ...]", values.get(name) or ()))


def in_bytes(count: int) -> str:
    """Format bytes as a person types them: `64 KiB`."""
    return units.format(count, Unit.BYTES)


def messages(mistakes: Iterable[tuple[object, str]]) -> tuple[str, ...]:
    """Return the texts of the mistakes whose condition holds."""
    return tuple(mistake for is_so, mistake in mistakes if is_so)


def variants(name: str, knobs: Mapping[str, Value], factors: Iterable[Factor]) -> Iterator[Mapping[str, Value]]:
    """Yield the knobs of a workload or target for the combinations of the levels that vary them, at most so many."""
    own = {factor.path.removeprefix(f"{name}."): factor.levels for factor in factors if factor.path.startswith(f"{name}.")}
    varied = {knob: levels for knob, levels in own.items() if levels}
    for levels in itertools.islice(itertools.product(*varied.values()), MOST_CHECKED):
        yield {**knobs, **dict(zip(varied, levels, strict=True))}
