"""Knobs as workloads declare and read them, and mistakes between them.

Declare with `choice`, `switch`, `number`, `ratio`, `share`, `quantity` and `texts`; all of them give a `catalogue.Knob`.
`between` is the lowest and the highest value that is taken, None = no bound.
Read with `resolved(KNOBS, order.knobs)`, which fills in the defaults, and then `integer`, `fraction`, `text` and `names` of that.
Mistakes are pairs (whether it is so, "found X; expected Y"); `told` keeps the texts of those that are so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from assay import units
from assay.catalogue import Knob, KnobKind, Unit
from assay.records import Value

Between = tuple[int | None, int | None]
Values = Mapping[str, Value]
"""Knobs with their defaults filled in."""


def choice(name: str, text: str, *choices: str) -> Knob:
    """A knob that takes one of these words, the first where none is given."""
    return Knob(name=name, kind=KnobKind.CHOICE, help=text, default=choices[0], choices=choices)


def switch(name: str, text: str) -> Knob:
    """A knob that is off unless it is turned on."""
    return Knob(name=name, kind=KnobKind.SWITCH, help=text, default=False)


def number(name: str, text: str, default: int | None = None, between: Between = (1, None)) -> Knob:
    """A knob that counts something."""
    return Knob(name=name, kind=KnobKind.INTEGER, help=text, default=default, unit=Unit.COUNT, low=between[0], high=between[1])


def ratio(name: str, text: str, default: float, between: Between) -> Knob:
    """A knob that is a number with or without a fraction."""
    return Knob(name=name, kind=KnobKind.NUMBER, help=text, default=default, low=between[0], high=between[1])


def share(name: str, text: str, default: float | None = None) -> Knob:
    """A knob that is a share from 0 to 1, written with a percent sign."""
    return Knob(name=name, kind=KnobKind.QUANTITY, help=text, default=default, unit=Unit.SHARE, low=0, high=1)


def quantity(name: str, text: str, unit: Unit, default: int | None = None, between: Between = (1, None)) -> Knob:
    """A knob that measures something."""
    return Knob(name=name, kind=KnobKind.QUANTITY, help=text, default=default, unit=unit, low=between[0], high=between[1])


def texts(name: str, text: str, default: tuple[str, ...] = (), choices: tuple[str, ...] = ()) -> Knob:
    """A knob that is a list of texts, each one of `choices` where there are any."""
    return Knob(name=name, kind=KnobKind.TEXTS, help=text, default=default, choices=choices)


def resolved(knobs: Iterable[Knob], given: Mapping[str, Value]) -> dict[str, Value]:
    """The knobs that are given, and the defaults of those that are not."""
    return {knob.name: knob.default for knob in knobs} | dict(given)


def integer(values: Values, name: str, otherwise: int = 0) -> int:
    """A knob that counts or measures something; `otherwise` where it is not set."""
    value = values.get(name)
    return otherwise if value is None else cast("int", value)


def fraction(values: Values, name: str, otherwise: float = 0.0) -> float:
    """A knob that is a share or a ratio; `otherwise` where it is not set."""
    value = values.get(name)
    return otherwise if value is None else float(cast("float", value))


def text(values: Values, name: str) -> str:
    """A knob that is a word; empty where it is not set."""
    value = values.get(name)
    return "" if value is None else str(value)


def names(values: Values, name: str) -> tuple[str, ...]:
    """A knob that is a list of texts; empty where it is not set."""
    return tuple(cast("tuple[str, ...]", values.get(name) or ()))


def in_bytes(count: int) -> str:
    """Bytes as one would type them: `64 KiB`."""
    return units.format(count, Unit.BYTES)


def told(mistakes: Iterable[tuple[object, str]]) -> tuple[str, ...]:
    """The texts of those mistakes that were made."""
    return tuple(mistake for is_so, mistake in mistakes if is_so)
