"""A capture as a load: mix, filter shapes, scopes, sizes, connections, depth and arrivals, without a value of the capture.

Filters keep their form; attribute names become `a1`, `a2`, ... unless they are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from assay.dissect.result import SECOND_NS, Dissection, OperationKind, widened

MIXED = ("search", "compare", "modify", "add", "delete", "rename")
"""Operations of a mix; binds belong to connections."""
SCOPES = ("base", "one", "sub", "children")
MOST_FILTERS = 32
NAME = re.compile(r"(?<=\()[^()&|!=?*~<>:]+(?=[:~<>=])")
"""An attribute in the shape of a filter."""
RULE = re.compile(r":[^:()=]+(?=:=)")
"""A matching rule in the shape of a filter."""


SAFE = re.compile(r"(?:[()&|!=?*~<>…]|:dn|:rule|:=|a\d+|malformed)*")
"""A shape that cannot hold a name."""


def shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Return parts of the whole, to four digits; empty without a whole."""
    whole = sum(counts.values())
    return {name: round(count / whole, 4) for name, count in counts.items() if count} if whole else {}


def anonymous(shape: str, names: dict[str, str]) -> str:
    """Return the shape with each attribute's own number; matching rules are named by nothing."""
    numbered = NAME.sub(lambda match: names.setdefault(match[0], f"a{len(names) + 1}"), shape)
    ruled = RULE.sub(lambda match: match[0] if match[0] == ":dn" else ":rule", numbered)
    return ruled if SAFE.fullmatch(ruled) else "(…)"


def toml(found: Dissection, *, attributes: bool) -> str:
    """Return the profile as TOML."""
    return "\n".join(_lines(found, attributes=attributes)) + "\n"


def _lines(found: Dissection, *, attributes: bool) -> Iterator[str]:
    kinds = {one.operation: one for one in found.operations}
    profile = found.values["profile"]
    yield "# An LDAP load as captured, without a value, name, DN or address of the capture."
    yield 'schema = "assay.ldap-profile/1"'
    yield f"duration_s = {found.duration_ns / SECOND_NS:.3f}"
    yield f"operations = {sum(kinds[name].requests for name in MIXED if name in kinds)}"
    yield f"connections = {found.values['habits']['open_at_once']}"
    answered = sum(one.requests for one in found.operations if one.operation not in ("abandon", "unbind"))
    yield f"depth = {profile['depth_sum'] / answered if answered else 1:.2f}"
    yield f"depth_max = {profile['depth_max']}"
    yield f"binds_per_connection = {_binds(found, kinds):.2f}"
    yield from _table("mix", shares({name: kinds[name].requests for name in MIXED if name in kinds}))
    yield from _table("scopes", shares(dict(zip(SCOPES, profile["scopes"], strict=True))))
    named = sum(count for _, count in profile["attributes_named"])
    wanted = {"all": profile["attributes_all"], "none": profile["attributes_none"], "named": named}
    yield from _table("attributes", shares(wanted))
    yield from _sizes(kinds)
    yield from _filters(found, attributes=attributes)
    yield from _arrivals(found)


def _binds(found: Dissection, kinds: Mapping[str, OperationKind]) -> float:
    readable = found.count("connections") - found.count("opaque_connections")
    return kinds["bind"].requests / readable if "bind" in kinds and readable else 0.0


def _table(name: str, values: Mapping[str, float]) -> Iterator[str]:
    if values:
        yield f"\n[{name}]"
        yield from (f"{key} = {value}" for key, value in values.items())


def _sizes(kinds: Mapping[str, OperationKind]) -> Iterator[str]:
    yield "\n[request_bytes]"
    for name in MIXED:
        if name in kinds and kinds[name].requests:
            yield f"{name} = {round(kinds[name].request_bytes / kinds[name].requests)}"
    yield "\n[answer_bytes]"
    for name in MIXED:
        if name in kinds and kinds[name].answered:
            yield f"{name} = {round(kinds[name].answer_bytes / kinds[name].answered)}"


def _filters(found: Dissection, *, attributes: bool) -> Iterator[str]:
    names: dict[str, str] = {}
    merged: dict[str, list[int]] = {}
    for one in found.filters:
        shape = one.filter if attributes else anonymous(one.filter, names)
        counts = merged.setdefault(shape, [0, 0, 0])
        for at, value in enumerate((one.count, one.answered, one.entries)):
            counts[at] += value
    whole = sum(count for count, _, _ in merged.values())
    for shape, (count, answered, entries) in list(merged.items())[:MOST_FILTERS]:
        yield "\n[[filter]]"
        yield f"filter = {_quoted(shape)}"
        yield f"share = {round(count / whole, 4)}"
        if answered:
            yield f"entries = {entries / answered:.2f}"


def _quoted(shape: str) -> str:
    escaped = "".join(letter if letter.isprintable() and letter not in '"\\' else "_" for letter in shape)
    return f'"{escaped}"'


MOST_ARRIVALS = 60


def _arrivals(found: Dissection) -> Iterator[str]:
    timeline = found.values["timeline"]
    columns = [timeline["requests"][name] for name in MIXED if name in timeline["requests"]]
    if not columns or not found.duration_ns:
        return
    least_ns = max(SECOND_NS, found.duration_ns // MOST_ARRIVALS)
    summed, interval_ns = widened([sum(values) for values in zip(*columns, strict=True)], timeline["interval_ns"], least_ns)
    yield "\n[arrivals]"
    yield f"interval_s = {interval_ns / SECOND_NS:.3f}"
    yield f"operations = {summed}"
