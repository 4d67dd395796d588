"""Runs and cases as small as a rule allows, for the rules that look at the machine rather than at the figure."""

from __future__ import annotations

from array import array
from dataclasses import replace

from assay.audit import limits
from assay.catalogue import ComparisonCase, TrialCase
from assay.records import (
    ABSOLUTE,
    CacheState,
    Claim,
    Client,
    Comparison,
    Conclusion,
    Direction,
    EndpointKind,
    Experiment,
    Factor,
    HostClock,
    Limit,
    Measure,
    Observations,
    Outcome,
    Phase,
    PhaseHost,
    Place,
    Plan,
    Role,
    Run,
    Series,
    StopRule,
    TargetSpec,
    Trial,
)

SECOND_NS = 1_000_000_000


def series(layer: str, metric: str, points: list[tuple[float, float]], subject: str = ABSOLUTE, source: str = "x:y") -> Series:
    """Points are (seconds since the start, value)."""
    return Series(
        phase="write",
        source=source,
        layer=layer,
        host="local",
        subject=subject,
        metric=metric,
        unit="",
        at_ns=array("q", (int(at * SECOND_NS) for at, _ in points)),
        value=array("d", (value for _, value in points)),
    )


def phase(seconds: float = 10.0, workers: int = 1, pid: int = 4242) -> Phase:
    end = int(seconds * SECOND_NS)
    client = Client(
        index=0,
        host="local",
        pid=pid,
        role=Role.LOAD,
        workers=workers,
        armed_ns=-1,
        started_ns=0,
        first_ns=0,
        last_ns=end,
        stopped_by="work",
        operations=(),
        cost=None,
    )
    return Phase(
        name="write",
        workload="w",
        measured=True,
        operations=("write",),
        directions={"write": Direction.WRITE},
        cache_asked=CacheState.UNCHANGED,
        hosts=(PhaseHost(host="local"),),
        start_ns=0,
        end_ns=end,
        stop=StopRule.WORK,
        flush_in_clock=False,
        clients=(client,),
    )


def run(*, devices: tuple[str, ...] = (), limits: tuple[Limit, ...] = (), of: Phase | None = None, trial: int = 7) -> Run:
    return Run(
        trial=Trial(id=trial, experiment="d", levels={}, replicate=0, block=0, sitting=0, position=0, seed=1),
        attempt=1,
        outcome=Outcome.FINISHED,
        started_utc="",
        ended_utc="",
        hosts=(HostClock(host="local", offset_ns=0, error_ns=0, t0_mono_ns=0),),
        places=(Place(target="disk", host="local", kind=EndpointKind.DIRECTORY, address="/srv", devices=devices, limits=limits),),
        phases=(of or phase(),),
    )


def over_hosts(made: Run, *names: str) -> Run:
    """The run on these hosts: the target and all phases on the first, the load on the others, or on the same one."""
    load = names[1:] or names
    (phase,) = made.phases
    clients = tuple(replace(phase.clients[0], index=index, host=name) for index, name in enumerate(load))
    phase = replace(phase, clients=clients, hosts=tuple(PhaseHost(host=name) for name in names))
    return replace(made, places=tuple(replace(place, host=names[0]) for place in made.places), phases=(phase,))


def experiment(*factors: Factor) -> Experiment:
    return Experiment(
        title="t",
        question="q",
        targets=(TargetSpec(name="disk", kind="directory"),),
        workloads=(),
        factors=factors,
        measures=(),
    )


def trial_case(rule: str, of: Run, observations: Observations, *factors: Factor, figure: str = "bytes_per_s") -> TrialCase:
    measure = Measure(workload="w", operation="write", figure=figure)
    return TrialCase(
        subject=f"run:0007/1:{measure.name}",
        experiment=experiment(*factors),
        run=of,
        phase=of.phases[0],
        measure=measure,
        claim=Claim(),
        value=50e6,
        observations=observations,
        thresholds=limits.thresholds(rule),
    )


def comparison_case(rule: str, factor: Factor, baseline, candidate) -> ComparisonCase:
    measure = Measure(workload="w", operation="write", figure="bytes_per_s")
    return ComparisonCase(
        subject=f"comparison:{measure.name}:b",
        experiment=experiment(factor),
        plan=Plan(experiment="d", seed=1, trials=(), blocks=1, drawn_blocks=1, sittings=(None,)),
        comparison=Comparison(
            measure=measure.name,
            factor=factor.path,
            baseline="a",
            candidate="b",
            within={},
            ratio=None,
            conclusion=Conclusion.UNDECIDED,
            matters_share=0.05,
            detectable_share=None,
            provable_share=None,
        ),
        measure=measure,
        claim=Claim(),
        baseline=tuple(baseline),
        candidate=tuple(candidate),
        verdicts={},
        thresholds=limits.thresholds(rule),
    )
