"""Addresses of hosts as texts: which are taken, and the ranges in them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

from assay.toml_document import shown
from assay.units import Refusal

MOST_HOSTS = 4096
WORDS = "[USER@]HOST[:PORT], in letters, digits and . _ - + @ : % [ ]"
_ADDRESS = re.compile(
    r"(?:[A-Za-z0-9_][A-Za-z0-9_.+@-]*@)?"
    r"(?:[A-Za-z0-9_][A-Za-z0-9_.-]*|\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9_.-]+)?\]|[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)"
    r"(?P<port>:[0-9]{1,5})?"
)
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)


def refusal(address: str) -> Refusal | None:
    """Return why ssh does not take this as an address; None where it does, and neither it nor a shell reads it in another way."""
    match = _ADDRESS.fullmatch(address)
    if match is not None and int((match["port"] or ":1")[1:]) in range(1, 2**16):
        return None
    ranged = any(":" not in part for part in _BRACKETS.findall(address))
    wanted = f"{WORDS}; ranges are for addresses = [...]" if ranged else WORDS
    return Refusal(found=f"address {shown(address)}", expected=wanted)


def expanded(text: str) -> tuple[str, ...] | Refusal:
    """Return the addresses that ranges in brackets stand for: `ws[01-03,7]` is ws01 ws02 ws03 ws7; the first varies slowest.

    Brackets around an address of IPv6 are left alone.
    """
    parts: list[Sequence[str]] = []
    last = 0
    for match in _BRACKETS.finditer(text):
        inside = (match[0],) if ":" in match[1] else _numbers(match[1])
        if isinstance(inside, Refusal):
            return Refusal(found=f"{inside.found} in {shown(text)}", expected=inside.expected)
        parts += [(text[last : match.start()],), inside]
        last = match.end()
    parts.append((text[last:],))
    number = math.prod(len(part) for part in parts)
    if number > MOST_HOSTS:
        return Refusal(found=f"{number:,} hosts in {shown(text)}", expected=f"at most {MOST_HOSTS:,}")
    grown = tuple("".join(one) for one in itertools.product(*parts))
    return refusal(grown[0]) or refusal(grown[-1]) or grown


def _numbers(inside: str) -> tuple[str, ...] | Refusal:
    """Return the numbers of `01-30,35`, with the zeros that the first one of each range begins with."""
    found: list[str] = []
    for item in inside.split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None or len(item) > 40:
            return Refusal(found=f"the range {shown(f'[{inside}]')}", expected="numbers such as [01-30] or [1-4,7]")
        first, last = match[1], match[2] or match[1]
        low, high, width = int(first), int(last), len(first) if first.startswith("0") else 1
        if high < low:
            return Refusal(found=f"the empty range [{item}]", expected=f"the smaller number first: [{last}-{first}]")
        if last.startswith("0") and len(last) != len(first):
            return Refusal(found=f"the range [{item}]", expected="as many digits at both ends where zeros lead")
        if high - low >= MOST_HOSTS or len(found) > MOST_HOSTS:
            return Refusal(found=f"{high - low + 1:,} hosts in [{item}]", expected=f"at most {MOST_HOSTS:,}")
        found += [f"{number:0{width}}" for number in range(low, high + 1)]
    return tuple(found)
