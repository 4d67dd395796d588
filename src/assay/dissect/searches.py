"""The searches of a capture for the knob `searches` of ldap_load: shapes of filters, without a name or a value of the capture.

The names are numbers also where the profile names the attributes: ldap_load chooses attributes for its own population.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.dissect.result import Dissection, SearchUse
from assay.settings.search_requests import Entries, chosen, without
from assay.settings.search_shapes import ShapeError
from assay.settings.searches import mistakes, read

MOST_SEARCHES = 32
MOST_WANTED, MOST_FOUND, MOST_LIMIT = 9_999, 1_000_000, 999_999_999
ROUNDED = 0.02
"""Part of a mean by which a search of the load may find more or less."""
EVERYBODY = Entries(base="base", people=10**8, is_own=True)
LOADED_SCOPES = {"base": "base", "one": "one", "sub": "sub", "children": "sub"}
"""The scopes of ldap_load that are nearest."""
NAME = re.compile(r"(?<=\()[^()&|!=?*~<>:]+(?=[:~<>=])")
"""An attribute in the shape of a filter."""
RULE = re.compile(r":[^:()=]+(?=:=)")
"""A matching rule in the shape of a filter."""
SAFE = re.compile(r"(?:[()&|!=?*~<>…]|:dn|:rule|:=|a\d+|malformed)*")
"""A shape that cannot hold a name."""
NUMBERED = re.compile(r"a\d+")
ATTRIBUTE = re.compile(r"[a-z0-9][a-z0-9.;_-]*")
LEAF = re.compile(r"\((?:a\d+(?:=(?:\*|\*?\?(?:\*\?)*\*?)|[<>~]=\?|(?::dn)?(?::rule)?:=\?)|(?::dn)?:rule:=\?)\)")
BRANCHES = re.compile(r"\((?:[&|]\.+|!\.)\)")
"""Branches around parts that are replaced by dots."""


def anonymous(shape: str, names: dict[str, str]) -> str:
    """Return the shape with each attribute's own number; matching rules are named by nothing."""
    numbered = NAME.sub(lambda match: names.setdefault(match[0], f"a{len(names) + 1}"), shape)
    ruled = RULE.sub(lambda match: match[0] if match[0] == ":dn" else ":rule", numbered)
    known = set(names.values())
    return ruled if SAFE.fullmatch(ruled) and all(name in known for name in NUMBERED.findall(ruled)) else "(…)"


def is_whole(shape: str) -> bool:
    """Return True if a shape with numbers is a filter from its beginning to its end."""
    before, left = shape, LEAF.sub(".", shape)
    while before != left:
        before, left = left, BRANCHES.sub(".", left)
    return left == "."


@dataclass(frozen=True, kw_only=True)
class LoadedSearch:
    """A search of the load: what it has in common with those of the capture, and the entries that each of them finds."""

    use: SearchUse
    count: float
    finds: int

    def text(self, whole: float) -> str:
        """Return it as ldap_load reads it, with its share of so many."""
        use = self.use
        words = [use.filter, str(use.scope)]
        if use.attributes:
            wanted = use.attributes if isinstance(use.attributes, str) else min(use.attributes, MOST_WANTED)
            words.append(f"wants {wanted}")
        words.append(f"finds {self.finds}")
        if misses := _misses_percent(use):
            words.append(f"misses {misses} %")
        if use.size_limit:
            words.append(f"limit {min(use.size_limit, MOST_LIMIT)}")
        return " ".join([*words, f"weight {max(1, round(1000 * self.count / whole))}"])

    @property
    def is_taken(self) -> bool:
        """Whether ldap_load takes it for people of its own, as many as there may be."""
        if self.use.scope is None or not is_whole(self.use.filter):
            return False
        written = self.text(self.count)
        search = read(written)
        if search is None or any(mistakes({"searches": (written,)}, ("search",), {})):
            return False
        try:
            has_misses = chosen(search, EVERYBODY).missing is not None
            return has_misses or not search.misses or bool(without(search, EVERYBODY))
        except ShapeError:
            return False


def lines(found: Dissection, names: dict[str, str]) -> Iterator[str]:
    """Yield the knob, and before it what is missing in it; nothing where no search can be repeated."""
    alike = _alike(found, names)
    made = (one for use in alike for one in _loaded(use))
    taken = sorted((one for one in made if one.is_taken), key=lambda one: -one.count)[:MOST_SEARCHES]
    whole = sum(one.count for one in alike) + found.values["profile"]["searches_together"]
    kept = sum(one.count for one in taken)
    if left_out := _percent(whole - kept, whole):
        yield f"# {left_out} of the searches are left out: cut off, malformed, rare, or not for ldap_load."
    if not taken:
        return
    if cut_off := _percent(sum(one.count for one in taken if one.use.attributes is None), kept):
        yield f"# {cut_off} of these searches had a list of attributes that was cut off."
    yield "searches = ["
    yield from (f'    "{one.text(kept)}",' for one in taken)
    yield "]"


def plain(names: Mapping[str, str], knob: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the attributes of the knob with their numbers; names that are none of RFC 4512 are left out."""
    used = {number for line in knob for number in NUMBERED.findall(line)}
    yield from ((name, number) for name, number in names.items() if number in used and ATTRIBUTE.fullmatch(name))


def _percent(part: float, whole: float) -> str:
    if not round(part):
        return ""
    percent = round(100 * part / whole, 1)
    return f"{percent:g} %" if percent else "Less than 0.1 %"


def _alike(found: Dissection, names: dict[str, str]) -> list[SearchUse]:
    """Return the searches by what ldap_load can repeat of them, the most frequent first."""
    merged: dict[tuple[object, ...], SearchUse] = {}
    for one in found.searches:
        made = replace(one, filter=anonymous(one.filter, names), scope=LOADED_SCOPES.get(one.scope or ""))
        key = (made.filter, made.scope, made.attributes, made.size_limit)
        sums = ("count", "answered", "entries", "empty", "bytes")
        before = merged.get(key)
        merged[key] = replace(before, **{name: getattr(before, name) + getattr(made, name) for name in sums}) if before else made
    return sorted(merged.values(), key=lambda one: -one.count)


def _loaded(use: SearchUse) -> Iterator[LoadedSearch]:
    """Yield the search with the entries of an answer that has some; two searches share a mean between two whole numbers."""
    most = 1 if use.scope == "base" else min(MOST_FOUND, use.size_limit or MOST_FOUND)
    mean = use.entries / (use.answered - use.empty) if use.answered > use.empty else 1
    mean = min(most, max(1, mean))
    nearest = round(mean)
    if abs(nearest - mean) <= ROUNDED * mean:
        yield LoadedSearch(use=use, count=use.count, finds=nearest)
        return
    below = int(mean)
    yield LoadedSearch(use=use, count=use.count * (below + 1 - mean), finds=below)
    yield LoadedSearch(use=use, count=use.count * (mean - below), finds=below + 1)


def _misses_percent(one: SearchUse) -> str:
    """Return the share of the answers without an entry; empty where there is none to speak of."""
    if one.empty == one.answered:
        return "100" if one.empty else ""
    percent = min(99.9, round(100 * one.empty / one.answered, 1))
    return f"{percent:g}" if percent else ""
