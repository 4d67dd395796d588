"""A claim while it is read: its figures by the place of their token, and the words that something was done with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from assay.published.scan import Token
from assay.published.statement import Figure
from assay.published.vocabulary import Role


@dataclass(kw_only=True)
class Draft:
    """A claim while it is read: the figures by the place of their token, and which tokens something was done with."""

    tokens: tuple[Token, ...]
    figures: dict[int, Figure] = field(default_factory=dict)
    used: set[int] = field(default_factory=set)
    comparisons: list[tuple[int, int, bool]] = field(default_factory=list)

    def role(self, place: int) -> Role | None:
        """What the word at a place does; None where there is no word."""
        return self.tokens[place].role if 0 <= place < len(self.tokens) else None

    def word(self, place: int) -> str:
        """The token at a place in small letters; empty beyond the ends."""
        return self.tokens[place].text.lower() if 0 <= place < len(self.tokens) else ""

    def places(self, *roles: Role) -> Iterator[int]:
        """Where words with one of these roles stand."""
        return (place for place, token in enumerate(self.tokens) if token.role in roles)


def begin(tokens: tuple[Token, ...]) -> Draft:
    """The draft of these tokens; each figure knows its clause."""
    figures, clause = dict[int, Figure](), 0
    for place, token in enumerate(tokens):
        clause += token.role in (Role.BREAK, Role.AGAINST)
        if token.figure is not None:
            figures[place] = replace(token.figure, clause=clause)
    return Draft(tokens=tokens, figures=figures)
