"""A claim in words: `tier=device,durability=stable-media`."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum

from assay.records import Claim, Durability, Load, Path, Regime, Tier
from assay.toml_document import Document, one_of

PARTS: dict[str, type[StrEnum]] = {"tier": Tier, "durability": Durability, "load": Load, "regime": Regime, "path": Path}


def claimed(document: Document, text: str) -> Claim:
    """The claim that a text makes; what is wrong in it is noted in the document."""
    assert [field.name for field in fields(Claim)] == list(PARTS)
    values: dict[str, StrEnum] = {}
    for word in text.split(","):
        part, equals, value = (piece.strip() for piece in word.partition("="))
        if not equals or part not in PARTS:
            document.wrong((), f"{word.strip()!r} in --claim", f"PART=VALUE, PART {one_of(PARTS, part)}")
        elif part in values:
            document.wrong((), f"{part!r} twice in --claim", "each part once")
        elif value not in list(PARTS[part]):
            document.wrong((), f"{value!r} for {part!r} in --claim", one_of([str(one) for one in PARTS[part]], value))
        else:
            values[part] = PARTS[part](value)
    return Claim(**values)  # type: ignore[arg-type]  # each part has its own type, as PARTS says
