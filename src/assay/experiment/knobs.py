"""Knobs of targets and workloads: values of a file or words of a call against what the catalogue declares."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from assay import units
from assay.catalogue import FREE, Knob, KnobKind, resolved
from assay.experiment.other_tools import counterpart
from assay.records import Value
from assay.toml_document import Document, Path, Point, one_of, shown
from assay.units import EXAMPLES, Refusal, Unit, attempt


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The knobs of one table: resolved values with defaults, and whether all of them are right."""

    values: Mapping[str, Value]
    complete: bool


def declared(knobs: tuple[Knob, ...]) -> dict[str, Knob]:
    """Return the knobs by name."""
    return {knob.name: knob for knob in knobs}


def lookup(knobs: Mapping[str, Knob], name: str) -> Knob | None:
    """Return the knob of this name, a free one where its table allows any name."""
    if name in knobs and FREE not in name:
        return knobs[name]
    return next((knob for known, knob in knobs.items() if FREE in known and stands_for(known, name)), None)


def stands_for(free: str, name: str) -> bool:
    """Return whether a name is one of a free knob: any text at its end (`variables.a.b`), one word elsewhere."""
    if name == free:
        return False
    words = free.split(".")
    last = ".+" if words[-1] == FREE else re.escape(words[-1])
    return (
        re.fullmatch(r"\.".join((*(r"[^.]+" if word == FREE else re.escape(word) for word in words[:-1]), last)), name)
        is not None
    )


def settings(
    document: Document, at: Path, knobs: Mapping[str, Knob], table: Mapping[str, object], varied: frozenset[str]
) -> Settings:
    """Resolve every knob of a table and note each mistake; `varied` are the knobs that a factor sets."""
    values = resolved(knobs.values(), {})
    complete = True
    for name, path, raw in flat(table, at):
        knob = lookup(knobs, name)
        if knob is None:
            document.wrong(path, f"unknown knob {name!r}", known_as(name, knobs), Point.KEY)
            complete = False
            continue
        result = resolve(knob, raw)
        if isinstance(result, Refusal):
            document.wrong(path, f"{result.found} for {name!r}", result.expected)
            complete = False
        else:
            values[name] = result
    absent = [name for name, knob in knobs.items() if knob.required and values.get(name) is None and name not in varied]
    for name in absent if complete else ():
        document.wrong(at, f"no {name!r}", f"a line {name} = ... ({knobs[name].help}; {expected(knobs[name])})", Point.KEY)
    return Settings(values=values, complete=complete and not absent)


def known_as(name: str, knobs: Mapping[str, Knob]) -> str:
    """Return what to write instead of an unknown key: the counterpart of another tool's option, else the known keys."""
    return counterpart(name, knobs) or one_of(sorted(knobs), name)


