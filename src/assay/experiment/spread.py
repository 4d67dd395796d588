"""Which hosts an experiment needs for what, how many clients come to each, and what a plan cannot know of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from assay.experiment.named_hosts import LOCAL
from assay.machine import server_nodes
from assay.records import UNREACHED, Action, Experiment, HostSpec, PlanNote, TargetSpec, Trial, WorkloadSpec
from assay.units import counted

SHOWN = 6
"""Hosts and groups that are named on one line."""


def taking_part(experiment: Experiment) -> tuple[str, ...]:
    """Return the hosts on which something is done or seen: of targets, loads, events, commands, figures, devices by SNMP."""
    wanted = {host for workload in experiment.workloads for host in experiment.load_hosts(workload)}
    wanted |= {host for target in experiment.used_targets() for host in of_target(experiment, target)}
    wanted |= {event.on for workload in experiment.workloads for event in workload.events if event.action is Action.RUN}
    wanted |= {host.name for host in experiment.hosts if host.via == "snmp"}
    wanted |= set(experiment.watched_hosts())
    return tuple(host.name for host in experiment.hosts if host.name in wanted)


def of_target(experiment: Experiment, target: TargetSpec) -> tuple[str, ...]:
    """Return the hosts of a target: its own, and those of further nodes of its server, whatever level a factor gives them."""
    varied = {
        str(level)
        for factor in experiment.factors
        if factor.path.startswith(f"{target.name}.") and server_nodes.names_host(factor.path.removeprefix(f"{target.name}."))
        for level in factor.levels
    }
    return tuple(dict.fromkeys((target.host, *server_nodes.hosts(target.knobs), *sorted(varied))))


def too_few_clients(experiment: Experiment, trials: Iterable[Trial]) -> tuple[str, ...]:
    """Return for each workload that would leave load hosts idle with what levels it does, as reasons to refuse a run."""
    found = []
    for workload, pairs in _spreads(experiment, trials):
        bad = [(clients, hosts) for clients, hosts in pairs if clients < hosts]
        if bad:
            clients, hosts = min(bad)
            wanted = f"at least {hosts} clients, or fewer load hosts (factor `hosts`)"
            found.append(f"workload {workload.name}: found {counted(clients, 'client')} on {hosts} load hosts; expected {wanted}")
    return tuple(found)


MADE_THERE = "template"
"""The knob of a target whose entries the engine makes on its host."""


def without_engine(experiment: Experiment) -> tuple[str, ...]:
    """Return the targets whose data an engine makes on a host that gets none, as reasons to refuse a run."""
    engines = {host.name for host in experiment.hosts if host.engine} | {LOCAL}
    return tuple(
        f"target {one.name}: host {one.host} gets no engine, which makes the entries there. Set `engine = true` in its table of "
        "[hosts], or name a file of entries (`ldif`)."
        for one in experiment.used_targets()
        if one.host not in engines and one.knobs.get(MADE_THERE) and not one.knobs.get("ldif")
    )


def notes(experiment: Experiment, trials: Iterable[Trial]) -> Iterator[PlanNote]:
    """Yield where the load comes from, and what is not known before the hosts are reached; nothing of `local` alone."""
    far = [name for name in taking_part(experiment) if name != LOCAL]
    if not far:
        return
    for workload, pairs in _spreads(experiment, trials):
        numbers = sorted({hosts for _, hosts in pairs})
        each = sorted({share for clients, hosts in pairs for share in (clients // hosts, -(-clients // hosts))})
        hosts = f"{_range(numbers)} {'host' if numbers[-1] == 1 else 'hosts'}"
        named = brief(experiment.hosts, experiment.load_hosts(workload))
        yield PlanNote(
            subject=workload.name,
            text=f"load from {hosts} ({named}), {_range(each)} {'client' if each[-1] == 1 else 'clients'} each",
        )
    unknown = "clocks, privileges, limits, CPUs and missing evidence"
    text = f"{brief(experiment.hosts, far)} not reached by `assay plan`. `assay hosts FILE check` shows {unknown}."
    yield PlanNote(subject=UNREACHED, text=text)


def brief(hosts: Sequence[HostSpec], names: Sequence[str]) -> str:
    """Return names of hosts in few words, whole groups as `c.1 to c.30`."""
    known = {host.name: host for host in hosts}
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(known[name].group or name, []).append(name)
    parts = [one[0] if len(one) == 1 else f"{one[0]} to {one[-1]}" if _whole(one) else ", ".join(one) for one in groups.values()]
    more = f" and {len(parts) - SHOWN} more" if len(parts) > SHOWN else ""
    return ", ".join(parts[:SHOWN]) + more


def _whole(names: Sequence[str]) -> bool:
    """Whether the names are numbered on end."""
    numbers = [int(name.rpartition(".")[2]) for name in names]
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _spreads(experiment: Experiment, trials: Iterable[Trial]) -> Iterator[tuple[WorkloadSpec, set[tuple[int, int]]]]:
    """Yield each workload with its numbers of clients and load hosts in all trials that it is part of."""
    levels = {tuple(trial.levels.get(path) for path in ("workload", "clients", "hosts")) for trial in trials}
    for workload in experiment.workloads:
        pairs = set()
        for name, clients, hosts in levels:
            if name in (None, workload.name):
                own = {key: value for key, value in (("clients", clients), ("hosts", hosts)) if value is not None}
                pairs.add((experiment.clients(workload, own), len(experiment.load_hosts(workload, own))))
        if pairs:
            yield workload, pairs


def _range(numbers: Sequence[int]) -> str:
    """Return `1`, `1 or 2`, `1 to 30`."""
    if len(numbers) < 3:
        return " or ".join(f"{number:,}" for number in numbers)
    return f"{numbers[0]:,} to {numbers[-1]:,}"
