"""A capture as a load: mix, filter shapes, scopes, sizes, connections, depth and arrivals, without a value of the capture.

Filters keep their form; attribute names become `a1`, `a2`, ..., with their names in a table if they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.dissect import searches
from assay.dissect.result import SECOND_NS, Dissection, OperationKind, widened
from assay.settings.directory import MOST_CONNECTIONS, MOST_DEPTH
from assay.settings.load import MOST_PER_S
from assay.units import counted

MIXED = ("search", "compare", "modify", "add", "delete", "rename")
"""Operations of a mix; binds belong to connections."""
SCOPES = ("base", "one", "sub", "children")
MOST_FILTERS = 32


def shares(counts: Mapping[str, int]) -> dict[str, float]:
    """Return parts of the whole, to four digits; empty without a whole."""
    whole = sum(counts.values())
    return {name: round(count / whole, 4) for name, count in counts.items() if count} if whole else {}


def toml(found: Dissection, *, attributes: bool) -> str:
    """Return the profile as TOML."""
    return "\n".join(_lines(found, attributes=attributes)) + "\n"


def _lines(found: Dissection, *, attributes: bool) -> Iterator[str]:
    kinds = {one.operation: one for one in found.operations}
    profile = found.values["profile"]
    yield "# An LDAP load as captured, without a value, name, DN or address of the capture."
    yield "# [workloads.captured] belongs into an experiment file with a directory server as its target."
    names: dict[str, str] = {}
    shapes = [searches.anonymous(one.filter, names) for one in found.filters]
    knob = tuple(searches.lines(found, names))
    yield from _lacking(found, kinds)
    yield from _workload(found, kinds, knob)
    yield "\n[profile]"
    yield f"duration_s = {found.duration_ns / SECOND_NS:.3f}"
    yield f"operations = {sum(kinds[name].requests for name in MIXED if name in kinds)}"
    yield f"connections = {found.values['habits']['open_at_once']}"
    yield f"depth = {_depth(found):.2f}"
    yield f"depth_max = {profile['depth_max']}"
    yield f"binds_per_connection = {_binds(found):.2f}"
    yield from _table("profile.mix", shares({name: kinds[name].requests for name in MIXED if name in kinds}))
    yield from _table("profile.scopes", shares(dict(zip(SCOPES, profile["scopes"], strict=True))))
    named = sum(count for _, count in profile["attributes_named"])
    wanted = {"all": profile["attributes_all"], "none": profile["attributes_none"], "named": named}
    yield from _table("profile.attributes", shares(wanted))
    yield from _sizes(kinds)
    if attributes:
        yield from _table("profile.names", {number: f'"{name}"' for name, number in searches.plain(names, knob)})
    yield from _filters(found, [one.filter for one in found.filters] if attributes else shapes)


def _lacking(found: Dissection, kinds: Mapping[str, OperationKind]) -> Iterator[str]:
    """Yield as comments what of the traffic is not in the load."""
    if found.sealed:
        whole = counted(found.count("connections"), "connection")
        yield f"# {found.sealed:,} of {whole} cannot be read: their operations are not in this load."
    others = [name for name in found.losses() if name != "opaque_connections"]
    if others:
        yield f"# The capture lacks a part of what passed ({', '.join(others)}): operations are missing in this load."
    if datagrams := found.values["cldap"]["requests"]:
        yield f"# {counted(datagrams, 'operation')} over UDP: not in this load."
    left = sum(one.requests for name, one in kinds.items() if name == "extended")
    if left:
        yield f"# {counted(left, 'extended operation')}: not in this load."
    if not any(kinds[name].requests for name in MIXED if name in kinds):
        yield "# No operation of a load was read: there is no table [workloads.captured]."


def _workload(found: Dissection, kinds: Mapping[str, OperationKind], knob: Sequence[str]) -> Iterator[str]:
    """Yield the table of the workload ldap_load; `knob` has its searches."""
    mixed = {name: kinds[name].requests for name in MIXED if name in kinds and kinds[name].requests}
    if not mixed:
        return
    weights = [f'"{name} {max(1, round(1000 * share))}"' for name, share in shares(mixed).items()]
    yield '\n[workloads.captured]\nkind = "ldap_load"'
    yield f"mix = [{', '.join(weights)}]"
    yield from knob
    if _wants_all(found) and (not knob or any(one.attributes is None for one in found.searches)):
        yield "attributes = []"
    binds = _binds(found)
    readable = found.values["profile"]["authentications"]
    each = 2 * readable >= sum(mixed.values()) and readable > found.values["habits"]["readable"]
    yield f"connections = {min(MOST_CONNECTIONS, max(1, found.values['habits']['open_at_once']))}"
    yield f"depth = {1 if each else min(MOST_DEPTH, max(1, round(_depth(found))))}"
    yield f'bind = "{"each" if each else "once" if binds else "never"}"'
    steps = [f'"{step}"' for step in _schedule(found)]
    if steps:
        yield f"schedule = [{', '.join(steps)}]"


def _wants_all(found: Dissection) -> bool:
    """Return True if most searches want all attributes, and not the DN alone or some by name."""
    profile = found.values["profile"]
    named = sum(count for _, count in profile["attributes_named"])
    return bool(profile["attributes_all"] > profile["attributes_none"] + named)


def _depth(found: Dissection) -> float:
    """Return how many operations of a connection are in flight, at each request."""
    answered = sum(one.requests for one in found.operations if one.operation not in ("abandon", "unbind"))
    return found.values["profile"]["depth_sum"] / answered if answered else 1.0


def _binds(found: Dissection) -> float:
    """Return the authentications of a connection: of all on which something was said, sealed ones too."""
    spoken = found.values["habits"]["readable"] + found.sealed
    return found.count("authentications") / spoken if spoken else 0.0


def _table(name: str, values: Mapping[str, float | str]) -> Iterator[str]:
    if values:
        yield f"\n[{name}]"
        yield from (f"{key} = {value}" for key, value in values.items())


def _sizes(kinds: Mapping[str, OperationKind]) -> Iterator[str]:
    yield "\n[profile.request_bytes]"
    for name in MIXED:
        if name in kinds and kinds[name].requests:
            yield f"{name} = {round(kinds[name].request_bytes / kinds[name].requests)}"
    yield "\n[profile.answer_bytes]"
    for name in MIXED:
        if name in kinds and kinds[name].answered:
            yield f"{name} = {round(kinds[name].answer_bytes / kinds[name].answered)}"


def _filters(found: Dissection, shapes: Sequence[str]) -> Iterator[str]:
    merged: dict[str, list[int]] = {}
    for shape, one in zip(shapes, found.filters, strict=True):
        counts = merged.setdefault(shape, [0, 0, 0])
        for at, value in enumerate((one.count, one.answered, one.entries)):
            counts[at] += value
    whole = sum(count for count, _, _ in merged.values())
    for shape, (count, answered, entries) in list(merged.items())[:MOST_FILTERS]:
        yield "\n[[profile.filter]]"
        yield f"filter = {_quoted(shape)}"
        yield f"share = {round(count / whole, 4)}"
        if answered:
            yield f"entries = {entries / answered:.2f}"


def _quoted(shape: str) -> str:
    escaped = "".join(letter if letter.isprintable() and letter not in '"\\' else "_" for letter in shape)
    return f'"{escaped}"'


MOST_STEPS = 60


def _schedule(found: Dissection) -> Iterator[str]:
    """Yield the arrivals over time, as ldap_load's knob `schedule` takes them; nothing without one.

    A rate is a whole number: an interval has two, so that it has as many operations as in the capture.
    """
    timeline = found.values["timeline"]
    columns = [timeline["requests"][name] for name in MIXED if name in timeline["requests"]]
    if not columns or not found.duration_ns:
        return
    least_ns = max(SECOND_NS, -(-found.duration_ns // MOST_STEPS))
    summed, interval_ns = widened([sum(values) for values in zip(*columns, strict=True)], timeline["interval_ns"], least_ns)
    if not any(summed):
        return
    for count in summed:
        rate = min(MOST_PER_S, count * SECOND_NS // interval_ns)
        faster_ns = 0 if rate == MOST_PER_S else count * SECOND_NS - rate * interval_ns
        for per_s, lasts_ns in ((rate + 1, faster_ns), (rate, interval_ns - faster_ns)):
            if lasts_ns:
                yield f"{_seconds(lasts_ns)} s {f'at {per_s} /s' if per_s else 'pause'}"


def _seconds(ns: int) -> str:
    """Return seconds to the nanosecond, without an exponent."""
    whole, rest = divmod(ns, SECOND_NS)
    return f"{whole}.{rest:09}".rstrip("0").rstrip(".")
