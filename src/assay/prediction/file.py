"""The file of `assay predict`: TOML in, a Question out, or every mistake at once with its line and column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from assay.errors import UsageError
from assay.prediction import values as values_of
from assay.prediction.machine import Capacities, capacities
from assay.prediction.platform import Lookup, platform, table
from assay.prediction.profile import Texts, production
from assay.prediction.question import Capacity, Production, Question
from assay.toml_document import Document, Point, load, one_of

TOP = ("title", "question", "production", "machine", "old", "new", "multiplier")


@dataclass(frozen=True, kw_only=True)
class Laboratory:
    """Where what was measured is found; the command line hands it over."""

    samples: Lookup
    capacities: Capacities
    texts: Texts


def read(path: FilePath, laboratory: Laboratory) -> Question:
    """The question of a file. Raises UsageError where it cannot be read, InputErrors with every mistake in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no text in UTF-8"
        raise UsageError(f"found {path} ({why}); expected a file that describes a production load") from error
    return parse(text, str(path), laboratory)


def parse(text: str, file: str, laboratory: Laboratory) -> Question:
    """The question of a text. Raises InputErrors with every mistake."""
    document = load(text, file)
    values = values_of.known(document, (), document.values, TOP)
    done = production(document, values.get("production"), laboratory.texts)
    tables = {name: table(document, (name,), values[name], laboratory.samples) for name in ("new", "old") if name in values}
    new, old = tables.get("new"), tables.get("old")
    there = capacities(document, values.get("machine"), new, laboratory.capacities)
    machine = values.get("machine")
    speed = machine.get("speed", 1.0) if isinstance(machine, dict) else 1.0
    question = Question(
        title=values_of.text(document, ("title",), values, "A load on another platform"),
        question=values_of.text(document, ("question",), values, ""),
        production=done,
        old=None if old is None else platform(document, old, old.processors),
        multiplier=values_of.bounds(document, ("multiplier",), values["multiplier"]) if "multiplier" in values else None,
        capacities=there,
        speed=float(speed) if isinstance(speed, int | float) else 1.0,
    )
    fits_together(document, values, done)
    all_measured(document, there, done)
    document.refuse_if_wrong()
    return question


def fits_together(document: Document, values: Mapping[str, object], done: Production) -> None:
    """What a load told as operations needs, and one told as a utilisation."""
    if done.operations and "new" not in values:
        document.wrong(("production", "operations"), "operations without [new]", "[new], a notebook with their demands")
    if done.operations and "multiplier" in values:
        document.wrong(("multiplier",), "a multiplier beside operations", "none: operations have demands of their own")
    told = values.get("production")
    if isinstance(told, dict) and "used" in told and "operations" not in told:
        of_a_share(document, values)
    elif done.operations and done.mix is not None:
        document.wrong(("production", "mix"), "a mix beside operations", "none: operations have rates of their own", Point.KEY)


def of_a_share(document: Document, values: Mapping[str, object]) -> None:
    """What a load needs that is told as a utilisation of processors: something to carry it over, and nothing else to carry."""
    both = "old" in values and "new" in values
    if both == ("multiplier" in values):
        found = "both a multiplier and notebooks" if both else "a utilisation with nothing to carry it over"
        document.wrong(("production", "used"), found, "[old] and [new], or multiplier = 7")
    machine = values.get("machine")
    for name in machine if isinstance(machine, dict) else ():
        if name not in ("processors", "speed"):
            found = "a load that is told as a utilisation of processors"
            document.wrong(("machine", name), found, "[production] operations, to say what they use of anything else", Point.KEY)
    if isinstance(machine, dict) and "processors" not in machine:
        document.wrong(("machine",), "no processors", "processors = 4: the utilisation is one of processors", Point.KEY)


def all_measured(document: Document, there: tuple[Capacity, ...], done: Production) -> None:
    """Whether every operation of production has a demand of every resource."""
    known = [capacity.platform.demand.operations for capacity in there if capacity.platform is not None]
    for key, names in (("operations", done.operations), ("mix", done.mix or {})):
        for name in names:
            lacks = next((each for each in known if name not in each), None)
            if lacks is not None:
                document.wrong(("production", key, name), f"{name!r}, which nobody measured", one_of(lacks, name), Point.KEY)
