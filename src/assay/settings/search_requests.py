"""The searches of a load as operations of the engine `ldap`, for the entries of a server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from assay.frozen import dataclass, field
from assay.settings import search_shapes
from assay.settings.search_shapes import Chosen, ShapeError
from assay.settings.searches import Search

WANTED = (
    *("uid", "cn", "mail", "sn", "givenName", "telephoneNumber", "title", "departmentNumber", "l", "street", "postalCode"),
    *("roomNumber", "mobile", "description", "employeeNumber", "manager", "objectClass"),
)
"""Attributes of people, for a search that wants so many."""
TOO_MANY = ["success", "sizeLimitExceeded"]
"""Right results of a search with a size limit (RFC 4511, section 4.5.1.4)."""


@dataclass(frozen=True, kw_only=True)
class Entries:
    """The entries of a server that have keys."""

    base: str
    people: int
    is_own: bool
    """Whether they are a population of Assay."""
    dn: str = ""
    """DN of the entry of a key."""
    search_base: str = ""
    attributes: tuple[str, ...] = ()
    """Those that a search wants unless it says so itself."""
    keys: Mapping[str, object] = field(default_factory=dict)


def unfit(search: Search, entries: Entries) -> Iterator[str]:
    """Yield why a search cannot be sent to these entries."""
    if not search.is_shape:
        return
    if not entries.is_own:
        yield (
            f"found the shape {search.filter} for entries that are not Assay's; expected a filter with values, "
            "such as (uid=u{key:08d})"
        )
        return
    try:
        tuple(operations(search, entries))
    except ShapeError as error:
        yield str(error)


def indexes(search: Search, entries: Entries) -> frozenset[tuple[str, str]]:
    """Return attributes and kinds of index without which a shape reads all entries. Raises ShapeError."""
    if not search.is_shape or search.scope == "base":
        return frozenset()
    found = chosen(search, entries)
    has_misses = found.missing is None and search.misses > 0
    return found.indexes | (without(search, entries).indexes if has_misses else frozenset())


def chosen(search: Search, entries: Entries) -> Chosen:
    """Return the filter of a shape. Raises ShapeError."""
    finds = 1 if search.finds is None else search.finds
    alone = search.scope == "base"
    return search_shapes.choose(
        search.filter, finds=finds, people=entries.people, base=entries.base, limit=search.limit, alone=alone
    )


def without(search: Search, entries: Entries) -> Chosen:
    """Return the filter of a shape that finds nothing. Raises ShapeError."""
    return search_shapes.choose(search.filter, finds=0, people=entries.people, base=entries.base, limit=0)


def operations(search: Search, entries: Entries) -> Iterator[tuple[Fraction, dict[str, object]]]:
    """Yield the operations of a search, each with its share; a shape stays one before there are entries. Raises ShapeError."""
    is_written = not (search.is_shape and entries.is_own)
    if search.finds == 0:
        written = search.filter.replace("{base}", entries.base) if is_written else without(search, entries).filter
        yield Fraction(search.weight), _empty(search, entries, written)
        return
    if is_written:
        yield Fraction(search.weight), _written(search, entries)
        return
    found = chosen(search, entries)
    part = Fraction(0) if found.missing is not None else Fraction(round(search.misses * 100), 100)
    if part < 1:
        yield search.weight * (1 - part), _shaped(search, entries, found)
    if part:
        yield search.weight * part, _empty(search, entries, without(search, entries).filter)


def _empty(search: Search, entries: Entries, written: str) -> dict[str, object]:
    """A search that finds nothing: each is a miss."""
    keys = {"misses": 1.0, "missing": entries.people}
    return {**_request(search, entries, written, search.limit), "keys": keys}


def _request(search: Search, entries: Entries, written: str, limit: int) -> dict[str, object]:
    """The request alone."""
    return {
        "dn": base_of(search.scope, entries),
        "scope": search.scope,
        "filter": written,
        "attributes": list(_wanted(search, entries)),
        "size_limit": limit,
    }


def base_of(scope: str, entries: Entries) -> str:
    """Return the base of a search: the entry itself, or where people are. One level below the suffix of Assay there are none."""
    if scope == "base":
        return entries.dn
    is_level = scope == "one" and entries.is_own and entries.search_base == entries.base
    return entries.dn.partition(",")[2] if is_level else entries.search_base


def _wanted(search: Search, entries: Entries) -> tuple[str, ...]:
    if search.wants_all:
        return ()
    if search.wants is None:
        return entries.attributes
    return WANTED[: search.wants] if search.wants else ("1.1",)


def _shaped(search: Search, entries: Entries, found: Chosen) -> dict[str, object]:
    """A shape, with attributes and values."""
    request = _request(search, entries, found.filter, found.limit)
    keys: dict[str, object] = {"order": "uniform", "first": found.first, "count": found.count}
    if found.is_entry:
        keys |= {name: value for name, value in entries.keys.items() if name in ("order", "skew")}
    if search.misses and found.missing is not None:
        keys |= {"misses": search.misses, "missing": found.missing}
    expected: dict[str, object] = {"entries": found.finds}
    if found.is_entry and found.finds == 1:
        expected |= _entry(search, entries)
    if found.limit:
        expected["codes"] = TOO_MANY
    return {**request, "keys": keys, "expect": expected}


def _written(search: Search, entries: Entries) -> dict[str, object]:
    """A filter as it was written."""
    request = _request(search, entries, search.filter.replace("{base}", entries.base), search.limit)
    keys = dict(entries.keys)
    if search.misses:
        keys |= {"misses": search.misses, "missing": entries.people}
    is_one = search.scope == "base" or (entries.is_own and "{key" in search.filter)
    finds = search.finds if search.finds is not None else 1 if is_one else None
    expected: dict[str, object] = {"entries": finds}
    if finds == 1 and is_one:
        expected |= _entry(search, entries)
    if search.limit:
        expected["codes"] = TOO_MANY
    return {**request, "keys": keys, "expect": expected}


def _entry(search: Search, entries: Entries) -> dict[str, object]:
    """What the entry of a key must have: its name, and of a population of Assay its `uid` where it is wanted."""
    wanted = _wanted(search, entries)
    has_name = entries.is_own and (not wanted or bool({"uid", "*"} & {one.lower() for one in wanted}))
    return {"dn": entries.dn, **({"values": {"uid": ["u{key:08d}"]}} if has_name else {})}
