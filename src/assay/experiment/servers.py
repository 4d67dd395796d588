"""Whether a load fits the directory server that it is for: what a server cannot do is told before anything is made."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from assay.catalogue import Target, Workload
from assay.experiment.factors import variants
from assay.experiment.parts import PartSpec
from assay.machine import population
from assay.records import EndpointKind, Factor, Value
from assay.settings import directory, search_requests, searches
from assay.settings.knobs import MOST_CHECKED, integer
from assay.toml_document import Document, Point

OF_DIRECTORIES = "ldap"
"""The engine that loads a directory server."""
OF_IMPORTS = "ldap_import"
"""The workload that fills one."""
RUNNING = "running"
STATES = {"offline": "stopped", "online": "empty"}
"""Mode of an import -> the state of the server that it fills."""
OF_FILTER = re.compile(r"\(\s*([A-Za-z][A-Za-z0-9.;-]*)\s*[:~<>]?=?")
"""An attribute in a filter: after a bracket, which no value holds as such (RFC 4515)."""
NO_ATTRIBUTES = ("1.1", "*", "+")
"""What a search may ask for instead of attributes (RFC 4511, section 4.5.1.8; RFC 3673)."""
UNITS = ("people", "groups", "services")
"""The organisational units of every population of Assay."""


def servers_fit(
    document: Document, systems: Mapping[str, PartSpec], loads: Mapping[str, PartSpec], factors: tuple[Factor, ...]
) -> None:
    """A load asks no directory server for what it cannot do, with no level."""
    servers = [(part.name, knobs) for part in systems.values() if _is_server(part) for knobs in variants(part, factors)]
    for load in loads.values():
        plug = load.plug
        if not isinstance(plug, Workload) or not load.settings.complete:
            continue
        if plug.engine != OF_DIRECTORIES and plug.name != OF_IMPORTS:
            continue
        right = [knobs for knobs in variants(load, factors) if not plug.check(knobs)]
        each = itertools.islice(itertools.product(right, servers), MOST_CHECKED)
        found = [
            (name, text)
            for knobs, (name, server) in each
            for text in (*beyond_server(plug, knobs, server), *_not_known(plug, knobs, server))
        ]
        for name, (seen, wanted) in dict.fromkeys(found):
            document.wrong(load.at, f"{seen}, in workload {load.name!r} on target {name!r}", wanted, Point.KEY)


def _is_server(part: PartSpec) -> bool:
    return isinstance(part.plug, Target) and part.plug.endpoint is EndpointKind.URL and part.settings.complete


def beyond_server(plug: Workload, knobs: Mapping[str, Value], server: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield what a load wants of a directory server with these knobs and does not get, and what is expected instead."""
    starts_tls = server.get("transport") == "starttls" or server.get("starttls") is True
    depth, state = knobs.get("depth"), server.get("state", RUNNING)
    if starts_tls and isinstance(depth, int) and depth > 1:
        yield f"depth = {depth} with StartTLS", "depth = 1, or TLS from the first byte"
    if plug.name == OF_IMPORTS:
        yield from _of_import(str(knobs.get("mode") or "offline"), server)
        return
    if state != RUNNING:
        yield f"a server with state = {state}", f"state = {RUNNING}; a server that is stopped is filled by ldap_import"
    if server.get("write") is False and not plug.only_reads(knobs):
        yield "writes in mix on a server that is only read", "write = true: they go below an entry that Assay makes"
    yield from _elsewhere(knobs, server)
    yield from _unknown_attributes(knobs, server)
    yield from _shapes(knobs, server)


