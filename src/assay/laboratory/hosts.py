"""The hosts of an experiment, opened and closed together: this machine, machines behind ssh, workers of Dask, switches."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from assay.catalogue import Host, Undo
from assay.errors import AssayError, LostHostError, UsageError, refuse
from assay.frozen import dataclass
from assay.hosts.local import Local
from assay.hosts.several import AT_ONCE, all_of, at_once, each
from assay.records import ADDRESS, HostSpec

if TYPE_CHECKING:
    from assay.hosts.exec_door import ExecDoor
    from assay.hosts.far import FarHost
    from assay.hosts.placing import PlacedEngine
    from assay.hosts.shell import ShellHost
    from assay.hosts.ssh import Door


DOORS = ("ssh", "exec")
"""The ways on which commands are started at a host."""


@dataclass(frozen=True, kw_only=True)
class OpenedHost:
    """A host that was opened, or why it could not be."""

    spec: HostSpec
    host: Host | None = None
    error: AssayError | None = None
    host_key: str = ""
    """Of a host by ssh: kind and fingerprint of the key that it proved."""
    engine: PlacedEngine | None = None
    """Of a host by ssh where the engine may be: its place, and whether it has come there just now."""
    end: Callable[[], None] | None = None
    """Closes the host."""


@contextlib.contextmanager
def opened(specs: Sequence[HostSpec], undo: Undo, engine: Path) -> Iterator[Mapping[str, Host]]:
    """Open all hosts of an experiment; yield them by their names. All are closed at the end, whatever ended the work.

    `undo` keeps what must be removed here, `engine` is the file that is placed where a host allows it. Raises UsageError for
    names and addresses that are none, and one AssayError with the reasons of all hosts that cannot be opened.
    """
    with attempted(specs, undo, engine) as found:
        reached = all_of({one.spec.name: one.host if one.error is None else one.error for one in found})
        _share_looks(reached.values())
        yield {name: host for name, host in reached.items() if host is not None}


def _share_looks(hosts: Iterable[Host | None]) -> None:
    """Let far hosts learn from each other what is asked."""
    from assay.hosts.far import FarHost
    from assay.hosts.shared_looks import SharedLooks

    shared = SharedLooks()
    for host in hosts:
        if isinstance(host, FarHost):
            host.shared = shared


@contextlib.contextmanager
def attempted(specs: Sequence[HostSpec], undo: Undo, engine: Path) -> Iterator[tuple[OpenedHost, ...]]:
    """As `opened`; a host that cannot be opened has the reason in its place. Raises UsageError."""
    check_addresses(specs)
    with contextlib.ExitStack() as stack:
        found = {spec.name: OpenedHost(spec=spec, host=Local(spec.name)) for spec in specs if spec.via == "local"}
        found |= {
            one.spec.name: one
            for one in stack.enter_context(_behind_doors([spec for spec in specs if spec.via in DOORS], engine))
        }
        devices = at_once([spec for spec in specs if spec.via == "snmp"], _by_snmp)
        stack.callback(_close, devices)
        found |= {one.spec.name: one for one in devices}
        found |= _by_dask(stack, [spec for spec in specs if spec.via == "dask"], undo, engine)
        yield tuple(found[spec.name] for spec in specs)


def check_addresses(specs: Sequence[HostSpec]) -> None:
    """Raise UsageError with every name that two hosts have, and every address that ssh does not take."""
    from assay.hosts.addresses import parsed

    names = [spec.name for spec in specs]
    mistakes = [f"found two hosts named {name!r}; expected one" for name in dict.fromkeys(names) if names.count(name) > 1]
    for spec in specs:
        if spec.via == "ssh" and spec.address is None:
            mistakes.append(f"host {spec.name}: found no address; expected one, as ssh takes it")
        for address in filter(None, (spec.address, spec.control) if spec.via == "ssh" else ()):
            try:
                parsed(address)
            except UsageError as error:
                mistakes.append(f"host {spec.name}: {error}")
    refuse(mistakes)


def same_machines(hosts: Mapping[str, Host]) -> tuple[tuple[str, ...], ...]:
    """Return the names of hosts that are one machine, machine by machine; a lost host is left out."""
    boots: dict[str, list[str]] = {}
    for name, machine in each(hosts, lambda host: host.machine()).items():
        if not isinstance(machine, AssayError) and machine.boot:
            boots.setdefault(machine.boot, []).append(name)
    return tuple(tuple(names) for names in boots.values() if len(names) > 1)


@contextlib.contextmanager
def _behind_doors(specs: Sequence[HostSpec], engine: Path) -> Iterator[list[OpenedHost]]:
    found: list[OpenedHost] = []
    try:
        found += _connected(specs, engine)
        yield found
    finally:
        _close(found)


def _connected(specs: Sequence[HostSpec], engine: Path) -> list[OpenedHost]:
    """Every host, or why it cannot be reached. An interrupt closes those that have been reached."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="opens hosts") as pool:
        reaching = [pool.submit(_attempt, spec, engine) for spec in specs]
        try:
            return [future.result() for future in reaching]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            _close([future.result() for future in reaching if not future.cancelled()])
            raise


