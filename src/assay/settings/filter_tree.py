"""Filters as trees: `(&(a1=?)(mail=*))` is an `&` with two branches. In a shape `?` stands for a value, `a1` for an attribute."""

from __future__ import annotations

import re

from assay.frozen import dataclass

PLACEHOLDER = re.compile(r"a[1-9][0-9]*")
"""An attribute without a name."""
LEAF = re.compile(r"\(([^()&|!=?*~<>:]*)((?::dn)?(?::[^():=]+)?:|[~<>])?=([^()]*)\)")


@dataclass(frozen=True, kw_only=True)
class Node:
    """A part of a filter: `&`, `|` and `!` with their branches, or an attribute with a sign and a value."""

    sign: str
    parts: tuple[Node, ...] = ()
    attribute: str = ""
    value: str = ""

    @property
    def kind(self) -> str:
        """What it asks for: `equality`, `substrings`, `presence`, `order`, `approximate`, `rule`, or a branching."""
        if self.sign == "" and "*" in self.value:
            return "presence" if self.value == "*" else "substrings"
        kinds = {"": "equality", ">": "order", "<": "order", "~": "approximate", "&": "&", "|": "|", "!": "!"}
        return kinds.get(self.sign, "rule")

    @property
    def is_open(self) -> bool:
        """Whether attribute and value are still to be chosen."""
        own = "?" in self.value or PLACEHOLDER.fullmatch(self.attribute) is not None
        return own or any(part.is_open for part in self.parts)


def is_shape(written: str) -> bool:
    """Return True if a filter leaves attributes or values open."""
    return "?" in written or any(PLACEHOLDER.fullmatch(match[1]) for match in LEAF.finditer(written))


def read(written: str) -> Node:
    """Return the tree of a filter that is one (RFC 4515)."""
    node, end = _node(written, 0)
    assert end == len(written), written
    return node


def _node(written: str, at: int) -> tuple[Node, int]:
    sign = written[at + 1]
    if sign in "&|!":
        parts, place = [], at + 2
        while written[place] == "(":
            part, place = _node(written, place)
            parts.append(part)
        return Node(sign=sign, parts=tuple(parts)), place + 1
    match = LEAF.match(written, at)
    if match is None:
        raise ValueError(f"found the filter {written}; expected one of RFC 4515")
    return Node(sign=match[2] or "", attribute=match[1], value=match[3]), match.end()


def plain(node: Node) -> str:
    """Return the text of a tree."""
    if node.kind in ("&", "|", "!"):
        return f"({node.sign}{''.join(map(plain, node.parts))})"
    return f"({node.attribute}{node.sign}={node.value})"
