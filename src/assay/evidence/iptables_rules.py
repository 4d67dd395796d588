"""Rules of the older packet filter of Linux that drop packets, in the texts of `iptables-legacy-save -c`. Pure.

It counts packets and bytes of every rule, so each drop has a counter. A limit that accepts leaves the rest to what follows it.
Sources: iptables-save(8), iptables-extensions(8).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assay.evidence.packet_filters import PacketFilter

OUT = frozenset({"OUTPUT", "POSTROUTING"})
DROPS = frozenset({"DROP", "REJECT", "TARPIT"})
PER = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
BYTES = {"b": 1, "kb": 1024, "mb": 1024**2}
POLICY = re.compile(r":(\S+) DROP \[(\d+):\d+\]")
RULE = re.compile(r"\[(\d+):\d+\] -A (\S+) ?(.*)")
TARGET = re.compile(r"(?:^| )-[jg] (\S+)")
LIMITS = re.compile(r"(! )?--(limit|hashlimit-upto|hashlimit-above|quota|connlimit-above|connlimit-upto|probability|every) (\S+)")
RATE = re.compile(r"([\d.]+)(?:(b|kb|mb)/s|/([smhd])\w*)$")


def of_iptables(printed: str) -> Iterator[PacketFilter]:
    """Yield the rules and policies that drop, and limits that accept; of several tables and both IPs in one text."""
    table, rules = "", list[tuple[str, str, str, int]]()
    for line in printed.splitlines():
        if line.startswith("*"):
            table = line[1:]
        if match := POLICY.match(line):
            words = f"policy drop (iptables, table {table}, chain {match[1]})"
            yield PacketFilter(words=words, packets=int(match[2]), is_outgoing=match[1] in OUT)
        if match := RULE.match(line):
            rules.append((table, match[2], match[3], int(match[1])))
    for table, chain, words, packets in rules:
        found = _of_rule(words)
        if found is None:
            continue
        named, drops, rates = found
        yield PacketFilter(
            words=f"{named} (iptables, table {table}, chain {chain})",
            packets=packets if drops else None,
            is_outgoing=_hooks(table, chain, rules) <= OUT,
            bytes_per_s=rates[0],
            packets_per_s=rates[1],
        )


def _of_rule(words: str) -> tuple[str, bool, tuple[float | None, float | None]] | None:
    """Return words, whether it drops, and both rates; None for a rule that neither drops nor limits what it accepts."""
    target, limits = TARGET.search(words), [match.groups() for match in LIMITS.finditer(words)]
    drops = target is not None and target[1] in DROPS
    if not drops and not (limits and target is not None and target[1] in ("ACCEPT", "RETURN")):
        return None
    named = [f"{'not ' if no else ''}{name} {value}" for no, name, value in limits]
    rates = [rate for _, _, value in limits if (rate := _rate(value)) != (None, None)]
    return " ".join((*named, "drop")) if drops else " ".join(named), drops, rates[0] if rates else (None, None)


def _rate(text: str) -> tuple[float | None, float | None]:
    """Return bytes per second or packets per second of a limit; neither of a quota or a probability."""
    match = RATE.match(text)
    if match is None:
        return None, None
    if match[2]:
        return float(match[1]) * BYTES[match[2]], None
    return None, float(match[1]) / PER[match[3]]


def _hooks(table: str, chain: str, rules: list[tuple[str, str, str, int]]) -> set[str]:
    """Return the chains of the kernel from which a chain is reached: itself, or those that jump to it."""
    waiting, seen, found = [chain], set[str](), set[str]()
    while waiting:
        one = waiting.pop()
        seen.add(one)
        callers = [
            of for where, of, words, _ in rules if where == table and (to := TARGET.search(words)) is not None and to[1] == one
        ]
        found |= set() if callers else {one}
        waiting += [of for of in callers if of not in seen]
    return found
