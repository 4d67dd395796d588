"""Hosts where the rest of an experiment file, or a call, names them: single ones, groups, roles, other addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.errors import refuse
from assay.experiment import addresses
from assay.records import Experiment, HostSpec
from assay.toml_document import Document, Path, Point, one_of, shown
from assay.units import Refusal

LOCAL = "local"
ROLES = ("load",)
"""What a host can be for a workload."""
_LISTED = re.compile(r",(?![^\[]*\])")
"""A comma between addresses, not in the brackets of a range."""


def members(known: Sequence[HostSpec], name: str) -> tuple[str, ...]:
    """Return the hosts that a name stands for: the one of that name, else all of the group; none for a strange name."""
    own = tuple(host.name for host in known if host.name == name)
    return own or tuple(host.name for host in known if host.group == name)


def names(known: Sequence[HostSpec]) -> tuple[str, ...]:
    """Return what may be named: hosts of their own, and groups."""
    return tuple(dict.fromkeys(host.group or host.name for host in known))


def one(document: Document, at: Path, found: object, known: Sequence[HostSpec]) -> str:
    """Return the host of this name; a group does where it has one member."""
    named = acting(document, at, several(document, at, found, known), known)
    if len(named) > 1:
        document.wrong(at, f"host {shown(found)}, a group of {len(named)} hosts", f"one host: {named[0]} to {named[-1]}")
    return named[0] if named else LOCAL


def acting(document: Document, at: Path, named: tuple[str, ...], known: Sequence[HostSpec]) -> tuple[str, ...]:
    """Return the hosts of these that run commands; note a mistake for one that only answers SNMP."""
    devices = {host.name for host in known if host.via == "snmp"}
    for name in named:
        if name in devices:
            document.wrong(
                at, f"host {name!r}, which is reached by snmp", "a host by ssh, dask or local: a device gives counters alone"
            )
    return tuple(name for name in named if name not in devices)


def several(document: Document, at: Path, found: object, known: Sequence[HostSpec]) -> tuple[str, ...]:
    """Return the hosts that a name stands for; none, and a mistake unless it is one of `[hosts]` that was refused there."""
    named = members(known, found) if isinstance(found, str) else ()
    written = document.values.get("hosts")
    if not named and not (isinstance(written, dict) and isinstance(found, str) and found in written):
        document.wrong(at, f"host {shown(found)}", one_of(names(known), str(found)))
    return named


def roles(document: Document, at: Path, found: object, known: Sequence[HostSpec]) -> dict[str, tuple[str, ...]]:
    """Return who plays which role: `{ load = ["c", "local"] }`, groups as all their members."""
    if not isinstance(found, dict):
        document.wrong(at, shown(found), 'a table such as { load = ["c1", "c2"] }')
        return {}
    played: dict[str, tuple[str, ...]] = {}
    for role, listed in found.items():
        here = (*at, role)
        if role not in ROLES:
            document.wrong(here, f"the role {role!r}", f"{one_of(ROLES, role)}, the only role", Point.KEY)
        elif not isinstance(listed, list) or not listed:
            document.wrong(here, shown(listed), 'a list of hosts such as ["c1", "c2"]')
        else:
            played[role] = _players(document, here, listed, known)
    return played


def _players(document: Document, at: Path, listed: list[object], known: Sequence[HostSpec]) -> tuple[str, ...]:
    """Return the hosts that load comes from; each once, and each one may load."""
    willing = {host.name for host in known if host.load or host.name == LOCAL}
    found: dict[str, None] = {}
    for index, name in enumerate(listed):
        named = acting(document, (*at, index), several(document, (*at, index), name, known), known)
        twice = next((host for host in named if host in found), None)
        if twice is not None:
            document.wrong((*at, index), f"host {twice!r} twice", "each host once")
        if not willing.issuperset(named):
            document.wrong((*at, index), f"host {shown(name)} without load = true", "load = true in its line of [hosts]")
        found |= dict.fromkeys(named)
    return tuple(found)


def readdressed(experiment: Experiment, words: Sequence[str]) -> Experiment:
    """Return the experiment with other addresses, from words HOST=ADDRESS, or GROUP=ADDRESSES such as `ws=user@10.0.0.[1-30]`.

    An address for control goes with the former address. The digest stays: addresses are no part of it. Raises UsageError with all
    that is wrong.
    """
    changed = {host.name: host for host in experiment.hosts}
    mistakes = []
    for word in words:
        name, _, address = word.partition("=")
        given = _other_addresses(changed, name, address)
        if isinstance(given, Refusal):
            mistakes.append(f"found --host {shown(word)}: {given.found}; expected {given.expected}")
        else:
            changed |= {one: replace(changed[one], address=other, control=None) for one, other in given.items()}
    refuse(mistakes)
    return replace(experiment, hosts=tuple(changed.values()))


def _other_addresses(known: Mapping[str, HostSpec], name: str, address: str) -> Mapping[str, str] | Refusal:
    """Return the new address of a host, or of each host of a group; why there can be none."""
    having = [host for host in known.values() if host.address is not None]
    group = members(having, name)
    if not group:
        named = f"host {name!r}" + (", which has no address" if name in known else "")
        return Refusal(found=named, expected=f"HOST=ADDRESS, HOST is {one_of(names(having), name)}")
    if group == (name,):
        return addresses.refusal(address) or {name: address}
    found: list[str] = []
    for text in _LISTED.split(address):
        grown = addresses.expanded(text)
        if isinstance(grown, Refusal):
            return grown
        found += grown
    if not len(set(found)) == len(found) == len(group):
        own = f"as many as {group[0]} to {group[-1]}: {len(group)}, such as {name}=user@10.0.0.[1-{len(group)}]"
        return Refusal(found=f"{len(set(found))} different addresses", expected=own)
    return dict(zip(group, found, strict=True))
