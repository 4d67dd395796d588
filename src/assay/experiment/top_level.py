"""What an experiment file has beside its tables: repeats, budget, what matters, limits, implied facts, observers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from assay import catalogue, links
from assay.experiment import consistency, named_hosts
from assay.experiment.plan import DEFAULT_REPEATS, LEAST_BLOCKS, MOST_TRIALS
from assay.experiment.shape import FileShape
from assay.records import Factor, HostSpec, Precision
from assay.toml_document import Document, Point, one_of, shown
from assay.units import Refusal, Unit, attempt

_FACT = re.compile(r"[^\s*][^*]*\*?")
_PRECISION = re.compile(r"until\s+([^,]+?)(?:\s*,\s*at\s+most\s+(\d{1,6}))?", re.DOTALL)


def repeats(document: Document, shape: FileShape) -> int | Precision | None:
    """Return a number of blocks, a precision, or None where the budget alone decides."""
    raw = shape.repeats
    if raw is None:
        return None if shape.budget else DEFAULT_REPEATS
    if isinstance(raw, int) and not isinstance(raw, bool) and raw >= 1:
        return raw
    match = _PRECISION.fullmatch(raw) if isinstance(raw, str) else None
    share = attempt(match[1], Unit.SHARE) if match else None
    most = int(match[2]) if match and match[2] else None
    if isinstance(share, float) and 0 < share < 1 and (most is None or most >= LEAST_BLOCKS):
        return Precision(half_width_share=share, most=most)
    wanted = f'a number of blocks from 1, or a precision such as "until 3 %" or "until 3 %, at most 30" (at least {LEAST_BLOCKS})'
    document.wrong(("repeats",), f"repeats = {shown(raw)}", wanted)
    return None


def count_trials(
    document: Document,
    factors: tuple[Factor, ...],
    designed: consistency.Designed,
    repeats: int | Precision | None,
    slices: int | None,
) -> None:
    """Refuse a schedule nobody will ever run, with the arithmetic."""
    numbers = [
        (f"{len(factor.levels) + factor.returns} {factor.path}", len(factor.levels) + factor.returns) for factor in factors
    ]
    if designed.combinations is not None:
        numbers = [(f"{designed.combinations:,} combinations", designed.combinations)]
    blocks = repeats.most if isinstance(repeats, Precision) else repeats
    if blocks is not None:
        numbers.append((f"{blocks:,} repeats", blocks))
    if slices is not None:
        numbers.append((f"{slices:,} slices", slices))
    total = math.prod(number for _, number in numbers)
    if total > MOST_TRIALS:
        sums = " x ".join(text for text, _ in numbers)
        at = ("repeats",) if blocks is not None and blocks > DEFAULT_REPEATS else ("factors",)
        document.wrong(at, f"{total:,} trials ({sums})", f"at most {MOST_TRIALS:,}: fewer levels or repeats")


def matters(document: Document, text: str) -> float:
    """Return the share from which on a difference matters."""
    share = attempt(text, Unit.SHARE)
    if isinstance(share, Refusal):
        document.wrong(("matters",), share.found, share.expected)
    elif 0 < share < 1:
        return float(share)
    else:
        document.wrong(("matters",), f"matters = {text!r}", "a share above 0 % and below 100 %")
    return 0.05


def budget(document: Document, text: str | None) -> int | None:
    """Return the time that all trials may take; None without one."""
    if text is None:
        return None
    time = attempt(text, Unit.NANOSECONDS)
    if isinstance(time, Refusal):
        document.wrong(("budget",), time.found, time.expected)
        return None
    if time == 0:
        document.wrong(("budget",), f"budget = {text!r}", "a time above 0")
    return int(time)


def limits(document: Document, limits: Mapping[str, str], hosts: tuple[HostSpec, ...]) -> Mapping[str, str]:
    """Return what is known of links and devices: HOST.NAME is a link or a rate that can be held against a figure.

    Of a group it is so on each of its hosts, unless one of them has a line of its own.
    """
    found: dict[str, str] = {}
    own: dict[str, str] = {}
    known = {*named_hosts.names(hosts), *(spec.name for spec in hosts)}
    for name, text in limits.items():
        host = max((one for one in known if name.startswith(f"{one}.")), key=len, default=None)
        device = name.removeprefix(f"{host}.")
        if host is None or not device.strip():
            wanted = f'HOST.NAME in quotes, such as "local.sda" or "local.eth0"; HOST is {one_of(named_hosts.names(hosts))}'
            document.wrong(("limits", name), f"limit {name!r}", wanted, Point.KEY)
            continue
        capacity = links.capacity(text)
        if isinstance(capacity, Refusal):
            document.wrong(("limits", name), f"{capacity.found} for {name!r}", capacity.expected)
        members = named_hosts.members(hosts, host)
        (own if members == (host,) else found).update({f"{one}.{device}": text for one in members})
    return {**found, **own}


def implied(document: Document, keys: list[str]) -> tuple[str, ...]:
    """Return the facts that are said to follow from the factor: what would stand for every fact declares nothing."""
    for index, key in enumerate(keys):
        if not _FACT.fullmatch(key):
            wanted = 'the key of a fact, or how keys begin and a `*`: "sysctl.vm.dirty_ratio", "network.*"'
            document.wrong(("implied", index), f"implied fact {key!r}", wanted)
        elif key in keys[:index]:
            document.wrong(("implied", index), f"implied fact {key!r} twice", "each fact once")
    return tuple(keys)


def observers(document: Document, named: list[str] | None) -> tuple[str, ...] | None:
    """Return the observers that are named; None where the usual ones watch."""
    known = (*catalogue.names("observers"), catalogue.USUAL)
    for index, name in enumerate(named or ()):
        if name not in known:
            document.wrong(("observers", index), f"observer {name!r}", one_of(known, name), Point.VALUE)
        elif name in (named or ())[:index]:
            document.wrong(("observers", index), f"observer {name!r} twice", "each observer once", Point.VALUE)
    return None if named is None else tuple(named)
