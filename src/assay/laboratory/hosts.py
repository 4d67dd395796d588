"""The hosts of an experiment, opened together and closed together: this machine, machines behind ssh, workers of Dask."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assay.catalogue import Host, Undo
from assay.errors import AssayError, LostHostError, UsageError, refuse
from assay.frozen import dataclass
from assay.hosts.local import Local
from assay.records import HostSpec

if TYPE_CHECKING:
    from assay.hosts.far import FarHost
    from assay.hosts.shell import ShellHost
    from assay.hosts.ssh import Door

AT_ONCE = 8
"""Hosts that are opened, asked or closed at the same time."""
T = TypeVar("T")
Result = TypeVar("Result")


@contextlib.contextmanager
def opened(specs: Sequence[HostSpec], undo: Undo, engine: Path) -> Iterator[Mapping[str, Host]]:
    """Open all hosts of an experiment; yield them by their names. All are closed at the end, whatever ended the work.

    `undo` keeps what must be removed here, `engine` is the file that is placed where a host allows it. Raises UsageError for
    names and addresses that are none, and one AssayError with the reasons of all hosts that cannot be opened.
    """
    with attempted(specs, undo, engine) as found:
        errors = [one for one in found.values() if isinstance(one, AssayError)]
        if errors:
            raise errors[0] if len(errors) == 1 else AssayError("\n".join(dict.fromkeys(map(str, errors))))
        yield {name: one for name, one in found.items() if not isinstance(one, AssayError)}


@contextlib.contextmanager
def attempted(specs: Sequence[HostSpec], undo: Undo, engine: Path) -> Iterator[Mapping[str, Host | AssayError]]:
    """As `opened`; a host that cannot be opened has the reason in its place. Raises UsageError."""
    check_addresses(specs)
    with contextlib.ExitStack() as stack:
        found: dict[str, Host | AssayError] = {spec.name: Local(spec.name) for spec in specs if spec.via == "local"}
        found |= stack.enter_context(_by_ssh([spec for spec in specs if spec.via == "ssh"], engine))
        found |= _by_dask(stack, [spec for spec in specs if spec.via == "dask"], undo, engine)
        yield {spec.name: found[spec.name] for spec in specs}


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


def each(hosts: Mapping[str, Host], ask: Callable[[Host], T]) -> dict[str, T | AssayError]:
    """Ask several hosts, some at a time; a host that fails has its error in place of the answer."""

    def asked(host: Host) -> T | AssayError:
        try:
            return ask(host)
        except AssayError as error:
            return error
        except OSError as error:
            return LostHostError(f"host {host.name}: {error.strerror or error}")

    return dict(zip(hosts, _at_once(asked, list(hosts.values())), strict=True))


@dataclass(frozen=True, kw_only=True)
class _Reached:
    """A host behind ssh, and the door to it."""

    host: FarHost | ShellHost
    door: Door

    def close(self) -> None:
        self.host.close()
        self.door.close()


@contextlib.contextmanager
def _by_ssh(specs: Sequence[HostSpec], engine: Path) -> Iterator[Mapping[str, Host | AssayError]]:
    reached: list[_Reached | AssayError] = []
    try:
        reached += _connected(specs, engine)
        hosts = (one if isinstance(one, AssayError) else one.host for one in reached)
        yield dict(zip((spec.name for spec in specs), hosts, strict=True))
    finally:
        _at_once(_Reached.close, [one for one in reached if not isinstance(one, AssayError)])


def _connected(specs: Sequence[HostSpec], engine: Path) -> list[_Reached | AssayError]:
    """Every host or why it cannot be reached. An interrupt closes those that have been reached."""

    def attempt(spec: HostSpec) -> _Reached | AssayError:
        try:
            return reach(spec, engine)
        except AssayError as error:
            return error
        except OSError as error:
            return LostHostError(f"host {spec.name}: {error.strerror or error}")

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="opens hosts") as pool:
        reaching: list[Future[_Reached | AssayError]] = [pool.submit(attempt, spec) for spec in specs]
        try:
            return [future.result() for future in reaching]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            done = (future.result() for future in reaching if future.done() and not future.cancelled())
            _at_once(_Reached.close, [one for one in done if not isinstance(one, AssayError)])
            raise


def reach(spec: HostSpec, engine: Path) -> _Reached:
    """Connect to one host by its control address, else by its address. Raises an AssayError or OSError."""
    from assay.hosts.addresses import parsed
    from assay.hosts.ssh import Door

    where = spec.control or spec.address
    assert where is not None
    door = Door(spec.name, parsed(where))
    try:
        if spec.engine or spec.load:
            from assay.hosts.far import FarHost
            from assay.hosts.placing import start_agent

            return _Reached(host=FarHost(spec.name, start_agent(door, engine), address=where), door=door)
        from assay.hosts.shell import ShellHost

        host = ShellHost(spec.name, lambda words: door.open(f"exec {shlex.join(words)}"), address=where)
        return _Reached(host=host, door=door)
    except BaseException:
        door.close()
        raise


def _by_dask(
    stack: contextlib.ExitStack, specs: Sequence[HostSpec], undo: Undo, engine: Path
) -> Mapping[str, Host | AssayError]:
    if not specs:
        return {}
    from assay.hosts import dask

    try:
        return stack.enter_context(dask.opened(specs, engine, undo))
    except AssayError as error:
        return dict.fromkeys((spec.name for spec in specs), error)


def _at_once(do: Callable[[T], Result], items: Sequence[T]) -> list[Result]:
    with ThreadPoolExecutor(max(1, min(AT_ONCE, len(items)))) as pool:
        return list(pool.map(do, items))
