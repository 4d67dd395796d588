"""Knobs as words of a command line: `size=512MiB`, `direct=true`, `operations=write,read`, as the experiment file takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from assay.catalogue import Knob, KnobKind
from assay.experiment.knobs import expected, lookup, resolve
from assay.records import Value
from assay.toml_document import Document, one_of
from assay.units import Refusal, Unit

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
            document.wrong((), f"{word!r}", f"KEY=VALUE, such as {_example(knobs, name)}")
        elif knob is None:
            document.wrong((), f"unknown key {name!r}", one_of(sorted(knobs), name))
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
    """The text as the value that a TOML file would hold for this knob; what does not look like one stays a text."""
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


def _example(knobs: Mapping[str, Knob], word: str) -> str:
    """A word that would do, for somebody who left the key out."""
    fitting = (knob for knob in knobs.values() if word in knob.choices)
    knob = next(fitting, None)
    return f"{knob.name}={word}" if knob else "size=512MiB"


def needed(document: Document, settled: Settled, knobs: Mapping[str, Knob]) -> None:
    """Note every knob that must be there and is not."""
    for name, knob in knobs.items():
        if knob.required and name not in settled.given:
            document.wrong((), f"no {name!r}", f"{name}=... ({knob.help}; {expected(knob)})")
