"""What stands against the sockets of a workload with two ends, on the hosts of its load and of its server; changes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from assay import catalogue
from assay.catalogue import Host
from assay.errors import Obstacle
from assay.machine import sockets
from assay.records import Experiment, TargetSpec, WorkloadSpec
from assay.settings.network import split
from assay.trial.knob_levels import At, levels

DATAGRAMS = "net_udp"


def obstacles(load: Mapping[str, Sequence[Host]], experiment: Experiment, hosts: Mapping[str, Host]) -> tuple[Obstacle, ...]:
    """Return every obstacle, at every level: `load` has the hosts of each workload's load, `hosts` those that are here."""
    found: list[Obstacle] = []
    for spec in experiment.workloads:
        if not catalogue.find("workloads", spec.kind).servers({}):
            continue
        targets = [one for one in experiment.used_targets() if one.host in hosts]
        ends = {host.name: host for host in (*load.get(spec.name, ()), *(hosts[one.host] for one in targets))}
        on_host = any(_is_on_host(one) for one in targets)
        wrong = itertools.chain(
            _of_sockets(experiment, spec, tuple(ends.values()), on_host=on_host), _of_ports(experiment, spec, targets, hosts)
        )
        found += [Obstacle(at=at, text=f"workload {spec.name}: {text}") for at, text in wrong]
    return tuple(dict.fromkeys(found))


def _of_sockets(experiment: Experiment, spec: WorkloadSpec, ends: Sequence[Host], *, on_host: bool) -> Iterator[tuple[At, str]]:
    """Yield what the kernels of both ends refuse: congestion controls, windows, MPTCP."""
    for host in ends:
        for name, at in levels(experiment, spec, "congestion"):
            if isinstance(name, str) and (wrong := sockets.no_congestion(host, name)):
                yield at, wrong
        for window, at in levels(experiment, spec, "window"):
            if isinstance(window, int):
                yield from ((at, wrong) for wrong in sockets.small_buffers(host, window))
        wanting = next((at for on, at in levels(experiment, spec, "mptcp") if on is True), None)
        if wanting is not None and (wrong := sockets.no_mptcp(host, new_space=not on_host)):
            yield wanting, wrong


def _is_on_host(target: TargetSpec) -> bool:
    """Whether the server has an address of the host: else the target makes a namespace, whose ports are free."""
    return any(knob.name == "address" for knob in catalogue.find("targets", target.kind).knobs)


def _of_ports(
    experiment: Experiment, spec: WorkloadSpec, targets: Sequence[TargetSpec], hosts: Mapping[str, Host]
) -> Iterator[tuple[At, str]]:
    """Yield the ports of targets at which something listens already."""
    for target in targets:
        for written, at in levels(experiment, target, "address"):
            address, port = split(str(written or ""))
            if not port.isdigit():
                continue
            try:
                by = sockets.taken(hosts[target.host], address, int(port), datagrams=spec.kind == DATAGRAMS)
            except ValueError:
                continue  # no address: the target says so
            if by is not None:
                free = f"Free it, or leave the port of target {target.name} out: any free port is taken."
                yield at, f"port {port} of {target.host} is in use ({by} listens). {free}"
