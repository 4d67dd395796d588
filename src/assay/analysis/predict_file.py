"""The file of `assay predict`: TOML in, a Question out, or every mistake at once with its line and column."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as FilePath

from assay.analysis import predict_values as values_of
from assay.analysis.predict_platform import Lookup, platform
from assay.analysis.prediction import Platform, Production, Question
from assay.document import Document, Point, load, one_of
from assay.errors import UsageError

TOP = ("title", "question", "production", "machine", "old", "new", "multiplier")
PRODUCTION = ("operations", "used", "processors")
MACHINE = ("processors", "speed")


def read(path: FilePath, lookup: Lookup) -> Question:
    """The question of a file. Raises UsageError where it cannot be read, InputErrors with every mistake in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "no text in UTF-8"
        raise UsageError(f"found {path} ({why}); expected a file that describes a production load") from error
    return parse(text, str(path), lookup)


def parse(text: str, file: str, lookup: Lookup) -> Question:
    """The question of a text. Raises InputErrors with every mistake."""
    document = load(text, file)
    values = values_of.known(document, (), document.values, TOP)
    done = production(document, values.get("production"))
    new, old = (platform(document, (name,), values[name], lookup) if name in values else None for name in ("new", "old"))
    machine = values_of.table(
        document, ("machine",), values.get("machine"), MACHINE, "[machine], the one that is to carry the load"
    )
    question = Question(
        title=values_of.text(document, ("title",), values, "A load on another platform"),
        question=values_of.text(document, ("question",), values, ""),
        production=done,
        old=old,
        new=new,
        multiplier=values_of.bounds(document, ("multiplier",), values["multiplier"]) if "multiplier" in values else None,
        processors=values_of.count(document, ("machine", "processors"), machine) if machine else 1,
        speed=values_of.positive(document, ("machine", "speed"), machine.get("speed", 1.0)),
    )
    fits_together(document, values, done)
    if new is not None:
        all_measured(document, new, done)
    document.refuse_if_wrong()
    return question


def production(document: Document, told: object) -> Production:
    """What is done now: operations/s, or how busy its machine is."""
    path = ("production",)
    values = values_of.table(document, path, told, PRODUCTION, "[production], what is done there")
    if isinstance(told, dict) and ("operations" in values) == ("used" in values):
        found = "both operations and used" if "used" in values else "neither operations nor used"
        document.wrong(path, found, 'one of them: operations = { read = "900 /s" }, or used = "8 % to 12 %"', Point.KEY)
    counted = "used" in values or "processors" in values
    return Production(
        operations=values_of.rates(document, (*path, "operations"), values["operations"]) if "operations" in values else {},
        used=values_of.shares(document, (*path, "used"), values["used"]) if "used" in values else None,
        processors=values_of.count(document, (*path, "processors"), values) if counted else 1,
    )


def fits_together(document: Document, values: Mapping[str, object], done: Production) -> None:
    """What a load told as operations needs, and one told as a utilisation."""
    if done.operations and "new" not in values:
        document.wrong(("production", "operations"), "operations without [new]", "[new], a notebook with their demands")
    if done.operations and "multiplier" in values:
        document.wrong(("multiplier",), "a multiplier beside operations", "none: operations have demands of their own")
    both = "old" in values and "new" in values
    if done.used and both == ("multiplier" in values):
        found = "both a multiplier and notebooks" if both else "a utilisation with nothing to carry it over"
        document.wrong(("production", "used"), found, "[old] and [new], or multiplier = 7")


def all_measured(document: Document, new: Platform, done: Production) -> None:
    """Whether every operation of production has a demand."""
    for name in done.operations:
        if name not in new.demand.operations:
            known = one_of(new.demand.operations, name)
            document.wrong(("production", "operations", name), f"{name!r}, which nobody measured", known, Point.KEY)
