"""The hosts of a run in words: who took part, what was done to each before and after the phases, and missing evidence by host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from assay import measures
from assay.answer import marks
from assay.records import CacheState, HostClock, Judged, Missing, Observations, PhaseHost, Run, sides
from assay.units import Unit

HEAD = ("host", "role", "clients", "clock", "cache before", "drain", "quiet", "missing evidence")
NUMBERS = (2, 5)
"""Columns of figures."""
FEW = 4
"""So many hosts are named one by one."""
MOST_KINDS = 3
"""So many kinds of missing evidence are named in a table."""
MOST_LINES = 4
"""So many sets of hosts are named."""
NONE = "-"


def named(run: Run) -> str:
    """`target on s; load from 2 hosts: c.1, c.2`; empty where one host took part."""
    if not run.is_spread:
        return ""
    parts = (
        f"target on {listed(run.target_hosts)}" if run.target_hosts else "",
        f"load from {marks.count(len(run.load_hosts), 'host')}: {listed(run.load_hosts)}" if run.load_hosts else "",
    )
    return "; ".join(part for part in parts if part)


def of_runs(runs: Iterable[Judged]) -> tuple[str, ...]:
    """Who took part, once for all runs of the same hosts; none for runs on one host."""
    found = list(dict.fromkeys(text for judged in runs if (text := named(judged.run))))
    return tuple(found[:MOST_LINES]) + ((f"{len(found) - MOST_LINES} more sets of hosts",) if len(found) > MOST_LINES else ())


def listed(names: Sequence[str]) -> str:
    """`c.1, c.2`; of many hosts the first and the last: `c.1 to c.30`."""
    return ", ".join(names) if len(names) <= FEW else f"{names[0]} to {names[-1]}"


def rows(run: Run, seen: Observations) -> tuple[tuple[str, ...], ...]:
    """A row for each host, in the order of HEAD; of several phases the worst figure counts. None where one host took part."""
    kinds = _kinds(sides.lacking(run, seen))
    best = {clock.host: clock for clock in run.hosts}
    return tuple(_row(run, host, best.get(host), kinds.get(host, ())) for host in run.host_names) if run.is_spread else ()


def _row(run: Run, host: str, best: HostClock | None, kinds: Sequence[str]) -> tuple[str, ...]:
    found = [(phase.measured, one) for phase in run.phases if (one := phase.on_host(host)) is not None]
    drains = [one.drain_ns for _, one in found if one.drain_ns is not None]
    clients = {client.index for phase in run.phases for client in phase.clients if client.host == host}
    more = f" and {len(kinds) - MOST_KINDS} more" if len(kinds) > MOST_KINDS else ""
    return (
        host,
        role(run, host),
        str(len(clients)) if clients else NONE,
        clock(best, [one.clock for _, one in found if one.clock is not None]),
        "; ".join(dict.fromkeys(text for measured, one in found if measured and (text := cache(one)))) or NONE,
        measures.with_unit(max(drains), Unit.NANOSECONDS) if drains else NONE,
        quiet([one for _, one in found]),
        ", ".join(kinds[:MOST_KINDS]) + more or "none",
    )


def role(run: Run, host: str) -> str:
    """`target`, `load`, `target, load`; `server` is a further node of the target's server."""
    is_target = "target" if host == run.target_host else "server" if host in run.target_hosts else ""
    return ", ".join(part for part in (is_target, "load" if host in run.load_hosts else "") if part) or NONE


def clock(best: HostClock | None, compared: Sequence[HostClock]) -> str:
    """`+2.00 s ± 140 µs`: a host's clock against ours, with the largest bound of any phase."""
    if best is None:
        return "not compared"
    error = max((one.error_ns for one in compared), default=best.error_ns)
    if not best.offset_ns and not error:
        return "ours"
    sign = "-" if best.offset_ns < 0 else "+"
    offset = measures.with_unit(abs(best.offset_ns), Unit.NANOSECONDS)
    return f"{sign}{offset} ± {measures.with_unit(error, Unit.NANOSECONDS)}"


def cache(one: PhaseHost) -> str:
    """`cold, 0 % cached`: the proved state of the caches before a phase, and how much of its files was in memory."""
    states = (CacheState.COLD, CacheState.WARM)
    parts = (
        one.cache_proved.value if one.cache_proved in states else "",
        f"{measures.percent(one.cached_share_before)} cached" if one.cached_share_before is not None else "",
        f"server's files {measures.percent(one.server_cached_before)} cached" if one.server_cached_before is not None else "",
        "not cold" if one.not_cold is not None else "",
    )
    return ", ".join(part for part in parts if part)


def quiet(found: Sequence[PhaseHost]) -> str:
    """Whether a host was quiet before every phase, and after how long at the most."""
    known = [one.quiet for one in found if one.quiet is not None]
    waited = max((one.quiesce_ns for one in found), default=0)
    if not known:
        return NONE
    return ("yes" if all(known) else "no") + (f", after {measures.with_unit(waited, Unit.NANOSECONDS)}" if waited else "")


def missing(observed: Iterable[tuple[Run, Observations]]) -> tuple[tuple[str, str], ...]:
    """Evidence keys, and where and why they are missing: those of the same hosts and reason together, each once."""
    where: dict[tuple[str, str], dict[str, None]] = {}
    load: dict[str, None] = {}
    everyone: dict[str, None] = {}
    for run, seen in observed:
        load |= dict.fromkeys(run.load_hosts)
        everyone |= dict.fromkeys(run.host_names)
        for one in sides.lacking(run, seen):
            where.setdefault((one.key, one.reason), {})[one.host] = None
    keys: dict[tuple[tuple[str, ...], str], list[str]] = {}
    for (key, reason), hosts in where.items():
        keys.setdefault((tuple(host for host in everyone if host in hosts), reason), []).append(key)
    texts = ((names, _where(hosts, tuple(load), tuple(everyone)), reason) for (hosts, reason), names in keys.items())
    return tuple((", ".join(names), f"{place}: {reason}" if place else reason) for names, place, reason in texts)


def _where(hosts: tuple[str, ...], load: tuple[str, ...], everyone: tuple[str, ...]) -> str:
    """`on s`, `on all 30 load hosts`, `on 3 of 30 load hosts`; empty for all hosts of a run."""
    if set(hosts) == set(everyone):
        return ""
    if len(hosts) <= FEW:
        return f"on {', '.join(hosts)}"
    if set(hosts) == set(load):
        return f"on all {len(load)} load hosts"
    of_load = sum(host in load for host in hosts)
    return f"on {of_load} of {len(load)} load hosts" if of_load == len(hosts) else f"on {len(hosts)} of {len(everyone)} hosts"


def _kinds(found: Iterable[Missing]) -> Mapping[str, tuple[str, ...]]:
    """Host -> kinds of missing evidence: the layers of its keys."""
    kinds: dict[str, dict[str, None]] = {}
    for one in found:
        kinds.setdefault(one.host, {})[one.key.removeprefix(sides.FACT).partition(".")[0]] = None
    return {host: tuple(each) for host, each in kinds.items()}


def lines(run: Run, seen: Observations) -> Iterator[str]:
    """A line for each entry of `missing`; none where one host took part."""
    if run.is_spread:
        yield from (f"    {keys} ({why})" for keys, why in missing([(run, seen)]))
