"""The settings of the engine `ldap` for a load on the server of a target.

`Directory(values, endpoints)` has `connection(client)` and `operations()`, the settings of the engine; `unfit()`: what this
server cannot do; `spare()`: the settings of a layout of own entries that are renamed, deleted or changed.
`values` are knobs of `settings/directory.py` with their defaults (`knobs.resolved`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.records import Endpoint
from assay.settings import load, search_requests, searches
from assay.settings.directory import MOST_KEYS, WRITES, is_wanted, keyed_texts, shares
from assay.settings.knobs import Values, fraction, integer, names, text
from assay.settings.search_requests import Entries

USED_UP = ("delete", "rename")
"""Kinds that use up entries of their own, which are laid out first."""
SPARE, CHANGED = 10_000, 1_000
"""The most own entries that are used up where nothing says how many, and own entries that are changed again and again."""
FASTEST_PER_S, USUAL_NS, LEAST = 20_000, 10_000_000_000, 100
"""The operations of a closed loop, its length, and the fewest own entries, where nothing says more."""
PEOPLE = re.compile(r"\w+, (\d+) entries, seed \d+")
"""How a target names a population of Assay."""
LETTERS = {"add": "a", "delete": "d", "rename": "r", "modify": "m"}
"""How the names of own entries begin; renamed ones begin with `s`."""


def spares(values: Values, kind: str, clients: int) -> int:
    """Return how many own entries a load renames or deletes: those of its operations, or of its rate over its time."""
    given, ops, mix = integer(values, "spare"), integer(values, "ops"), shares(values)
    if given:
        return given
    total = sum(mix.values())
    if ops:
        each = math.ceil(ops / total + 1) * mix[kind]
        return min(MOST_KEYS, each * integer(values, "workers", 1) * clients)
    share, seconds = mix[kind] / total, (integer(values, "duration") or USUAL_NS) / 1e9
    if not load.is_open(values):
        return max(LEAST, min(SPARE, math.ceil(FASTEST_PER_S * seconds * share)))
    due = sum(one.operations for one in load.stages(values)) or integer(values, "rate") * seconds
    wanted = due * share
    return min(MOST_KEYS, math.ceil(wanted + 4 * math.sqrt(wanted)) + LEAST)  # Poisson arrivals scatter


@dataclass(frozen=True, kw_only=True)
class Directory:
    """A load on the server of these endpoints."""

    values: Values
    endpoints: tuple[Endpoint, ...]

    @property
    def known(self) -> Mapping[str, object]:
        """What the target says of its server; empty before there is one."""
        return self.endpoints[0].details

    @property
    def base(self) -> str:
        """The DN at and below which is searched."""
        return str(self.known.get("base") or "")

    @property
    def writable(self) -> str:
        """The DN below which Assay may write; empty: nowhere."""
        return str(self.known.get("writable_base") or "")

    @property
    def own_people(self) -> int | None:
        """How many entries of Assay's template the server has; None where they are not Assay's."""
        match = PEOPLE.fullmatch(str(self.known.get("population") or ""))
        return int(match[1]) if match else None

    @property
    def people(self) -> int:
        """How many entries have keys."""
        return integer(self.values, "population") or self.own_people or 1

    @property
    def binds(self) -> str:
        """When connections bind."""
        return text(self.values, "bind") or ("once" if self.known.get("bind_dn") else "never")

    def unfit(self) -> Iterator[str]:
        """Yield what this server cannot do, or has not got."""
        if not self.known:
            return
        for search in searches.searches(self.values):
            yield from search_requests.unfit(search, self.entries)
        mix, own = shares(self.values), self.own_people
        writes = [kind for kind in WRITES if kind in mix]
        if writes and not self.writable:
            yield f"found {', '.join(writes)} in mix on a target that is only read; expected a target of Assay, or write = true"
        wanted = integer(self.values, "population")
        if own is not None and wanted > own:
            yield f"found population {wanted:,}; expected at most the {own:,} entries of the target"
        if own is None and not wanted and "{key" in keyed_texts(self.values):
            yield "found keys without a population; expected population = the number of entries with keys from 0"
        if (self.binds != "never" or "bind" in mix) and not self.known.get("password_file"):
            yield "found bind without a password; expected bind_dn and password_file at the target"
        if self.known.get("starttls") == "on" and integer(self.values, "depth", 1) > 1:
            yield "found depth with StartTLS; expected depth = 1, or transport tls"

    def connection(self, client: int) -> dict[str, object]:
        """Return how a client reaches the server, and over how many connections."""
        endpoint = self.endpoints[client]
        found: dict[str, object] = {
            "address": endpoint.address,
            "starttls": endpoint.details.get("starttls") == "on",
            "ca_file": endpoint.details.get("ca_file"),
            "insecure": bool(self.values.get("any_certificate")) or endpoint.details.get("any_certificate") == "on",
            "bind_dn": str(endpoint.details.get("bind_dn") or ""),
            "password_file": endpoint.details.get("password_file"),
            "bind": self.binds,
            "part": client,
            "parts": len(self.endpoints),
        }
        return found | {name: integer(self.values, name, 1) for name in ("workers", "connections", "depth")}

    def operations(self) -> list[dict[str, object]]:
        """Return the operations of the mix."""
        made = []
        for kind, weight in shares(self.values).items():
            build = getattr(self, f"_{kind}")
            each = self._searches() if kind == "search" else (build(),)
            made += [{"name": kind, "kind": kind, "weight": weight, **one} for one in each]
        return made

    @property
    def entries(self) -> Entries:
        """What searches need to know of the entries."""
        return Entries(
            base=self.base,
            people=self.people,
            is_own=self.own_people is not None,
            dn=self._filled("dn"),
            search_base=self._filled("search_base"),
            attributes=names(self.values, "attributes"),
            keys=self._keys(misses=False),
        )

    def _searches(self) -> list[dict[str, object]]:
        """The searches, each with its share; the only one of the knobs `filter` and `scope` needs none."""
        found = searches.searches(self.values)
        parts = [part for one in found for part in search_requests.operations(one, self.entries)]
        whole = math.lcm(*(share.denominator for share, _ in parts))
        return [{"share": int(share * whole), **one} for share, one in parts] or [self._search()]

    def spare(self) -> list[dict[str, object]]:
        """Return the adds that create the own entries of the mix; none where it needs none."""
        mix = shares(self.values)
        kinds = [kind for kind in USED_UP if kind in mix and not self._is_filled(kind)]
        kinds += ["modify"] if "modify" in mix and not self._changes_people else []
        keys = {"order": "forward", "count": max(map(self._spares, kinds), default=0)}
        return [{"name": kind, "kind": "add", **self._entry(kind), "keys": keys} for kind in kinds]

    def _is_filled(self, kind: str) -> bool:
        """Whether the directory was filled with enough own entries of this kind."""
        pairs = self.known.get("own_entries")
        found = dict(str(one).split() for one in pairs) if isinstance(pairs, tuple) else {}
        return int(found.get(LETTERS[kind], 0)) >= self._spares(kind)

    @property
    def _changes_people(self) -> bool:
        """Whether the whole directory is Assay's: then modifies are on its people."""
        return bool(self.base) and self.writable == self.base

    def _spare_keys(self, kind: str) -> dict[str, object]:
        return {"order": "forward", "count": self._spares(kind)}

    def _spares(self, kind: str) -> int:
        """How many own entries a kind gets."""
        if kind in USED_UP:
            return spares(self.values, kind, len(self.endpoints))
        return integer(self.values, "spare") or CHANGED

    def _keys(self, *, misses: bool = True) -> dict[str, object]:
        """The keys of an operation on the population."""
        share_of_misses = fraction(self.values, "misses") if misses else 0.0
        found: dict[str, object] = {
            "order": text(self.values, "keys"),
            "count": self.people,
            "skew": fraction(self.values, "skew"),
        }
        return found | ({"misses": share_of_misses, "missing": self.people} if share_of_misses else {})

    def _filled(self, name: str) -> str:
        return text(self.values, name).replace("{base}", self.base)

    def _search(self) -> dict[str, object]:
        scope, values = text(self.values, "scope"), self.values
        is_own = self.own_people is not None
        count = values.get("found") if values.get("found") is not None else (1 if is_own or scope == "base" else None)
        expected: dict[str, object] = {"entries": count, "values": self._verified()}
        if count == 1 and (is_own or scope == "base"):
            expected["dn"] = self._filled("dn")
        return {
            "dn": search_requests.base_of(scope, self.entries),
            "scope": scope,
            "filter": "(objectClass=*)" if scope == "base" else self._filled("filter"),
            "attributes": list(names(values, "attributes")),
            "keys": self._keys(),
            "expect": expected,
        }

    def _verified(self) -> dict[str, list[str]]:
        """The attributes that each entry must have: those named, and the name of an entry of Assay's where it is asked for."""
        found: dict[str, list[str]] = {}
        for pair in names(self.values, "verify"):
            name, _, value = pair.partition("=")
            found.setdefault(name, []).append(value.replace("{base}", self.base))
        if not found and self.own_people is not None and is_wanted("uid", names(self.values, "attributes")):
            found["uid"] = ["u{key:08d}"]
        return found

    def _compare(self) -> dict[str, object]:
        attribute, _, value = text(self.values, "compare").partition("=")
        return {"dn": self._filled("dn"), "attribute": attribute, "value": value, "keys": self._keys()}

    def _modify(self) -> dict[str, object]:
        attribute, _, value = text(self.values, "change").partition("=")
        changes = [{"how": "replace", "attribute": attribute, "values": [value]}]
        if self._changes_people:
            return {"dn": self._filled("dn"), "changes": changes, "keys": self._keys(misses=False)}
        keys = {"order": "uniform", "count": self._spares("modify")}
        return {"dn": self._own("modify"), "changes": changes, "keys": keys}

    def _own(self, kind: str) -> str:
        """The DN of an own entry."""
        return f"uid={LETTERS[kind]}{{key:08d}},{self.writable}"

    def _entry(self, kind: str) -> dict[str, object]:
        name = f"{LETTERS[kind]}{{key:08d}}"
        entry = {"objectClass": ["inetOrgPerson"], "uid": [name], "cn": [f"Own {name}"], "sn": [name]}
        return {"dn": self._own(kind), "entry": entry}

    def _add(self) -> dict[str, object]:
        return {**self._entry("add"), "keys": {"order": "forward", "count": MOST_KEYS}}

    def _delete(self) -> dict[str, object]:
        return {"dn": self._own("delete"), "keys": self._spare_keys("delete")}

    def _rename(self) -> dict[str, object]:
        return {"dn": self._own("rename"), "new_rdn": "uid=s{key:08d}", "keys": self._spare_keys("rename")}

    def _bind(self) -> dict[str, object]:
        return {}
