"""Reads the rules that drop packets between load and server: limits of nftables and iptables, policers and lossy qdiscs of tc.

Sources, at the edges of each phase and every 5 s: `nft -j list ruleset`, `tc -s qdisc` and `tc -s filter`. They are asked in the
network namespaces of both ends, in the lab's own, and in those of routers on this machine. `iptables-legacy-save -c` is asked
where the kernel has tables of that kind (/proc/net/ip_tables_names), which nft does not see.
Rules that nobody counts (nft without `counter`) have a limit alone.
What programs of XDP and BPF drop, offloaded rules and other machines than those of load and server are not seen.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, needs_file
from assay.errors import AssayError
from assay.evidence import iptables_rules, packet_filters
from assay.evidence.packet_filters import PacketFilter
from assay.evidence.snapshots import Origin, counter, gauge
from assay.machine.peers import ends, is_over_network, spaces
from assay.machine.route_hops import hops, inside, source_of
from assay.machine.server import network_of, pids
from assay.records import ABSOLUTE, Series, Snapshot, Subject

LAYER = "policers"
METRICS = ("rules", "dropped_packets", "refused_packets", "limit_bytes_per_s", "limit_packets_per_s", "uncounted")
MARK = "====\n"
SCRIPT = f"""nft -j list ruleset; printf %s '|'$?; printf '\n{MARK}'
tc -s -j qdisc show; printf '\n{MARK}'
tc qdisc show | while read -r _ kind _ _ name _; do
  case $kind in ingress|clsact) ways='ingress egress';; htb|prio|hfsc|drr|qfq|cbq|ets) ways=root;; *) continue;; esac
  for way in $ways; do printf '= %s %s\n' $name $way; tc -s filter show dev $name ${{way#root}} 2> /dev/null; done
done
printf '\n{MARK}'; ip -o -d link show
printf '\n{MARK}'
for one in ip ip6; do
  if read -r _ 2> /dev/null < /proc/net/${{one}}_tables_names; then
    {{ ${{one}}tables-legacy-save -c 2> /dev/null; }} || case $(${{one}}tables -V 2> /dev/null) in
      ''|*nf_tables*) echo unread;;
      *) ${{one}}tables-save -c || echo unread;;
    esac
  fi
done"""
UNREAD = "unread"
MOST_REMEMBERED = 64
UNSEEN = "nft, tc or iptables-legacy could not list rules in {}. Run as root, with the packages nftables, iproute2 and iptables."


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return what nft and tc print in each namespace on the way, by the namespace in words; empty without a network."""
    if not is_over_network(subject):
        return {}
    return {words: _printed(host, namespace) for namespace, words in places(host, subject).items()}


def _printed(host: Host, namespace: str) -> str:
    try:
        return host.run([*inside(namespace), "sh", "-c", SCRIPT], check=False).stdout
    except (AssayError, OSError):
        return ""


def places(host: Host, subject: Subject) -> dict[str, str]:
    """Return namespace -> whose it is, in words; the file of the lab's own is empty."""
    servers = pids(host, subject.server)
    found = {"": "the network of this host"}
    roads: list[tuple[str, str]] = []
    for space in spaces(host, ends(host, subject, servers)):
        own = space.name == network_of(host, "self")
        file = "" if own else f"/proc/{space.pids[0]}/ns/net"
        whose = {"the server's" if pid in servers else "the load's" for pid in space.pids}
        found[file] = f"{' and '.join(sorted(whose))} network{' (this host)' if own else ''}"
        roads += [(file, address) for address in subject.reaches[:1] if whose != {"the server's"}]
        back = next((file for file, words in found.items() if words.startswith("the load's")), None)
        if whose == {"the server's"} and back is not None and subject.reaches:
            source = source_of(host, back, subject.reaches[0])
            roads += [(file, source)] if source else []
    for start, address in () if host.far else roads:
        for number, router in enumerate(_routers(host, start, address), start=1):
            found.setdefault(router, f"the network of router {number}")
    return found