def flat(table: Mapping[str, object], at: Path, prefix: str = "") -> Iterator[tuple[str, Path, object]]:
    """Yield the leaves of nested tables with their names joined by dots."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, (*at, key), f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", (*at, key), value


def resolve(knob: Knob, raw: object) -> Value | Refusal:
    """Return the value that a knob takes, in base units, or why it does not take it."""
    return _RESOLVERS[knob.kind](knob, raw)


def expected(knob: Knob) -> str:
    """Return what a knob takes, in words."""
    if knob.kind is KnobKind.QUANTITY:
        return EXAMPLES[knob.unit]
    if knob.choices:
        return ("a list of " if knob.kind is KnobKind.TEXTS else "") + one_of(knob.choices)
    return _WORDS[knob.kind]


def default_text(knob: Knob) -> str:
    """Return the default as a user would write it."""
    value = knob.default
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(str(item) for item in value) or "none"
    if isinstance(value, int) and knob.kind is KnobKind.QUANTITY:
        return units.format(value, knob.unit)
    return str(value) or "none"


_WORDS: Mapping[KnobKind, str] = {
    KnobKind.TEXT: "a text",
    KnobKind.CHOICE: "a text",
    KnobKind.INTEGER: "a whole number",
    KnobKind.NUMBER: "a number such as 2 or 1.5",
    KnobKind.QUANTITY: "a quantity",
    KnobKind.SWITCH: "true or false",
    KnobKind.TEXTS: "a list of texts",
    KnobKind.PATH: "a path",
    KnobKind.CPUS: "a number of CPUs (at least 1) or a list of CPU numbers",
}


def _no(knob: Knob, raw: object) -> Refusal:
    return Refusal(found=shown(raw), expected=expected(knob))


def _text(knob: Knob, raw: object) -> Value | Refusal:
    if FREE in knob.name and isinstance(raw, int | float) and not isinstance(raw, bool):
        return str(raw)
    return raw if isinstance(raw, str) else _no(knob, raw)


def _path(knob: Knob, raw: object) -> Value | Refusal:
    return raw if isinstance(raw, str) and raw and "\0" not in raw else _no(knob, raw)


def _choice(knob: Knob, raw: object) -> Value | Refusal:
    if isinstance(raw, str) and raw in knob.choices:
        return raw
    return Refusal(found=shown(raw), expected=one_of(knob.choices, str(raw)))


def _integer(knob: Knob, raw: object) -> Value | Refusal:
    if not isinstance(raw, int) or isinstance(raw, bool):
        return _no(knob, raw)
    return _in_range(knob, raw, shown(raw))


def _number(knob: Knob, raw: object) -> Value | Refusal:
    if not isinstance(raw, int | float) or isinstance(raw, bool) or not math.isfinite(raw):
        return _no(knob, raw)
    return _in_range(knob, float(raw), shown(raw))


def _quantity(knob: Knob, raw: object) -> Value | Refusal:
    if isinstance(raw, int) and not isinstance(raw, bool) and knob.unit in (Unit.NONE, Unit.COUNT):
        return _in_range(knob, raw, shown(raw))
    if not isinstance(raw, str):
        return Refusal(found=shown(raw), expected=f"{EXAMPLES[knob.unit]}, as a text")
    value = attempt(raw, knob.unit)
    return value if isinstance(value, Refusal) else _in_range(knob, value, shown(raw))


def _in_range(knob: Knob, value: float, found: str) -> Value | Refusal:
    if knob.low is not None and value < knob.low:
        return Refusal(found=found, expected=f"at least {_bound(knob.low, knob.unit)}")
    if knob.high is not None and value > knob.high:
        return Refusal(found=found, expected=f"at most {_bound(knob.high, knob.unit)}")
    return value


def _bound(value: int, unit: Unit) -> str:
    return f"{value:,}" if unit in (Unit.NONE, Unit.COUNT) or value < 0 else units.format(value, unit)


def _switch(knob: Knob, raw: object) -> Value | Refusal:
    return raw if isinstance(raw, bool) else _no(knob, raw)


def _texts(knob: Knob, raw: object) -> Value | Refusal:
    if not isinstance(raw, list) or not all(isinstance(item, str) for item in raw):
        return _no(knob, raw)
    for item in raw:
        if knob.choices and item not in knob.choices:
            return Refusal(found=shown(item), expected=one_of(knob.choices, item))
    return tuple(raw)


def _cpus(knob: Knob, raw: object) -> Value | Refusal:
    numbers = [item for item in (raw if isinstance(raw, list) else [raw]) if isinstance(item, int) and not isinstance(item, bool)]
    if not isinstance(raw, list):
        return numbers[0] if numbers and numbers[0] >= 1 else _no(knob, raw)
    distinct = len(numbers) == len(raw) == len(set(numbers)) > 0
    return tuple(numbers) if distinct and min(numbers) >= 0 else _no(knob, raw)


_RESOLVERS: Mapping[KnobKind, Callable[[Knob, object], Value | Refusal]] = {
    KnobKind.TEXT: _text,
    KnobKind.CHOICE: _choice,
    KnobKind.INTEGER: _integer,
    KnobKind.NUMBER: _number,
    KnobKind.QUANTITY: _quantity,
    KnobKind.SWITCH: _switch,
    KnobKind.TEXTS: _texts,
    KnobKind.PATH: _path,
    KnobKind.CPUS: _cpus,
}


SWITCHES = {"true": True, "false": False}
_WHOLE, _NUMBER = re.compile(r"-?\d+", re.ASCII), re.compile(r"-?\d+(\.\d+)?", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What the words say: values of the knobs that were given and are right, and which were given."""

    values: Mapping[str, Value]
    given: frozenset[str]
    """Also those whose value is wrong."""


def settle(document: Document, words: Iterable[str], knobs: Mapping[str, Knob]) -> Settled:
    """Resolve every word and note each mistake in the document."""
    values: dict[str, Value] = {}
    given: set[str] = set()
    for word in words:
        name, equals, text = word.partition("=")
        knob = lookup(knobs, name)
        if not equals or not name:
            document.wrong((), f"{word!r}", _instead(word, knobs))
        elif knob is None:
            document.wrong((), f"unknown key {name!r}", known_as(name, knobs))
        elif name in given:
            document.wrong((), f"{name!r} twice", "each key once")
        else:
            result = resolve(knob, raw(knob, text))
            if isinstance(result, Refusal):
                document.wrong((), f"{result.found} for {name!r}", result.expected)
            else:
                values[name] = result
        given.add(name)
    return Settled(values=values, given=frozenset(given))


def raw(knob: Knob, text: str) -> object:
    """Return the text as the value that a TOML file would hold for this knob; what does not look like one stays a text."""
    counts = knob.kind is KnobKind.QUANTITY and knob.unit in (Unit.NONE, Unit.COUNT)
    if (knob.kind is KnobKind.INTEGER or counts) and _WHOLE.fullmatch(text):
        return int(text)
    if knob.kind is KnobKind.NUMBER and _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    if knob.kind is KnobKind.SWITCH:
        return SWITCHES.get(text, text)
    if knob.kind is KnobKind.TEXTS:
        return [part.strip() for part in text.split(",")] if text.strip() else []
    return _processors(text) if knob.kind is KnobKind.CPUS else text


def _processors(text: str) -> object:
    """`2` is a count, `0,1` and `3,` are lists of numbers."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(_WHOLE.fullmatch(part) for part in parts):
        return text
    return [int(part) for part in parts] if "," in text else int(parts[0])


def _instead(word: str, knobs: Mapping[str, Knob]) -> str:
    """Return what to type instead of a word without a value."""
    other = counterpart(word, knobs) if word.startswith("-") else None
    return f"KEY=VALUE, such as {_example(knobs, word)}" if other is None else f"KEY=VALUE: {other}"


def _example(knobs: Mapping[str, Knob], word: str) -> str:
    """Return a word that would do, for somebody who left the key out."""
    fitting = (knob for knob in knobs.values() if word in knob.choices)
    knob = next(fitting, None)
    return f"{knob.name}={word}" if knob else "size=512MiB"


def needed(document: Document, settled: Settled, knobs: Mapping[str, Knob]) -> None:
    """Note every knob that must be there and is not."""
    for name, knob in knobs.items():
        if knob.required and name not in settled.given:
            document.wrong((), f"no {name!r}", f"{name}=... ({knob.help}; {expected(knob)})")
