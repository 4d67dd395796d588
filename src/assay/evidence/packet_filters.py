"""Rules of a kernel that drop packets: rate limits, quotas and drops of nftables, policers and lossy qdiscs of tc. Pure.

Queues that are full are none of them: a queue holds packets back before it drops any.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from assay.errors import EvidenceError
from assay.frozen import dataclass

OUT = ("output", "postrouting", "egress")
"""Hooks on the way out: what a sender's own kernel drops there was never sent, so TCP sends nothing again."""
PER = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
BYTES = {"bytes": 1, "kbytes": 1024, "mbytes": 1024**2}
"""Units of nft(8)."""
BITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": 1024, "Mi": 1024**2, "Gi": 1024**3}
"""Units of tc(8)."""
POLICE = re.compile(r"\bpolice 0x\w+(?: rate (?P<rate>[\d.]+)(?P<unit>[KMGT]?i?)bit)?(?P<rest>.*)")
PACKETS = re.compile(r"\bpkts_rate (\d+)")
AVERAGE = re.compile(r"\bavrate ([\d.]+)([KMGT]?i?)bit")
DROPS = re.compile(r"\bgact action drop|^\s*random type (?:netrand|determ) drop\b")
"""tc prints an action that drops by chance in two lines: what it does else, then `random type netrand drop val 2`."""
PROGRAM = re.compile(r"\bbpf chain \d+ handle \w+ (\S+)")
LINK = re.compile(r"^\d+: (\S+?)(?:@\S+)?: .*\bprog/xdp\b", re.MULTILINE)
COUNTED = re.compile(r"\bSent \d+ bytes \d+ pkts? \(dropped (\d+)")
ENDING = ("drop", "reject", "jump", "goto")


Table = Mapping[str, Any]
Objects = dict[str, dict[tuple[Any, Any, Any], Table]]
"""Kind -> (family, table, name) -> the object."""
Named = Callable[[str, str], Table | None]
"""The object of a kind and a name, in the table of the rule that names it."""


@dataclass(frozen=True, kw_only=True)
class PacketFilter:
    """A rule that drops packets, in one network namespace."""

    words: str
    packets: int | None
    """What it has dropped; None where nobody counts it."""
    is_outgoing: bool = False
    bytes_per_s: float | None = None
    """The rate above which it drops."""
    packets_per_s: float | None = None


def of_nft(printed: str) -> Iterator[PacketFilter]:
    """Parse the rules of `nft -j list ruleset` that drop; those without a limit only if they count. Raises EvidenceError."""
    every = _entries(json_of(printed, "nft -j list ruleset"))
    named: Objects = {
        kind: {(one.get("family"), one.get("table"), one.get("name")): one for one in every.get(kind, ())} for kind in every
    }
    for rule in every.get("rule", ()):
        place = (rule.get("family"), rule.get("table"), rule.get("chain"))
        chain = named.get("chain", {}).get(place, {})
        found = _of_rule([*_statements(rule.get("expr") or ())], functools.partial(_object, named, place[:2]))
        if found is None:
            continue
        words, packets, rates = found
        yield PacketFilter(
            words=f"{words} (nft, table {place[1]}, chain {place[2]})",
            packets=packets,
            is_outgoing=chain.get("hook") in OUT,
            bytes_per_s=rates[0],
            packets_per_s=rates[1],
        )


def _object(named: Objects, table: tuple[Any, ...], kind: str, name: str) -> Table | None:
    return named.get(kind, {}).get((table[0], table[1], name))


def json_of(printed: str, where: str) -> object:
    """Parse JSON; an empty text is an empty list. Raises EvidenceError."""
    try:
        return json.loads(printed) if printed.strip() else []
    except ValueError:
        raise EvidenceError(f"found {printed[:60]!r} of `{where}`; expected JSON") from None


def _entries(found: object) -> dict[str, list[Table]]:
    """The objects of a ruleset by their kind."""
    rows: dict[str, list[Table]] = {}
    for entry in found.get("nftables", ()) if isinstance(found, Mapping) else ():
        for kind, one in entry.items():
            if isinstance(one, Mapping):
                rows.setdefault(kind, []).append(one)
    return rows