def _attempt(spec: HostSpec, engine: Path) -> OpenedHost:
    """Connect to a host."""
    door = door_to(spec)
    try:
        return _reached(spec, door, engine)
    except BaseException as error:
        door.close()
        if isinstance(error, AssayError):
            return OpenedHost(spec=spec, error=error)
        if isinstance(error, OSError):
            return OpenedHost(spec=spec, error=LostHostError(f"host {spec.name}: {error.strerror or error}"))
        raise


def door_to(spec: HostSpec) -> Door | ExecDoor:
    """Return the door to a host by ssh, at its control address, else at its address; or to one by a command."""
    if spec.via == "exec":
        from assay.hosts.exec_door import ExecDoor

        return ExecDoor(spec.name, command_of(spec))
    from assay.hosts.addresses import parsed
    from assay.hosts.ssh import Door

    return Door(spec.name, parsed(spec.control or spec.address or ""))


def command_of(spec: HostSpec) -> tuple[str, ...]:
    """Return the words of the command by which a host is reached."""
    words = spec.options.get("command", ())
    return tuple(str(word).replace(ADDRESS, spec.address or "") for word in words) if isinstance(words, tuple) else ()


def _reached(spec: HostSpec, door: Door | ExecDoor, engine: Path) -> OpenedHost:
    where, placed = spec.control or spec.address or "", None
    host: FarHost | ShellHost
    if spec.engine or spec.load:
        from assay.hosts.far import FarHost
        from assay.hosts.placing import start_agent

        channel, placed = start_agent(door, engine)
        host = FarHost(spec.name, channel, address=where)
    else:
        from assay.hosts.shell import ShellHost

        host = ShellHost(spec.name, door, address=where)
    host.lab_bytes = door.moved

    def end() -> None:
        host.close()
        door.close()

    return OpenedHost(spec=spec, host=host, host_key=door.host_key, engine=placed, end=end)


def _by_snmp(spec: HostSpec) -> OpenedHost:
    """Ask a device for its description, with the secret of its file."""
    from assay.hosts.snmp import SnmpHost
    from assay.hosts.snmp_security import community_of, user_of

    secrets = {"community_file": community_of, "credentials_file": user_of}
    key = next(key for key in secrets if key in spec.options)
    ports = spec.options.get("ports", ())
    assert isinstance(ports, tuple)
    try:
        who = secrets[key](Path(str(spec.options[key])).expanduser())
        host = SnmpHost(spec.name, spec.address or "", who, tuple(map(str, ports)))
    except AssayError as error:
        return OpenedHost(spec=spec, error=error)
    return OpenedHost(spec=spec, host=host, end=host.close)


def _by_dask(stack: contextlib.ExitStack, specs: Sequence[HostSpec], undo: Undo, engine: Path) -> Mapping[str, OpenedHost]:
    if not specs:
        return {}
    from assay.hosts import dask

    try:
        hosts = stack.enter_context(dask.opened(specs, engine, undo))
    except AssayError as error:
        return {spec.name: OpenedHost(spec=spec, error=error) for spec in specs}
    return {spec.name: OpenedHost(spec=spec, host=hosts[spec.name]) for spec in specs}


def _close(found: Sequence[OpenedHost]) -> None:
    """Close hosts, some at a time: one that is gone lets us wait."""
    at_once([one.end for one in found if one.end is not None], lambda end: end())
