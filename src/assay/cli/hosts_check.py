"""What a host is, how well its clock is known, and which evidence it cannot give."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from assay import catalogue, measures
from assay.catalogue import Host
from assay.cli.doctor import MissingObserver, gaps
from assay.errors import AssayError
from assay.frozen import dataclass
from assay.hosts.placing import old_engines
from assay.hosts.several import at_once
from assay.laboratory.hosts import DOORS, OpenedHost
from assay.laboratory.throughput import PairRate
from assay.machine.engine_file import engine_path
from assay.terminal.output import Row, table
from assay.units import Unit

PROBES = 8


@dataclass(frozen=True, kw_only=True)
class ClockCheck:
    """Another machine's CLOCK_MONOTONIC less ours, by how much that can be wrong, and the shortest round trip (ns)."""

    offset_ns: int
    bound_ns: int
    round_trip_ns: int


@dataclass(frozen=True, kw_only=True)
class HostCheck:
    """What was found of one host; `error` says why it cannot be used."""

    name: str
    address: str
    error: str = ""
    host_key: str = ""
    engine: str = ""
    """Where the engine is there; empty where it may not be placed."""
    fresh: bool = False
    """Whether the engine was placed by this check."""
    old_engines: tuple[str, ...] = ()
    """Those of other versions that nobody runs there; `clean` removes them."""
    system: str = ""
    kernel: str = ""
    serial: str = ""
    boot: str = ""
    root: bool | None = None
    clock: ClockCheck | None = None
    missing: tuple[MissingObserver, ...] = ()
    """Observers that do not work there, with the evidence that will be missing."""


def checked(found: Sequence[OpenedHost]) -> tuple[HostCheck, ...]:
    """Check every host: clocks one after another, so that none waits for another one's answer; the rest at once."""
    clocks = [_clock(one) for one in found]
    return tuple(at_once(list(zip(found, clocks, strict=True)), lambda pair: _checked(*pair)))


def _clock(attempt: OpenedHost) -> ClockCheck | None:
    if attempt.host is None:
        return None
    try:
        probes = [attempt.host.probe() for _ in range(PROBES)]
    except OSError:
        return None
    asked, theirs, answered = min(probes, key=lambda probe: probe[2] - probe[0])
    trip = answered - asked
    return ClockCheck(offset_ns=theirs - (asked + trip // 2), bound_ns=(trip + 1) // 2, round_trip_ns=trip)


def _checked(attempt: OpenedHost, clock: ClockCheck | None) -> HostCheck:
    spec, host = attempt.spec, attempt.host
    address = spec.control or spec.address or spec.scheduler or spec.cluster or ""
    if host is None:
        return HostCheck(name=spec.name, address=address, error=str(attempt.error))
    try:
        machine = host.machine()
        return HostCheck(
            name=spec.name,
            address=address,
            host_key=attempt.host_key,
            engine=attempt.engine.path if attempt.engine else "",
            fresh=attempt.engine.fresh if attempt.engine else False,
            old_engines=old_engines(host, engine_path()) if spec.via in DOORS else (),
            system=_system(host),
            kernel=_kernel(host),
            serial=machine.serial,
            boot=machine.boot,
            root=host.is_root(),
            clock=clock,
            missing=gaps(host, catalogue.names("observers")),
        )
    except (AssayError, OSError) as error:
        return HostCheck(name=spec.name, address=address, error=str(error), host_key=attempt.host_key)


def _system(host: Host) -> str:
    with contextlib.suppress(OSError):
        for line in host.read("/etc/os-release").splitlines():
            if line.startswith("PRETTY_NAME="):
                return line.partition("=")[2].strip("\"'")
    return ""


def _kernel(host: Host) -> str:
    return host.run(["uname", "-srm"]).stdout.strip()


def text(found: Sequence[HostCheck], same: Sequence[Sequence[str]], rates: Sequence[PairRate] = ()) -> str:
    """Return the findings for people, host by host, and what concerns several."""
    lines = [line for one in found for line in _lines(one)]
    lines += [f"{' and '.join(names)} are one machine: traffic between them never leaves it." for names in same]
    lines += _rates(rates)
    failed = sum(1 for one in found if one.error)
    return "\n".join((*lines, f"{len(found) - failed} of {len(found)} hosts can be used."))


def _rates(rates: Sequence[PairRate]) -> list[str]:
    """A table of the pairs that were measured, and the reason for each of the others."""
    header = ("server", "load", "to server", "to load", "least RTT", "sent again", "control")
    rows = [
        Row(
            cells=(
                *(one.server, one.load, _shown(one.to_server, Unit.BYTES_PER_S), _shown(one.to_load, Unit.BYTES_PER_S)),
                *(_shown(one.min_rtt_ns, Unit.NANOSECONDS), _shown(one.retransmits, Unit.COUNT), one.congestion or "-"),
            )
        )
        for one in rates
        if not one.error
    ]
    failed = [f"no   {one.load} to {one.server}: {one.error}" for one in rates if one.error]
    shown = ["One connection for 1 s in each direction:", table(header, rows, range(2, 6)), ""] if rows else []
    return [*shown, *failed, *([""] if failed else [])]


def _shown(value: float | None, unit: Unit) -> str:
    return "-" if value is None else measures.with_unit(value, unit)


def _lines(one: HostCheck) -> list[str]:
    if one.error:
        return [f"no   {one.name}: {one.error}", ""]
    lines = [f"yes  {one.name}  {one.address}".rstrip()]
    lines += [f"     system   {', '.join(filter(None, (one.system, one.kernel)))}; {'root' if one.root else 'not root'}"]
    if one.host_key:
        lines.append(f"     key      {one.host_key}")
    if one.engine:
        lines.append(f"     engine   {one.engine}{' (placed now)' if one.fresh else ''}")
    if one.old_engines:
        lines.append(
            f"     old      {', '.join(one.old_engines)}: engines that nobody runs. `assay hosts FILE clean` removes them."
        )
    if one.clock is not None and one.clock.round_trip_ns:
        clock = one.clock
        lines.append(
            f"     clock    {clock.offset_ns / 1e9:+.6f} s from ours, ±{clock.bound_ns / 1e6:.2f} ms;"
            f" round trip {clock.round_trip_ns / 1e6:.2f} ms"
        )
    lines += [f"     missing  {gap.observer}: {gap.reason}" for gap in one.missing]
    return [*lines, ""]
