"""Records for tests of notebook, analysis and verbs: an experiment with its plan, runs, evidence and verdicts."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.records import (
    CacheState,
    Change,
    Claim,
    Client,
    Direction,
    Experiment,
    Fact,
    FactClass,
    Factor,
    Finding,
    Gap,
    Histogram,
    HostClock,
    Judged,
    Label,
    Measure,
    Nature,
    Observations,
    OperationTotal,
    Outcome,
    Phase,
    PhaseHost,
    Plan,
    Reading,
    Requirement,
    Role,
    Run,
    Rung,
    Series,
    Severity,
    State,
    StopRule,
    TargetSpec,
    Trial,
    Value,
    Verdict,
    VerdictState,
    When,
    WorkloadSpec,
    missing_on,
)

RATE = "spool.create.ops_per_s"
LATENCY = "spool.create.latency_p99_ns"
TEXT = 'title = "A mail spool"\n'


def experiment(
    levels: Sequence[Value] = ("ext4", "xfs"),
    *,
    change: Change = Change.AUTOMATIC,
    returns: int = 0,
    clients: Sequence[Value] = (),
    measures: Sequence[str] = (RATE,),
    requirements: Sequence[Requirement] = (),
    digest: str = "ab" * 32,
    title: str = "A mail spool",
) -> Experiment:
    factors = [Factor(path="target", levels=tuple(levels), change=change, returns=returns)]
    if clients:
        factors.append(Factor(path="clients", levels=tuple(clients)))
    return Experiment(
        title=title,
        question="Which creates faster?",
        targets=tuple(TargetSpec(name=str(level), kind="directory") for level in levels),
        workloads=(WorkloadSpec(name="spool", kind="metadata"),),
        factors=tuple(factors),
        measures=tuple(Measure(workload="spool", operation="create", figure=name.split(".", 2)[2]) for name in measures),
        requirements=tuple(requirements),
        compare="target",
        repeats=5,
        digest=digest,
    )


def plan(asked: Experiment, blocks: int = 5) -> Plan:
    """Blocks in which the order of the levels alternates; a sitting a level where the factor is changed by hand."""
    combinations: list[dict[str, Value]] = [{}]
    for factor in asked.factors:
        combinations = [{**levels, factor.path: level} for levels in combinations for level in factor.levels]
    manual = asked.factors[0].change is Change.MANUAL
    sittings: tuple[Value, ...] = (None,)
    order = []
    if manual:
        sittings = asked.factors[0].levels + (asked.factors[0].levels[0],) * asked.factors[0].returns
        for number, level in enumerate(sittings):
            order += [(b, number, c) for b in range(blocks) for c in combinations if c["target"] == level]
    else:
        for block in range(blocks):
            order += [(block, 0, levels) for levels in (combinations if block % 2 else combinations[::-1])]
    trials = tuple(
        Trial(
            id=number,
            experiment=asked.digest,
            levels=levels,
            replicate=block,
            block=block,
            sitting=sitting,
            position=number,
            seed=number,
        )
        for number, (block, sitting, levels) in enumerate(order, 1)
    )
    return Plan(experiment=asked.digest, seed=1, trials=trials, blocks=blocks, drawn_blocks=blocks, sittings=sittings, notes=())


def client(index: int = 0, first_ns: int = 0, last_ns: int = 1_000_000_000, count: int = 1000, busy_ns: int = 10**9) -> Client:
    total = OperationTotal(
        operation="create", count=count, bytes=0, errors=0, busy_ns=busy_ns, first_ns=first_ns, last_ns=last_ns
    )
    return Client(
        index=index,
        host="local",
        pid=100 + index,
        role=Role.LOAD,
        workers=1,
        armed_ns=-1000,
        started_ns=first_ns,
        first_ns=first_ns,
        last_ns=last_ns,
        stopped_by="time",
        operations=(total,),
        cost=None,
    )


def phase(clients: Sequence[Client] = (), name: str = "fill", drain_ns: int = 5) -> Phase:
    found = tuple(clients) or (client(),)
    return Phase(
        name=name,
        workload="spool",
        measured=True,
        operations=("create",),
        directions={"create": Direction.METADATA},
        cache_asked=CacheState.COLD,
        hosts=(PhaseHost(host="local", cached_share_before=0.0, drain_ns=drain_ns),),
        start_ns=0,
        end_ns=max(one.last_ns for one in found),
        stop=StopRule.WORK,
        flush_in_clock=False,
        clients=found,
    )


def run(trial: Trial, attempt: int = 1, outcome: Outcome = Outcome.FINISHED, phases: Sequence[Phase] = ()) -> Run:
    minute, second = divmod(trial.position, 60)
    return Run(
        trial=trial,
        attempt=attempt,
        outcome=outcome,
        started_utc=f"2026-01-01T{attempt:02d}:{minute:02d}:{second:02d}+00:00",
        ended_utc=f"2026-01-01T{attempt:02d}:{minute:02d}:{second:02d}.5+00:00",
        hosts=(HostClock(host="local", offset_ns=0, error_ns=10, t0_mono_ns=1),),
        places=(),
        phases=tuple(phases) or (phase(),),
        versions={"engine": "0.1.0"},
        error=None if outcome is Outcome.FINISHED else "the load failed",
    )


def observations(count: int = 4) -> Observations:
    return Observations(
        readings=(
            Reading(
                phase="fill",
                rung=Rung.LOWEST_DEVICE,
                source="block:/proc/diskstats",
                host="local",
                subject="device:vda",
                direction=Direction.WRITE,
                bytes=4096,
                operations=None,
                from_ns=-5,
                to_ns=2**62,
            ),
        ),
        series=(
            series("create.count", [0, 500, 1000], [0.0, 500.0, 1000.0]),
            series("empty.count", [], []),
        ),
        histograms=(
            Histogram(
                phase="fill",
                host="local",
                subject="client:0",
                operation="create",
                upper_ns=array("q", [100_000, 200_000]),
                count=array("q", [count - 1, 1]),
            ),
        ),
        facts=(Fact(host="local", when=When.BEFORE, key="kernel.release", value="6.1", fact_class=FactClass.PERFORMANCE),),
        missing=missing_on("local", "fill", {"L9.flush": "no such counter"}),
        gaps=(Gap(host="local", phase="fill", observer="block", thousandths=1100),),
    )


def series(metric: str, at_ns: Sequence[int], value: Sequence[float], subject: str = "client:0") -> Series:
    return Series(
        phase="fill",
        source="engine",
        layer="application",
        host="local",
        subject=subject,
        metric=metric,
        unit="ns" if metric.endswith("ns") else "count",
        at_ns=array("q", at_ns),
        value=array("d", value),
    )


def finding(subject: str, state: State = State.PASS, severity: Severity = Severity.INVALIDATES) -> Finding:
    return Finding(
        subject=subject,
        phase="fill",
        rule="T01",
        name="client-page-cache",
        state=state,
        severity=severity,
        part="tier",
        statement="99 % of the reads came from the page cache" if state is State.FAIL else "all reads reached the device",
        observed={"cached_share": 0.99},
        threshold={"cached_share": 0.01},
        advice="read cold" if state is State.FAIL else None,
    )


def verdict(done: Run, measure: str, value: float | None, state: VerdictState = VerdictState.SOUND) -> Verdict:
    subject = f"run:{done.trial.id:04d}/{done.attempt}:{measure}"
    bad = state is VerdictState.INVALID
    return Verdict(
        subject=subject,
        run=done.id,
        measure=measure,
        claim=Claim(),
        value=value,
        unit="ns" if measure.endswith("_ns") else "1/s",
        corrected=None,
        state=state,
        label=Label(nature=Nature.AS_SEEN, operation="create"),
        bound=None,
        findings=(finding(subject, State.FAIL if bad else State.PASS),),
    )


def judged(done: Run, values: Mapping[str, float | None], state: VerdictState = VerdictState.SOUND) -> Judged:
    return Judged(run=done, verdicts={measure: verdict(done, measure, value, state) for measure, value in values.items()})


def disturbed(one: Judged) -> Judged:
    """The same run beside noise that counts."""
    noise = replace(next(iter(one.verdicts.values())).findings[0], rule="N02", name="steal", part="noise")
    noise = replace(noise, state=State.FAIL, severity=Severity.QUALIFIES)
    verdicts = {name: replace(found, state=VerdictState.TAINTED, findings=(noise,)) for name, found in one.verdicts.items()}
    return replace(one, verdicts=verdicts)
