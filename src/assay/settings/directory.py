"""A load on a directory server: its knobs, and the settings of the engine `ldap`.

- `KNOBS`: what is asked for, of which entries, over how many connections.
- `mistakes(values)`: contradictions between these knobs, filters that are none. Add them to `check`.
- `shares(values)`: the mix; `keyed_texts(values)`: what it sends of keys. `settings/directory_requests.py` makes the settings of
  the engine.

`values` are knobs with their defaults (`knobs.resolved`). Entries of a population have keys from 0; the writes of a load are on
entries of its own, but for changes of a population that is Assay's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay import _core
from assay.catalogue import Knob, KnobKind
from assay.settings import searches
from assay.settings.knobs import Values, choice, fraction, integer, messages, names, number, share, switch, text, texts

KINDS = ("search", "compare", "add", "modify", "delete", "rename", "bind")
WRITES = ("add", "modify", "delete", "rename")
MOST_CONNECTIONS, MOST_DEPTH, MOST_WEIGHT = 4_096, 1_024, 10_000
MOST_KEYS = 10**8
"""Keys have eight digits."""
PLACEHOLDER = re.compile(r"\{[^}]*\}?")
KNOWN = re.compile(r"\{(?:base|n|key(?::0[0-9]+d)?)\}")
SHARE = re.compile(r"([a-z]+)(?:\s+([0-9]+))?")

KNOBS = (
    texts("mix", f'operations with their weights, such as "search 80", "modify 20"; of {", ".join(KINDS)}', ("search 1",)),
    texts("searches", f"several searches with their shares instead of `filter`: {searches.EXPECTED}"),
    choice("scope", "depth of a search: base is the entry itself", "sub", "one", "base"),
    Knob(name="filter", kind=KnobKind.TEXT, help="filter of a search; {key:08d} is the entry", default="(uid=u{key:08d})"),
    Knob(name="search_base", kind=KnobKind.TEXT, help="base of a search", default="{base}"),
    texts("attributes", "attributes that a search wants; 1.1 is none", ("1.1",)),
    Knob(name="dn", kind=KnobKind.TEXT, help="DN of the entry of a key", default="uid=u{key:08d},ou=people,{base}"),
    Knob(name="compare", kind=KnobKind.TEXT, help="what a compare asks for", default="uid=u{key:08d}"),
    Knob(
        name="change", kind=KnobKind.TEXT, help="what a modify replaces; {n} differs each time", default="description=changed {n}"
    ),
    choice("keys", "order of the entries: drawn evenly, some more often, or each once", "uniform", "skewed", "once"),
    share("skew", "skewed: this share of the operations goes to the rest of 100 % of the entries", 0.8),
    share("misses", "share of searches and compares for an entry that is not there", 0.0),
    number("population", "entries with keys from 0; default: those of the target", None, (1, MOST_KEYS)),
    number("found", "entries that each search must find; default: 1 of a population of Assay", None, (0, 1_000_000)),
    texts("verify", "attributes that each entry must have, such as uid=u{key:08d}; they must be among `attributes`"),
    number("spare", "own entries for each of delete and rename, made first; default: as ops or the rate need, at most 10,000"),
    number("connections", "connections of each worker", 1, (1, MOST_CONNECTIONS)),
    number("workers", "threads of each client", 1, (1, 256)),
    number("depth", "requests in flight on each connection", 1, (1, MOST_DEPTH)),
    Knob(
        name="bind",
        kind=KnobKind.CHOICE,
        choices=("never", "once", "each"),
        help="bind never, once for each connection, or before each operation; default: once, if the target names a bind DN",
    ),
    switch("any_certificate", "accept a certificate of an unknown authority"),
)


def shares(values: Values) -> dict[str, int]:
    """Return kind -> weight of the mix, without mistakes."""
    found = {}
    for written in names(values, "mix"):
        match = SHARE.fullmatch(written.strip())
        if match is not None and match[1] in KINDS:
            found[match[1]] = int(match[2] or 1)
    return found


def keyed_texts(values: Values) -> str:
    """Return the texts with keys of the population that this mix sends."""
    mix = shares(values)
    several = searches.searches(values)
    of_search = ("dn",) if text(values, "scope") == "base" else ("filter", "search_base")
    if several:
        of_search = ("dn",) if any(one.scope == "base" for one in several) else ("search_base",)
    used = (*(of_search if "search" in mix else ()), *(("dn", "compare") if "compare" in mix else ()))
    return " ".join([*(text(values, name) for name in used), *(one.filter for one in several if "search" in mix)])


def mistakes(values: Values) -> tuple[str, ...]:
    """Return the contradictions between the knobs, and texts that cannot be sent."""
    depth, skew = integer(values, "depth", 1), fraction(values, "skew")
    together = integer(values, "connections", 1) * integer(values, "workers", 1)
    binds = values.get("bind") == "each" or "bind" in shares(values)
    wrong = (
        (together > MOST_CONNECTIONS, f"found {together:,} connections of a client; expected at most {MOST_CONNECTIONS:,}"),
        (depth > 1 and binds, f"found depth {depth} with a bind between operations; expected depth 1"),
        (not 0.5 <= skew < 1, f"found skew {skew * 100:g} %; expected at least 50 % and less than 100 %"),
        (
            integer(values, "think") and (together > 1 or depth > 1),
            "found think with several requests at a time; expected one connection, one worker and depth 1",
        ),
        (
            values.get("keys") == "once" and fraction(values, "misses") >= 1,
            "found misses of 100 % with keys once; expected less, since no entry would have its turn",
        ),
    )
    several = searches.mistakes(values, tuple(shares(values)), {knob.name: knob.default for knob in KNOBS})
    return (*messages(wrong), *_mix_mistakes(values), *several, *_text_mistakes(values))


def _mix_mistakes(values: Values) -> Iterator[str]:
    seen: set[str] = set()
    for written in names(values, "mix"):
        match = SHARE.fullmatch(written.strip())
        kind, weight = (match[1], int(match[2] or 1)) if match else ("", 0)
        if kind not in KINDS or not 1 <= weight <= MOST_WEIGHT:
            yield f'found mix entry {written!r}; expected a kind with a weight, such as "search 80", of {", ".join(KINDS)}'
        elif kind in seen:
            yield f"found {kind} twice in mix; expected each kind once"
        seen.add(kind)
    if not names(values, "mix"):
        yield 'found an empty mix; expected at least one operation, such as "search 1"'


def _written(values: Values, *of: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each of these knobs; of a list each text by itself."""
    for name in of:
        for written in names(values, name) if isinstance(values.get(name), tuple) else (text(values, name),):
            yield name, written


