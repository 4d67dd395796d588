"""How fast a stream is between two hosts, in both directions: one connection of `net_stream` for a second each."""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from assay import measures
from assay.catalogue import LINUX, Host, system_of
from assay.errors import AssayError, RefusedError
from assay.frozen import dataclass
from assay.hosts.addresses import parsed
from assay.hosts.commands import ENGINE
from assay.hosts.local import Local
from assay.machine.engine_file import engine_path
from assay.records import Experiment, HostSpec, Measure, Outcome, Run, TargetSpec, Trial, Value, WorkloadSpec
from assay.trial.fleet import Station
from assay.trial.runner import TrialRunner
from assay.undo.ledger import Ledger

DURATION_NS = 1_000_000_000
WAYS = {"send": "delivered_bytes_per_s", "receive": "bytes_per_s"}
"""Direction, seen from the load -> the figure of the bytes that arrived."""


@dataclass(frozen=True, kw_only=True)
class PairRate:
    """What one connection between two hosts carried; `error` says why it carried nothing."""

    server: str
    load: str
    address: str = ""
    """Where the load reached the server."""
    to_server: float | None = None
    """Bytes/s that arrived."""
    to_load: float | None = None
    min_rtt_ns: int | None = None
    retransmits: int | None = None
    congestion: str | None = None
    error: str = ""


def pairs(experiment: Experiment, hosts: Mapping[str, Host], *, every: bool) -> tuple[tuple[str, str], ...]:
    """Return server and load of each pair: the target's hosts with the hosts of the load, or all with all.

    Left out are hosts where the engine may not be placed, and pairs of one host.
    """
    able = [spec.name for spec in experiment.hosts if spec.name in hosts and _has_engine(spec, hosts[spec.name])]
    if every:
        return tuple(itertools.combinations(able, 2))
    servers = dict.fromkeys(spec.host for spec in experiment.used_targets())
    load = dict.fromkeys(name for spec in experiment.workloads for name in experiment.load_hosts(spec))
    return tuple((one, other) for one in servers for other in load if one != other and {one, other} <= set(able))


def _has_engine(spec: HostSpec, host: Host) -> bool:
    return spec.via == "local" or ((spec.engine or spec.load) and system_of(host) == LINUX)


def measured(
    experiment: Experiment, hosts: Mapping[str, Host], chosen: Sequence[tuple[str, str]], ledger: Ledger
) -> Iterator[PairRate]:
    """Measure one pair after another, so that none shares its way with the next."""
    specs = {spec.name: spec for spec in experiment.hosts}
    for server, load in chosen:
        try:
            address = reachable(specs[server], hosts[server], hosts[load], specs[load])
            yield _measured((specs[server], specs[load]), address, hosts, ledger)
        except (AssayError, OSError) as error:
            yield PairRate(server=server, load=load, error=str(error))


def reachable(server: HostSpec, host: Host, load: Host, other: HostSpec) -> str:
    """Return the IP address by which the load's host reaches the server's. Raises RefusedError where none is known."""
    if server.via == "local":
        return _own(host, _number(load, _name(other)))
    return _number(load, _name(server))


def _name(spec: HostSpec) -> str:
    if spec.address is None:
        raise RefusedError(f"no address of host {spec.name} is known. Give one with `address`.")
    return parsed(spec.address).host


def _number(host: Host, name: str) -> str:
    """The IP address of a name, as a host resolves it."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        words = host.run(["getent", "ahosts", name], check=False).stdout.split()
    if not words:
        raise RefusedError(f"host {host.name} does not know the name {name}. Give an IP address with `address`.")
    return words[0]


def _own(host: Host, towards: str) -> str:
    """The address with which this machine speaks to another one."""
    match = re.search(r"\bsrc (\S+)", host.run(["ip", "route", "get", towards]).stdout)
    if match is None:
        raise RefusedError(f"no route from {host.name} to {towards}")
    return match[1]


def _measured(specs: tuple[HostSpec, HostSpec], address: str, hosts: Mapping[str, Host], ledger: Ledger) -> PairRate:
    server, load = specs
    far = {
        name: Station(host=hosts[name], undo=ledger.on(hosts[name]), scratch="", engine=ENGINE)
        for name in (server.name, load.name)
        if not isinstance(hosts[name], Local)
    }
    rates: dict[str, float | None] = {}
    runs: list[Run] = []
    for number, (way, figure) in enumerate(WAYS.items(), 1):
        experiment = _experiment(specs, address, way)
        runner = TrialRunner(
            experiment=experiment, host=Local(), ledger=ledger, scratch="", engine=str(engine_path()), observers=(), far=far
        )
        trial = Trial(id=number, experiment="", levels={}, replicate=0, block=0, sitting=0, position=0, seed=number)
        run, seen = runner.run(trial, 1)
        if run.outcome is Outcome.INTERRUPTED:
            raise KeyboardInterrupt
        if run.outcome is not Outcome.FINISHED:
            return PairRate(server=server.name, load=load.name, address=address, error=run.error or str(run.outcome))
        found = measures.value(run, seen, Measure(workload="stream", operation=way, figure=figure))
        rates[way] = found.value if found else None
        runs.append(run)
    return _with_account(
        PairRate(server=server.name, load=load.name, address=address, to_server=rates["send"], to_load=rates["receive"]), runs
    )


def _with_account(pair: PairRate, runs: Sequence[Run]) -> PairRate:
    """The same with what the kernels of the sending ends say of their connections."""
    (first,), (second,) = (run.phases for run in runs)
    ends = [one.net for one in (*first.clients, *second.servers) if one.net is not None]
    connections = [connection for end in ends for connection in end.connections]
    trips = [trip for one in connections if (trip := one.tcp.get("min_rtt_ns")) is not None]
    again = [count for one in connections if (count := one.tcp.get("retransmits")) is not None]
    return replace(
        pair,
        min_rtt_ns=min(trips, default=None),
        retransmits=sum(again) if again else None,
        congestion=next((one.congestion for one in connections if one.congestion), None),
    )


def _experiment(specs: tuple[HostSpec, HostSpec], address: str, way: str) -> Experiment:
    server, load = specs
    knobs: dict[str, Value] = {"direction": way, "duration": DURATION_NS, "quiesce": 0}
    return Experiment(
        title="Throughput of a pair",
        question="",
        targets=(TargetSpec(name="wire", kind="socket", knobs={"address": address}, host=server.name),),
        workloads=(WorkloadSpec(name="stream", kind="net_stream", knobs=knobs, hosts={"load": (load.name,)}),),
        factors=(),
        measures=(),
        hosts=specs,
    )