def _not_known(plug: Workload, knobs: Mapping[str, Value], server: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield what nothing says of entries that are not Assay's: how many have keys, and who binds."""
    if plug.name == OF_IMPORTS or "base" not in server or ("template" in server and not server.get("ldif")):
        return
    if knobs.get("population") is None and "{key" in directory.keyed_texts(knobs):
        yield "keys of entries that are not Assay's", "population = the number of entries with keys from 0"
    binds = knobs.get("bind") in ("once", "each") or "bind" in directory.shares(knobs)
    if binds and "password_file" in server and not server.get("bind_dn"):
        yield "binds without a DN", "bind_dn and password_file at the target"


def _of_import(mode: str, server: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    wanted = STATES.get(mode)
    if "state" not in server:
        yield "an import into a server that Assay does not fill", "a target of kind ldap_openldap or ldap_389ds"
    elif wanted is not None and server["state"] != wanted:
        yield f"an import with mode = {mode} into a server with state = {server['state']}", f"state = {wanted}"


def _elsewhere(knobs: Mapping[str, Value], server: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield bases of searches and names of entries that the directory cannot have."""
    base = _plain(server.get("base"))
    is_own = "template" in server and not server.get("ldif")
    kinds = {str(one).split(" ")[0] for one in _texts(knobs.get("mix"))}
    scopes = {one.scope for one in searches.searches(knobs)} or {str(knobs.get("scope"))}
    of_base = "search" in kinds and "base" in scopes
    used = {"search_base": "search" in kinds and scopes != {"base"}, "dn": "compare" in kinds or of_base}
    for name in (name for name, is_used in used.items() if is_used and base):
        written = str(knobs.get(name) or "").replace("{base}", str(server["base"]))
        plain = _plain(written)
        if plain != base and not plain.endswith(f",{base}"):
            yield f"{name} = {written!r}, which is outside the directory", f"a DN at or below {server['base']}"
        elif is_own and name == "search_base" and "{" not in plain and plain not in _bases(base) and "uid=" not in plain:
            yield (
                f"search_base = {written!r}, which no population has",
                f"{server['base']}, or ou={' or ou='.join(UNITS)} below it",
            )


def _unknown_attributes(knobs: Mapping[str, Value], server: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield attributes that no entry can have: of a population of Assay, without a schema of the user."""
    if "template" not in server or server.get("ldif") or server.get("schema"):
        return
    kinds = {str(one).split(" ")[0] for one in _texts(knobs.get("mix"))}
    pairs = {"compare": knobs.get("compare"), "modify": knobs.get("change")}
    used = [(name, str(pairs[kind])) for kind, name in (("compare", "compare"), ("modify", "change")) if kind in kinds]
    if "search" in kinds:
        several = [("searches", one.filter) for one in searches.searches(knobs) if not one.is_shape]
        filters = several or [("filter", str(knobs.get("filter") or ""))]
        used += [(name, attribute) for name, text in filters for attribute in OF_FILTER.findall(text)]
        used += [(name, one) for name in ("attributes", "verify") for one in _texts(knobs.get(name))]
    for name, written in used:
        attribute = written.partition("=")[0]
        if attribute not in NO_ATTRIBUTES and not population.is_known(attribute):
            yield (
                f"{name} with the attribute {attribute!r}, which no entry has",
                "an attribute of people, such as uid, mail or description; one of your own needs `schema` and `ldif`",
            )


def _shapes(knobs: Mapping[str, Value], server: Mapping[str, Value]) -> Iterator[tuple[str, str]]:
    """Yield shapes that the entries cannot have, and the indexes that they need."""
    entries = search_requests.Entries(
        base=str(server.get("base") or ""),
        people=integer(knobs, "population") or integer(server, "entries", 1),
        is_own="template" in server and not server.get("ldif"),
    )
    needed: set[tuple[str, str]] = set()
    for search in searches.searches(knobs):
        wrong = tuple(search_requests.unfit(search, entries))
        yield from (
            (seen.removeprefix("found "), wanted) for seen, _, wanted in (text.partition("; expected ") for text in wrong)
        )
        needed |= set() if wrong else search_requests.indexes(search, entries)
    indexes = {name.lower(): (name, dict.fromkeys(kinds)) for name, kinds in population.indexes_of(server)}
    missing = sorted(one for one in needed if one[1] not in indexes.get(one[0].lower(), ("", {}))[1])
    for name, kind in missing:
        indexes.setdefault(name.lower(), (name, {}))[1][kind] = None
    if missing:
        fix = ", ".join(f'"{name}:{",".join(kinds)}"' for name, kinds in indexes.values())
        seen = ", ".join(f"{name}:{kind}" for name, kind in missing)
        yield f"shapes without the indexes {seen}, so that searches read all entries", f"indexes = [{fix}] at the target"


def _bases(base: str) -> tuple[str, ...]:
    return (base, *(f"ou={unit},{base}" for unit in UNITS))


def _plain(dn: Value) -> str:
    """Return a DN in small letters, without spaces between its parts."""
    return re.sub(r"\s*([,=])\s*", r"\1", str(dn or "").strip().lower())


def _texts(value: Value) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, tuple) else ()
