"""The searches of a load on a directory server, each with its share: `(uid=u{key:08d}) sub wants all finds 1 weight 7`.

- `searches(values)`: the searches of the knob `searches`, without mistakes; empty where the knobs `filter` and `scope` say what
  is searched.
- `mistakes(values)`: what is wrong with them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay import _core
from assay.frozen import dataclass
from assay.settings import filter_tree, search_shapes
from assay.settings.knobs import Values, names, text

SCOPES = ("base", "one", "sub")
MOST_SEARCHES, MOST_WEIGHT, MOST_FOUND = 512, 10_000, 1_000_000
EXPECTED = "FILTER [base|one|sub] [wants all|none|N] [finds N] [misses P %] [limit N] [weight N]"
OPTIONS = re.compile(
    r"(?:\s+(?P<scope>base|one|sub))?(?:\s+wants\s+(?P<wants>all|none|[1-9][0-9]{0,3}))?(?:\s+finds\s+(?P<finds>[0-9]{1,7}))?"
    r"(?:\s+misses\s+(?P<misses>[0-9]+(?:\.[0-9]+)?)\s*%)?(?:\s+limit\s+(?P<limit>[0-9]{1,9}))?(?:\s+weight\s+(?P<weight>[0-9]{1,5}))?"
)
UNUSED = ("filter", "found", "verify", "misses")
"""Knobs of a load with one search."""
PLACEHOLDER = re.compile(r"\{[^}]*\}?")
KNOWN = re.compile(r"\{(?:base|key(?::0[0-9]+d)?)\}")


@dataclass(frozen=True, kw_only=True)
class Search:
    """One search of a load."""

    written: str
    filter: str
    """A filter with keys, or a shape."""
    scope: str
    wants: int | None
    """Attributes by number; 0 is none, None those of the knob `attributes`."""
    wants_all: bool
    finds: int | None
    misses: float
    """Share of the searches that find nothing."""
    limit: int
    """Of the request, in entries; 0 is none."""
    weight: int

    @property
    def is_shape(self) -> bool:
        """Whether the load chooses attributes and values."""
        return filter_tree.is_shape(self.filter)


def read(written: str, scope: str = "sub") -> Search | None:
    """Return a search as it is written; `scope` is that of a search that names none. None where it cannot be understood."""
    head, bracket, tail = written.strip().rpartition(")")
    match = OPTIONS.fullmatch(tail.rstrip())
    if match is None or not bracket:
        return None
    wants = match["wants"]
    return Search(
        written=written,
        filter=head + bracket,
        scope=match["scope"] or scope,
        wants={None: None, "all": None, "none": 0}[wants] if wants in (None, "all", "none") else int(wants),
        wants_all=wants == "all",
        finds=None if match["finds"] is None else int(match["finds"]),
        misses=float(match["misses"] or 0) / 100,
        limit=int(match["limit"] or 0),
        weight=1 if match["weight"] is None else int(match["weight"]),
    )


def searches(values: Values) -> tuple[Search, ...]:
    """Return the searches of the knob; those with a mistake are left out."""
    scope = text(values, "scope") or "sub"
    found = (read(written, scope) for written in names(values, "searches"))
    return tuple(one for one in found if one is not None)


def mistakes(values: Values, kinds: tuple[str, ...], usual: Values) -> Iterator[str]:
    """Yield what is wrong with the searches; `kinds` are those of the mix, `usual` the defaults of the knobs."""
    given = names(values, "searches")
    if not given:
        return
    if "search" not in kinds:
        yield "found searches with a mix without search; expected a mix with search"
    if len(given) > MOST_SEARCHES:
        yield f"found {len(given)} searches; expected at most {MOST_SEARCHES}"
    unused = [name for name in UNUSED if values.get(name) != usual.get(name)]
    if unused:
        yield f"found {' and '.join(unused)} beside searches; expected them within each search: {EXPECTED}"
    found = [read(written) for written in given]
    together = sum(one.weight for one in found if one is not None)
    if together > MOST_WEIGHT:
        yield f"found searches with a weight of {together:,} together; expected at most {MOST_WEIGHT:,}"
    for written, search in zip(given, found, strict=True):
        if search is None:
            yield f"found search {written!r}; expected {EXPECTED}"
        else:
            yield from _of(search)


def _of(search: Search) -> Iterator[str]:
    """Yield what is wrong with one search."""
    strange = [found for found in PLACEHOLDER.findall(search.filter) if KNOWN.fullmatch(found) is None]
    yield from (f"found {found} in search {search.written!r}; expected {{key}}, {{key:08d}} or {{base}}" for found in strange)
    mistake = _core.filter_mistake(search.filter.replace("{base}", "base"))
    if mistake is not None and not strange:
        at, found, expected = mistake
        yield f"found {found} at place {at} of the filter {search.filter!r}; expected {expected}"
    if not search.weight:
        yield f"found weight 0 in search {search.written!r}; expected at least 1"
    if search.misses > 1:
        yield f"found misses {search.misses * 100:g} % in search {search.written!r}; expected at most 100 %"
    if search.finds is not None and search.finds > MOST_FOUND:
        yield f"found finds {search.finds} in search {search.written!r}; expected at most {MOST_FOUND:,}"
    if search.scope == "base" and (search.finds or 0) > 1:
        yield f"found finds {search.finds} with scope base in search {search.written!r}; expected 0 or 1: there is one entry"
    if search.is_shape and mistake is None:
        yield from search_shapes.mistakes(search.filter)
    elif search.misses and "{key" not in search.filter and search.scope != "base":
        yield f"found misses without a key in search {search.written!r}; expected {{key:08d}} in the filter"
