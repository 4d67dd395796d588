"""Shapes of filters, such as `(&(a1=?)(a2=?*))`, as filters for a population of Assay.

A shape says what kind of filter a search has: `?` stands for a value, `a1` for an attribute. `choose` puts attributes and values
of people into it, so that a search finds so many entries, different ones each time as far as the shape allows it:

- one entry by its `uid`, up to 12 by their `manager`, more by a room, a name, a city or a department;
- 10, 100, ... entries by the beginning of their `uid`;
- a size limit takes away what is too much.

The further branches of an `&` are true of all people, those of an `|` of nobody (`crates/ldif` has what people look like).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum

from assay.frozen import dataclass
from assay.settings import people as held
from assay.settings.filter_tree import Node, plain, read
from assay.settings.people import ABSENT, CLASS, DIGITS, HELD, OF_ENTRY, Crowd

NOBODY = "nobody"
STAMPS = ("modifyTimestamp", "createTimestamp")
LONG_AGO, LONG_AFTER = "20000101000000Z", "20991231235959Z"
RANK = ("equality", "substrings", "rule", "&", "|", "order", "presence", "!", "approximate")
"""Which branch of an `&` selects the entries, first to last."""
ENDS = ("*?", "?*?", "?*?*", "*?*?*", "*?*?")
"""Patterns whose last piece selects the entries."""


class ShapeError(ValueError):
    """A shape that no filter for a population of Assay can have."""


class Want(Enum):
    """What a part of a filter has to be true of."""

    SOME = "some"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """A filter for a population, and what it finds."""

    filter: str
    finds: int
    limit: int
    """The size limit that it needs; 0 is none."""
    indexes: frozenset[tuple[str, str]]
    """Attributes and kinds of index without which the server reads all entries."""
    is_entry: bool
    """Whether the key is that of the entry that is found."""
    first: int = 0
    count: int = 1
    missing: int | None = None
    """The first of `count` keys that find nothing; None where each key finds something."""


def mistakes(written: str) -> Iterator[str]:
    """Yield why no population can have this shape, whatever its size."""
    try:
        choose(written, finds=1, people=10**DIGITS, base="base", limit=0)
    except ShapeError as error:
        yield str(error)


def choose(written: str, *, finds: int, people: int, base: str, limit: int, alone: bool = False) -> Chosen:
    """Return a filter of this shape; `finds` 0: it finds nothing, `alone`: the search reads one entry. Raises ShapeError."""
    build, node = _Build(written, people, base, finds), read(written)
    if not finds:
        return Chosen(filter=build.put(node, Want.NONE), finds=0, limit=limit, indexes=frozenset(build.indexes), is_entry=False)
    if finds > people:
        raise ShapeError(f"found finds {finds:,} for {written} in a population of {people:,}; expected at most {people:,}")
    text = build.put(node, Want.SOME)
    picked = build.picked or Crowd(attribute="", value="", size=people + 1)
    own = finds if finds < picked.size and not alone else 0
    return Chosen(
        filter=text,
        finds=min(finds, limit) if limit else finds,
        limit=min((one for one in (own, limit) if one), default=0),
        indexes=frozenset() if alone else frozenset(build.indexes),
        is_entry=picked.is_entry or alone,
        first=picked.first,
        count=people if alone else picked.count,
        missing=people if alone else picked.missing,
    )


class _Build:
    """One filter in the making."""

    def __init__(self, written: str, people: int, base: str, finds: int) -> None:
        self.written, self.people, self.base, self.finds = written, people, base, finds
        self.picked: Crowd | None = None
        self.indexes: set[tuple[str, str]] = set()
        self.names: dict[str, str] = {}
        """Name in the shape -> attribute."""

    def put(self, node: Node, want: Want) -> str:
        """Return the text of a part."""
        if not node.is_open:
            return plain(node)
        put = {"&": self.branches, "|": self.branches, "!": self.other, "equality": self.equality, "substrings": self.substrings}
        put |= {"presence": self.presence, "order": self.order, "rule": self.rule}
        found = put.get(node.kind)
        if found is None:
            raise ShapeError(f"found ~= in the shape {self.written}; expected another comparison, or a filter with values")
        return found(node, want)

    def unfit(self, what: str) -> ShapeError:
        return ShapeError(
            f"found {what} in the shape {self.written}, for which people have no values; expected a filter with values"
        )

    def free(self, node: Node, pool: Mapping[str, str]) -> tuple[str, str]:
        """Return an attribute of a pool for the name of a part, with its value: the same for the same name, if it has one."""
        own = self.names.get(node.attribute, "")
        if own in pool:
            return own, pool[own]
        taken = set(self.names.values())
        for attribute, value in pool.items():
            if attribute not in taken:
                self.names[node.attribute] = attribute
                return attribute, value
        raise self.unfit(f"so many parts like ({node.attribute}{node.sign}={node.value})")

    def branches(self, node: Node, want: Want) -> str:
        """One branch decides and is chosen first; the rest is chosen to fit it. An `|` needs all indexes."""
        first = min((part for part in node.parts if part.is_open), key=lambda part: RANK.index(part.kind))
        decisive = self.put(first, want)
        needed = set(self.indexes)
        text = "".join(decisive if part is first else self.put(part, self.further(node, part, want)) for part in node.parts)
        if node.sign == "&":
            self.indexes = needed
        return f"({node.sign}{text})"

    def further(self, node: Node, part: Node, want: Want) -> Want:
        """What a further branch is true of, so that it changes nothing."""
        holds = node.sign == "&" and (want is not Want.NONE or part.kind == "!")
        return Want.ALL if holds else Want.NONE

    def other(self, node: Node, want: Want) -> str:
        """Not what is in it: an index is of no use."""
        kept = set(self.indexes)
        text = self.put(node.parts[0], Want.ALL if want is Want.NONE else Want.NONE)
        self.indexes = kept
        return f"(!{text})"

    @property
    def keyed(self) -> bool:
        """Whether the key is that of the one entry."""
        return self.picked is not None and self.picked.is_entry

    def equality(self, node: Node, want: Want) -> str:
        """`(a1=?)`"""
        if want is Want.SOME:
            return f"({self.pick(node, held.of_value(self.finds, self.people, self.base))}={self.value})"
        if want is Want.ALL:
            attribute, value = self.free(node, {**dict([CLASS]), **(OF_ENTRY if self.keyed else {})})
            return f"({attribute}={value})"
        attribute, value = self.free(node, dict.fromkeys(("mail", *HELD, *ABSENT), NOBODY))
        self.indexes.add((attribute, "eq"))
        return f"({attribute}={value})"

    @property
    def value(self) -> str:
        return self.picked.value if self.picked else ""

    def pick(self, node: Node, picked: Crowd) -> str:
        """Select the entries by this; return its attribute."""
        self.picked = picked
        self.names[node.attribute] = picked.attribute
        if picked.index:
            self.indexes.add((picked.attribute, picked.index))
        return picked.attribute

    def substrings(self, node: Node, want: Want) -> str:
        """`(a1=?*)`, `(a1=*?*)`, `(a1=*?)`, and two pieces."""
        pattern = re.sub(r"\?+", "?", node.value)
        if want is Want.NONE:
            attribute, _ = self.free(node, dict.fromkeys(("mail", *HELD), ""))
            self.indexes.add((attribute, "sub"))
            return f"({attribute}={pattern.replace('?', NOBODY)})"
        if want is Want.ALL:
            attribute, value = self.free(node, held.common(pattern, self.base, of_entry=self.keyed))
            return f"({attribute}={value})"
        if pattern in ("?*", "*?*"):
            picked = held.of_beginning(pattern, self.finds, self.people)
        elif pattern in ENDS:
            picked = held.of_end(pattern, self.finds, self.people)
        else:
            raise self.unfit(f"the pattern {pattern}")
        if picked is None:
            more = "more entries at the target, or a smaller finds"
            raise ShapeError(f"found finds {self.finds:,} for {self.written} in a population of {self.people:,}; expected {more}")
        return f"({self.pick(node, picked)}={picked.value})"

    def presence(self, node: Node, want: Want) -> str:
        """`(a1=*)`"""
        if want is Want.NONE:
            return f"({self.free(node, dict.fromkeys(ABSENT, ''))[0]}=*)"
        is_again = self.written.count(f"({node.attribute}") > 1
        pool = (CLASS[0], *HELD) if want is Want.SOME and not is_again else (*HELD, CLASS[0])
        return f"({self.free(node, dict.fromkeys(pool, ''))[0]}=*)"

    def order(self, node: Node, want: Want) -> str:
        """`(a1>=?)`, `(a1<=?)`: times at which entries were made and changed."""
        attribute, _ = self.free(node, dict.fromkeys(STAMPS, ""))
        holds = (node.sign == ">") is (want is not Want.NONE)
        return f"({attribute}{node.sign}={LONG_AGO if holds else LONG_AFTER})"

    def rule(self, node: Node, want: Want) -> str:
        """`(a1:rule:=?)`, `(a1:dn:rule:=?)`, `(a1:=?)`: compared by a matching rule; servers have no index for it."""
        if not node.attribute:
            raise self.unfit(f"({node.sign}={node.value}) without an attribute")
        names_rule = node.sign not in (":", ":dn:")
        dn = ":dn" if node.sign.startswith(":dn:") else ""
        rule = "caseIgnoreMatch"
        if want is Want.SOME:
            if self.finds > 1:
                raise self.unfit(f"finds {self.finds:,} by a matching rule")
            attribute, value = self.pick(node, held.of_value(self.finds, self.people, self.base)), self.value
        elif want is Want.ALL:
            attribute, value = self.free(node, {**(OF_ENTRY if self.keyed else {}), **dict([CLASS])})
            rule = "objectIdentifierMatch" if attribute == CLASS[0] else rule
        else:
            attribute, value = self.free(node, dict.fromkeys(("title", *HELD), NOBODY))
        return f"({attribute}{dn}{f':{rule}' if names_rule else ''}:={value})"