def _statements(expressions: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Yield each statement of a rule in order, those inside sets and meters too."""
    for one in expressions:
        for kind, value in one.items() if isinstance(one, Mapping) else ():
            inside = value.get("stmt") if isinstance(value, Mapping) else None
            if inside is not None:
                yield from _statements(inside if isinstance(inside, list) else [inside])
            yield kind, value


def _of_rule(
    statements: Sequence[tuple[str, Any]], named: Named
) -> tuple[str, int | None, tuple[float | None, float | None]] | None:
    """Words, dropped packets and both rates of a rule that drops; None for all others.

    A counter before a limit counts what passes, too: only one behind it counts drops.
    """
    kinds = [kind for kind, _ in statements]
    limits = [(at, _whole(kind, value, named)) for at, (kind, value) in enumerate(statements) if kind in ("limit", "quota")]
    chance = next((at for at, (kind, value) in enumerate(statements) if kind == "match" and "numgen" in str(value)), None)
    ends = next((kind for kind in kinds if kind in ENDING), None)
    over = bool(limits) and all(bool(one.get("inv")) for _, one in limits)
    drops = ends in ("drop", "reject") or (ends is not None and over)
    passes = "accept" in kinds and bool(limits) and not over
    if not drops and not passes:
        return None
    last = max((at for at, (kind, _) in enumerate(statements) if kind in ("limit", "quota", "match", "set", "meter")), default=-1)
    counts = [
        _whole(kind, value, named).get("packets")
        for at, (kind, value) in enumerate(statements)
        if kind == "counter" and at > last
    ]
    packets = int(counts[0]) if counts and counts[0] is not None and drops else None
    if not limits and packets is None and chance is None:
        return None
    words = [_words(one) for _, one in limits] or ["drop by chance" if chance is not None else "drop"]
    rates = [_rate(one) for _, one in limits if "rate" in one] or [(None, None)]
    return " ".join(words), packets, rates[0]


def _whole(kind: str, value: object, named: Named) -> Table:
    """A statement in full, also where it is the name of an object."""
    found = named(kind, value) if isinstance(value, str) else value
    return found if isinstance(found, Mapping) else {}


def _words(one: Table) -> str:
    over = "over " if one.get("inv") else ""
    if "rate" in one:
        unit = str(one.get("rate_unit") or "packets")
        return f"limit rate {over}{one['rate']}{'' if unit == 'packets' else f' {unit}'}/{one.get('per')}"
    amount = one.get("val", one.get("bytes"))
    return f"quota {over}{amount} {one.get('val_unit') or 'bytes'}" if amount is not None else "limit"


def _rate(one: Table) -> tuple[float | None, float | None]:
    per, unit = PER.get(str(one.get("per")), 1), str(one.get("rate_unit") or "packets")
    rate = float(one["rate"]) / per
    return (rate * BYTES[unit], None) if unit in BYTES else (None, rate)


def of_qdiscs(printed: str) -> Iterator[PacketFilter]:
    """Parse the qdiscs of `tc -s -j qdisc show` that lose or damage packets by chance. Raises EvidenceError."""
    found = json_of(printed, "tc -s -j qdisc show")
    for one in found if isinstance(found, list) else ():
        options = one.get("options") if isinstance(one, Mapping) else None
        loss = (
            next((value for name, value in options.items() if name.startswith("loss")), None)
            if isinstance(options, Mapping)
            else None
        )
        if one.get("kind") == "netem" and isinstance(loss, Mapping):
            share = loss.get("loss")
            known = f" {share:.3%}".replace(".000%", "%") if isinstance(share, int | float) else ""
            yield PacketFilter(words=f"netem loss{known} on {one.get('dev')}", packets=one.get("drops"))
        damage = options.get("corrupt") if isinstance(options, Mapping) else None
        if one.get("kind") == "netem" and isinstance(damage, Mapping) and damage.get("corrupt"):
            yield PacketFilter(words=f"netem corrupt on {one.get('dev')}", packets=None)  # the receiver drops what is damaged


def of_filters(printed: str) -> Iterator[PacketFilter]:
    """Parse policers and drops in the texts of `tc -s filter show`, each after a line `= DEVICE DIRECTION`."""
    device, direction, waiting = "", "", None
    for line in printed.splitlines():
        if line.startswith("= "):
            device, direction = line.removeprefix("= ").split()
            waiting = None
        police, drop, program = POLICE.search(line), DROPS.search(line), PROGRAM.search(line)
        if program:
            yield PacketFilter(words=f"tc bpf {program[1]} on {device} {direction}", packets=None, is_outgoing=direction in OUT)
        if police or drop:
            waiting = police or drop
        counted = COUNTED.search(line)
        if counted and waiting is not None:
            yield _of_filter(waiting, device, direction, int(counted[1]))
            waiting = None


def of_links(printed: str) -> Iterator[PacketFilter]:
    """Parse `ip -o -d link show`: interfaces with a program of XDP, which may drop what it likes and tells nobody."""
    yield from (PacketFilter(words=f"XDP program on {name}", packets=None) for name in LINK.findall(printed))


def _of_filter(match: re.Match[str], device: str, direction: str, dropped: int) -> PacketFilter:
    named = match.groupdict()
    if not named:
        return PacketFilter(words=f"tc drop on {device} {direction}", packets=dropped, is_outgoing=direction in OUT)
    average, packets = AVERAGE.search(named["rest"] or ""), PACKETS.search(named["rest"] or "")
    number, unit = (average[1], average[2]) if average else (named["rate"] or "0", named["unit"] or "")
    rate = float(number) * BITS[unit] / 8 or None  # tc prints 0bit for a limit of packets, or of an average
    limit = f"{number}{unit}bit" if rate else f"{packets[1]} packets/s" if packets else "unknown rate"
    return PacketFilter(
        words=f"tc police {limit} on {device} {direction}",
        packets=dropped,
        is_outgoing=direction in OUT,
        bytes_per_s=rate,
        packets_per_s=float(packets[1]) if packets else None,
    )