@functools.lru_cache(maxsize=16)
def _known(_host: Host) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return the routers that were found on a host before, by namespace and address."""
    return {}


def _routers(host: Host, start: str, address: str) -> tuple[str, ...]:
    """Return the namespaces of routers on a way, looked for once: it takes a command for each."""
    known = _known(host)
    if (start, address) not in known:
        if len(known) >= MOST_REMEMBERED:
            known.clear()
        known[start, address] = tuple(hops(host, start, address))
    return known[start, address]


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return what each rule has dropped, and its limit. Raises EvidenceError on an unknown format."""
    if not is_over_network(subject):
        return Evidence()
    origin = Origin(host=host_name, phase=phase, source=f"{LAYER}:nft, tc", layer=LAYER)
    every = [(one.at_ns, {where: str(printed) for where, printed in one.raw.items()}) for one in snapshots]
    names = list(dict.fromkeys(where for _, found in every for where in found))
    unseen = [where for where in names if any(where in found and not _is_whole(found[where]) for _, found in every)]
    looks = [(at, dict(_filters(found))) for at, found in every]
    missing = dict.fromkeys((f"{LAYER}.{metric}" for metric in METRICS), UNSEEN.format(", ".join(unseen))) if unseen else {}
    if not names or len(snapshots) == 0:
        return Evidence()
    counted = [] if unseen else [gauge(origin, ABSOLUTE, "rules", "count", [(at, len(found)) for at, found in looks])]
    return Evidence(series=(*counted, *_series(origin, looks)), missing=missing)


def _is_whole(printed: str) -> bool:
    rules, _, rest = printed.partition(MARK)
    return rules.rstrip().endswith("|0") and MARK in rest and UNREAD not in rest.rpartition(MARK)[2].splitlines()


def _filters(printed: Mapping[str, str]) -> Iterator[tuple[str, PacketFilter]]:
    """Yield the rules of each namespace, with words that name both."""
    for where, text in printed.items():
        rules, _, rest = text.partition(MARK)
        qdiscs, _, rest = rest.partition(MARK)
        filters, _, rest = rest.partition(MARK)
        links, _, tables = rest.partition(MARK)
        found = [
            *packet_filters.of_nft(rules.rpartition("|")[0]),
            *packet_filters.of_qdiscs(qdiscs),
            *packet_filters.of_filters(filters),
            *packet_filters.of_links(links),
            *iptables_rules.of_iptables(tables),
        ]
        for number, one in enumerate(found):
            same = sum(other.words == one.words for other in found[:number])
            yield f"{one.words} in {where}{f' #{same + 1}' if same else ''}", one


def _series(origin: Origin, looks: Sequence[tuple[int, Mapping[str, PacketFilter]]]) -> Iterator[Series]:
    """Yield the drops of each rule, from 0 where it came later, and its limits."""
    for words in dict.fromkeys(name for _, found in looks for name in found):
        seen = [(at, found[words]) for at, found in looks if words in found]
        metric = "refused_packets" if seen[-1][1].is_outgoing else "dropped_packets"
        if all(one.packets is not None for _, one in seen):
            yield counter(origin, words, metric, "count", list(_dropped(words, looks)))
        elif not any((one.bytes_per_s or one.packets_per_s) for _, one in seen):
            yield gauge(origin, words, "uncounted", "count", [(at, 1) for at, _ in seen])
        for name in ("bytes_per_s", "packets_per_s"):
            limits = [(at, value) for at, one in seen if (value := getattr(one, name)) is not None]
            if limits:
                yield gauge(origin, words, f"limit_{name}", name, limits)


def _dropped(words: str, looks: Sequence[tuple[int, Mapping[str, PacketFilter]]]) -> Iterator[tuple[int, int]]:
    """Yield what a rule had dropped at each look: a rule that came later, or was replaced, began at 0."""
    before, total = 0, 0
    for number, (at, found) in enumerate(looks):
        now = (found[words].packets if words in found else None) or 0
        if number and words in found:
            total += now - before if now >= before else now
        before = now
        yield at, total


OBSERVER = Observer(
    name="policers",
    gives=tuple(f"{LAYER}.{metric}" for metric in METRICS),
    sources=(
        Source(
            keys="policers.*",
            words="rules that drop packets on the way (nft, iptables, tc)",
            way="root, nft and tc, and a target with a server address (observer policers)",
        ),
    ),
    cost="20 ms CPU per look (one namespace)",
    available=needs_file("/proc/self/ns/net", "network namespaces are invisible"),
    read=read,
    parse=parse,
    every_s=5.0,
)
