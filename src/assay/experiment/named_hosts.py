"""Hosts where the rest of an experiment file, or a call, names them: single ones, groups, roles, other addresses."""

from __future__ import annotations

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
    """Return the experiment with other addresses, from words HOST=ADDRESS. Raises UsageError with all that is wrong.

    An address for control goes with the former address. The digest stays: addresses are no part of it.
    """
    changed = {host.name: host for host in experiment.hosts}
    mistakes = []
    for word in words:
        name, _, address = word.partition("=")
        refusal = _no_other_address(changed, name, address)
        if refusal is not None:
            mistakes.append(f"found --host {shown(word)}: {refusal.found}; expected {refusal.expected}")
        else:
            changed[name] = replace(changed[name], address=address, control=None)
    refuse(mistakes)
    return replace(experiment, hosts=tuple(changed.values()))


def _no_other_address(known: Mapping[str, HostSpec], name: str, address: str) -> Refusal | None:
    """Return why a host cannot get this address."""
    having = [host for host in known.values() if host.address is not None]
    if name in (host.name for host in having):
        return addresses.refusal(address)
    group = members(having, name)
    wanted = f"one host of it: {group[0]} to {group[-1]}" if group else f"HOST=ADDRESS, HOST is {one_of(names(having), name)}"
    return Refusal(found=f"host {name!r}" + (", which has no address" if name in known else ""), expected=wanted)