def _text_mistakes(values: Values) -> Iterator[str]:
    for name, written in _written(values, "filter", "search_base", "dn", "compare", "change", "verify", "attributes"):
        strange = [found for found in PLACEHOLDER.findall(written) if KNOWN.fullmatch(found) is None]
        yield from (f"found {found} in {name}; expected {{key}}, {{key:08d}}, {{n}} or {{base}}" for found in strange)
    yield from _filter_mistakes(text(values, "filter").replace("{base}", "base"))
    for name, written in _written(values, "compare", "change", "verify"):
        if not re.match(r"[A-Za-z][A-Za-z0-9;.-]*=.", written):
            yield f"found {name} {written!r}; expected ATTRIBUTE=VALUE"
    absent = [one for one in map(_attribute, names(values, "verify")) if not is_wanted(one, names(values, "attributes"))]
    if absent:
        yield f"found verify of {', '.join(absent)}; expected attributes that the search asks for (attributes)"


def _filter_mistakes(written: str) -> Iterator[str]:
    mistake = _core.filter_mistake(written)
    if mistake is not None and "{" not in KNOWN.sub("", written):
        at, found, expected = mistake
        yield f"found {found} at place {at} of the filter {written!r}; expected {expected}"


def _attribute(pair: str) -> str:
    return pair.partition("=")[0]


def is_wanted(attribute: str, wanted: tuple[str, ...]) -> bool:
    """Return True if a search with these attributes asks for this one."""
    return not wanted or "*" in wanted or attribute.lower() in {one.lower() for one in wanted}
