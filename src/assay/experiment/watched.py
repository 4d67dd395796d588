"""Commands that watch hosts: the tables `[observe.NAME]` of an experiment file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from assay.evidence import observed
from assay.experiment import named_hosts
from assay.experiment.shape import ObserveShape
from assay.measures.observed import MAX, RATES
from assay.records import HostSpec, ObserveKind, ObserveSpec
from assay.toml_document import Document, Path, Point, one_of, shown
from assay.units import EXAMPLES, UNITS, Refusal, Unit, attempt, hint

LEAST_NS = 100_000_000
"""A command that is started more often is a load of its own."""
_NAME = re.compile(r"\w[\w+-]*")
Reason = tuple[str, str]
"""What was found and what was expected."""


def specs(document: Document, shapes: Mapping[str, ObserveShape], hosts: Sequence[HostSpec]) -> tuple[ObserveSpec, ...]:
    """Return every command whose table is right."""
    found = []
    for name, shape in shapes.items():
        at: Path = ("observe", name)
        before = len(document.mistakes)
        if not _NAME.fullmatch(name):
            document.wrong(at, f"the name {shown(name)}", "a name of letters, digits and _ + -", Point.KEY)
        if any("\0" in word for word in shape.run) or not shape.run[0]:
            document.wrong((*at, "run"), shown(shape.run), 'a command and its arguments: ["netstat", "-m"]')
        unit = _unit(document, (*at, "unit"), shape)
        for key, (seen, wanted) in _against(shape):
            document.wrong((*at, key), seen, wanted)
        spec = ObserveSpec(
            name=name,
            hosts=_hosts(document, (*at, "host"), shape.host, hosts),
            argv=tuple(shape.run),
            every_ns=_every(document, (*at, "every"), shape.every),
            pattern=shape.pattern,
            unit=unit[0],
            scale=unit[1],
            kind=shape.kind,
        )
        found += [spec] if len(document.mistakes) == before else []
    return tuple(found)


def _hosts(document: Document, at: Path, found: object, known: Sequence[HostSpec]) -> tuple[str, ...]:
    """Return the hosts of a name, of a group, or of a list of them."""
    listed = found if isinstance(found, list) else [found]
    if not listed:
        document.wrong(at, "an empty list", "at least one host")
    places = [(*at, index) if isinstance(found, list) else at for index in range(len(listed))]
    named = (named_hosts.several(document, place, name, known) for place, name in zip(places, listed, strict=True))
    able = (named_hosts.acting(document, place, hosts, known) for place, hosts in zip(places, named, strict=True))
    return tuple(dict.fromkeys(host for hosts in able for host in hosts))


def _every(document: Document, at: Path, text: str) -> int:
    """Return the interval in ns."""
    every = attempt(text, Unit.NANOSECONDS)
    if isinstance(every, Refusal):
        document.wrong(at, every.found, every.expected)
    elif every >= LEAST_NS:
        return int(every)
    else:
        document.wrong(at, f"every = {text!r}", "at least 100 ms: each look starts the command")
    return LEAST_NS


def _unit(document: Document, at: Path, shape: ObserveShape) -> tuple[Unit, float]:
    """Return the base unit of what the command prints, and how many of it one of the printed units is."""
    if shape.unit in ("", Unit.COUNT):
        return Unit.COUNT, 1.0
    sizes: dict[str, tuple[Unit, Fraction]] = {
        name: (unit, size) for unit, table in UNITS.items() for name, size in table.items()
    }
    if shape.unit not in sizes:
        other = hint(shape.unit)
        wanted = other or one_of((Unit.COUNT, *filter(None, sizes)), shape.unit)
        document.wrong(at, f"the unit {shown(shape.unit)}", wanted)
        return Unit.COUNT, 1.0
    unit, size = sizes[shape.unit]
    if shape.kind is ObserveKind.COUNTER and unit not in RATES:
        document.wrong(
            at, f"a counter in {shape.unit!r}", f'kind = "gauge", or what is counted: {EXAMPLES[Unit.BYTES]}, a time, none'
        )
    return unit, float(size)


def _against(shape: ObserveShape) -> Iterator[tuple[str, Reason]]:
    """Yield what speaks against the pattern."""
    try:
        pattern = observed.compiled(shape.pattern)
    except re.error as error:
        yield "pattern", (f"{shown(shape.pattern)} ({error})", "a regular expression, in single quotes")
        return
    named = tuple(pattern.groupindex)
    if pattern.groups != max(1, len(named)):
        several = f"{pattern.groups} groups, {len(named)} of them with a name" if pattern.groups else "no group"
        yield (
            "pattern",
            (several, r"one group around the number, such as '(\d+) hits', or groups with names: '(?P<hits>\d+) hits'"),
        )
    for name in named:
        if name == MAX[1:]:
            yield "pattern", (f"the group {name!r}", "another name: `.max` is the maximum of a figure")
    if observed.LIMIT in named and shape.kind is ObserveKind.COUNTER:
        yield "pattern", ("a limit of a counter", 'kind = "gauge": only what is there at a time has a share of its limit')
    if named == (observed.LIMIT,) and pattern.groups == 1:
        yield "pattern", ("the group 'limit' alone", "a second group with the number that has this limit")
