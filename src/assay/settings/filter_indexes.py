"""Which filters a directory server can answer from its indexes, and which make it read every entry."""

from __future__ import annotations

from collections.abc import Mapping

from assay.settings import filter_tree
from assay.settings.filter_tree import Node
from assay.settings.knobs import Values, text
from assay.settings.searches import searches

Indexes = Mapping[str, frozenset[str]]
"""Attribute in small letters -> its kinds of index."""
KINDS = frozenset({"eq", "pres", "sub", "subinitial", "subany", "subfinal", "approx", "matchingrule", "none"})
WANTED = {
    "equality": {"eq"},
    "order": {"eq"},
    "presence": {"pres"},
    "substrings": {"sub", "subinitial", "subany", "subfinal"},
    "approximate": {"approx", "eq"},
}
"""Kind of a leaf -> the kinds of index of which one serves it."""
ALL = "objectclass"
"""Every entry has one: a filter of it alone asks for all entries."""
FILTER = "(uid=u{key:08d})"
"""That of a load which names none."""


def indexes(fact: str) -> Indexes:
    """The indexes in a fact such as `eq uid; eq mail sub`, words in any order."""
    found: dict[str, frozenset[str]] = {}
    for part in fact.split(";"):
        words_of = part.lower().split()
        kinds = frozenset(word for word in words_of if word in KINDS) - {"none"}
        found.update((name, kinds) for name in words_of if name not in KINDS)
    return {name: kinds for name, kinds in found.items() if kinds}


def filters(values: Values) -> tuple[str, ...]:
    """The filters of a load below its base; none where they are shapes, or each search reads one entry by its name."""
    several = searches(values)
    if several:
        return tuple(one.filter for one in several if not one.is_shape and one.scope != "base")
    return () if text(values, "scope") == "base" else (text(values, "filter") or FILTER,)


def unserved(written: str, known: Indexes) -> tuple[str, ...]:
    """The attributes for which a filter makes the server read every entry; empty where indexes serve it, or it asks for all."""
    try:
        return _unserved(filter_tree.read(written), known)
    except (ValueError, AssertionError, IndexError):
        return ()


def _unserved(node: Node, known: Indexes) -> tuple[str, ...]:
    narrowing = [part for part in node.parts if part.attribute.lower() != ALL] or node.parts
    parts = [_unserved(part, known) for part in narrowing]
    if node.kind == "&":  # one part that is served is enough: its candidates are few
        return () if any(not part for part in parts) else tuple(dict.fromkeys(name for part in parts for name in part))
    if node.kind == "|":
        return tuple(dict.fromkeys(name for part in parts for name in part))
    if node.kind == "!":
        return tuple(leaf.attribute for leaf in node.parts if leaf.attribute)
    name = node.attribute.lower()
    served = WANTED.get(node.kind, set()) & known.get(name.partition(";")[0], frozenset())
    return () if served or name == ALL else (node.attribute,)
