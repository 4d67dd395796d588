"""Records links that act together: bonds with their members, and routes over several ways (ECMP).

Sources: /sys/class/net/NAME/bonding (Documentation/networking/bonding.rst), `ip -j route show` for routes with several next hops,
and /proc/sys/net/ipv4/fib_multipath_hash_policy. One connection takes one member of a bond or one next hop, so a group of links
is no faster for it. A team or a bridge is none of these.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, ObserverScope, Source, needs_file
from assay.errors import AssayError
from assay.evidence.snapshots import text_of, trial_facts
from assay.records import FactClass, Snapshot, Subject

INTERFACES = "/sys/class/net"
BOND = {
    "mode": "mode",
    "members": "slaves",
    "hash": "xmit_hash_policy",
    "active": "active_slave",
    "lacp_rate": "lacp_rate",
    "watched_ms": "miimon",
}
"""Fact of a bond -> its file; a mode lacks some of them."""
STATE = "mii_status"
HASH = "/proc/sys/net/ipv4/fib_multipath_hash_policy"
HASHED = {"0": "addresses", "1": "addresses and ports", "2": "inner addresses", "3": "custom"}
ROUTES = "routes"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the files of every bond, the state of its members, and the routes as `ip` prints them."""
    bonds = [name for name in host.list(INTERFACES) if host.exists(f"{INTERFACES}/{name}/bonding")]
    raw: dict[str, object] = {}
    for name in bonds:
        found = {fact: _text(host, f"{INTERFACES}/{name}/bonding/{file}") for fact, file in BOND.items()}
        raw |= {f"bond.{name}.{fact}": text for fact, text in found.items() if text}
        for member in found["members"].split():
            raw[f"bond.{name}.{member}"] = _text(host, f"{INTERFACES}/{member}/bonding_slave/{STATE}") or "unknown"
    raw[ROUTES] = _routes(host)
    raw["hash"] = _text(host, HASH)
    return raw


def _text(host: Host, path: str) -> str:
    try:
        return host.read(path).strip()
    except OSError:
        return ""


def _routes(host: Host) -> str:
    try:
        done = host.run(["ip", "-j", "route", "show"], check=False)
    except (AssayError, OSError):
        return ""
    return done.stdout if done.status == 0 else ""


def parse(host_name: str, _phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the facts before and after the trial."""
    return Evidence(facts=trial_facts(host_name, snapshots, lambda look: dict(_pairs(look)), lambda key: FactClass.PERFORMANCE))


def _pairs(look: Snapshot) -> Iterator[tuple[str, str]]:
    """Yield `network.bond.NAME.mode` and the like, and `network.ecmp.DESTINATION` with its next hops."""
    yield from ((f"network.{key}", str(text)) for key, text in look.raw.items() if key.startswith("bond."))
    ways = {destination: ", ".join(hops) for destination, hops in several(text_of(look, ROUTES) or "")}
    yield from ((f"network.ecmp.{destination}", hops) for destination, hops in ways.items())
    if ways:
        policy = text_of(look, "hash") or ""
        yield "network.ecmp.hash", HASHED.get(policy, policy or "unknown")


def several(routes: str) -> Iterator[tuple[str, list[str]]]:
    """Yield destination and next hops of each route over several ways; nothing of a damaged text."""
    try:
        found = json.loads(routes)
    except ValueError:
        return
    for route in found if isinstance(found, list) else ():
        hops = route.get("nexthops") if isinstance(route, dict) else None
        if isinstance(hops, list) and len(hops) > 1:
            yield str(route.get("dst")), [_hop(hop) for hop in hops if isinstance(hop, dict)]


def _hop(hop: Mapping[str, object]) -> str:
    """`192.0.2.1 dev eth0 weight 1`."""
    other = hop.get("via")
    via = hop.get("gateway") or (other.get("host") if isinstance(other, dict) else None)
    way = f"{via} dev {hop.get('dev')}" if via else f"dev {hop.get('dev')}"
    return f"{way} weight {hop.get('weight', 1)}"


OBSERVER = Observer(
    name="link_groups",
    gives=("fact:network.bond.*", "fact:network.ecmp.*"),
    sources=(
        Source(keys="fact:network.bond.*", words="bonds of links and their members", way="/sys/class/net/NAME/bonding"),
        Source(keys="fact:network.ecmp.*", words="routes over several ways", way="ip -j route show"),
    ),
    cost="1.8 ms CPU per look, twice a trial",
    available=needs_file(INTERFACES, "interfaces are invisible"),
    read=read,
    parse=parse,
    scope=ObserverScope.TRIAL,
)
