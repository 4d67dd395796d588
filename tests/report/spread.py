"""The fixture's runs as if several hosts had taken part: a client on each load host, the target on `s`."""

from dataclasses import replace

from assay.frozen import altered
from assay.records import CacheState, HostClock, PhaseHost, Rung, missing_on, sides
from report import fixture

TARGET = "s"
APART = frozenset({"cpu", "memory", "network"})
"""Layers that every host has of its own."""


def load_hosts(count):
    return tuple(f"c.{number}" for number in range(1, count + 1))


def clock(host, number, error_ns=140_000):
    return HostClock(host=host, offset_ns=number * 10**12, error_ns=error_ns, t0_mono_ns=1, drift_ppm=1.5)


def of_phase(phase, hosts):
    first = phase.clients[0]
    operations = tuple(
        replace(one, bytes=sum(client.operations[place].bytes for client in phase.clients) // len(hosts))
        for place, one in enumerate(first.operations)
    )
    clients = tuple(replace(first, index=number, host=host, operations=operations) for number, host in enumerate(hosts))
    there = [
        PhaseHost(
            host=host,
            cache_proved=CacheState.COLD,
            cached_share_before=0.0,
            quiet=True,
            quiesce_ns=120_000_000,
            drain_ns=6_000_000,
            clock=clock(host, number + 1),
        )
        for number, host in enumerate(hosts)
    ]
    target = PhaseHost(host=TARGET, quiet=True, drain_ns=25_000_000, clock=clock(TARGET, 0, 440_000))
    return replace(phase, clients=clients, hosts=(*there, target))


def of_run(judged, count):
    hosts = load_hosts(count)
    run = replace(
        judged.run,
        hosts=tuple(clock(host, number) for number, host in enumerate((TARGET, *hosts))),
        places=altered(type(judged.run.places[0]), judged.run.places, host=TARGET),
        phases=tuple(of_phase(phase, hosts) for phase in judged.run.phases),
    )
    return replace(judged, run=run)


def scaled(series, number, host):
    """The series of a host: the later ones of the load have less of everything."""
    part = 1 - number / 60
    return replace(series, host=host, value=type(series.value)("d", [value * part for value in series.value]))


def evidence(seen, count):
    """Evidence of one host as that of several: of the load by client, of the target on `s`, of the platform on each."""
    hosts = load_hosts(count)
    series = []
    for one in seen.series:
        if one.layer in APART:
            series += [scaled(one, number, host) for number, host in enumerate((*hosts, TARGET))]
        elif sides.of_target(f"{one.layer}.{one.metric}", one.subject):
            series.append(replace(one, host=TARGET))
        else:
            of_client = one.subject.startswith("client:")
            series += [
                replace(scaled(one, number, host), subject=f"client:{number}" if of_client else one.subject)
                for number, host in enumerate(hosts)
            ]
    readings = []
    for one in seen.readings:
        if one.rung in sides.TARGET_RUNGS:
            readings.append(replace(one, host=TARGET))
        elif one.rung is not Rung.APPLICATION or one.subject == "client:0":
            readings += [
                replace(one, host=host, subject=f"client:{number}", bytes=(one.bytes or 0) // count)
                for number, host in enumerate(hosts)
            ]
    no_engine = "timing of the CPU needs the engine on that host"
    lacking = {"L7.metadata": "tracefs is not mounted"}
    return replace(
        seen,
        readings=tuple(readings),
        series=tuple(series),
        histograms=tuple(
            replace(one, host=host, subject=f"client:{number}") for one in seen.histograms for number, host in enumerate(hosts)
        ),
        facts=tuple(replace(one, host=host) for one in seen.facts for host in (*hosts, TARGET)),
        missing=(
            *missing_on(TARGET, None, {"fact:speed.*": no_engine, "process.run_ns": "the load has no process", **lacking}),
            *(one for host in hosts for one in missing_on(host, None, {"cgroup.throttle_rules": "no controller", **lacking})),
        ),
    )


def results(count, blocks=1):
    """The results of the fixture, every run over `count` load hosts, and what loads their evidence."""
    made = fixture.results(blocks=blocks)
    load = fixture.loader(made)
    found = {judged.id: evidence(load(judged.id), count) for judged in made.runs}
    return replace(made, runs=tuple(of_run(judged, count) for judged in made.runs)), found.__getitem__
