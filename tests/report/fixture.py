"""A made-up experiment with everything a report can meet: five verdicts, partial runs, lies, long texts, curves."""

import itertools
import math
import random
from array import array
from dataclasses import replace
from functools import cache
from statistics import fmean, stdev

from assay.records import (
    ABSOLUTE,
    Bound,
    CacheState,
    Cell,
    Claim,
    Client,
    Comparison,
    Conclusion,
    Direction,
    Durability,
    Estimate,
    Exclusion,
    ExclusionReason,
    Experiment,
    Fact,
    FactClass,
    Factor,
    Finding,
    Histogram,
    HostClock,
    Judged,
    Label,
    Meaning,
    Measure,
    Method,
    Nature,
    Observations,
    OperationTotal,
    Outcome,
    Phase,
    PhaseHost,
    Place,
    Plan,
    PlanNote,
    Reading,
    Regime,
    Requirement,
    RequirementKind,
    RequirementResult,
    RequirementState,
    Results,
    Role,
    Run,
    Rung,
    Series,
    Severity,
    Span,
    State,
    StopRule,
    TargetSpec,
    Tier,
    Trial,
    Verdict,
    VerdictState,
    When,
    WorkloadSpec,
    missing_on,
    worst,
)
from assay.records.place import EndpointKind
from assay.report.charts.curves import Curve
from assay.report.galleries import Pictures

GIB = 2**30
STABLE, DEVICE = Claim(durability=Durability.STABLE_MEDIA), Claim(tier=Tier.DEVICE)
TABLE = (
    # measure, claim, unit, value, ratio, spread, state
    ("spool.create.ops_per_s", STABLE, "1/s", 5200.0, 1.38, 0.025, VerdictState.SOUND),
    ("spool.create.latency_p99_ns", Claim(), "ns", 1.9e6, 0.71, 0.025, VerdictState.SOUND),
    ("spool.list.latency_p99_ns", Claim(), "ns", 31e6, 1.09, 0.06, VerdictState.UNVERIFIED),
    ("cold.read.bytes_per_s", replace(DEVICE, regime=Regime.COLD), "bytes/s", 2.61e8, 1.004, 0.025, VerdictState.SOUND),
    ("warm.read.bytes_per_s", DEVICE, "bytes/s", 4.1e9, 0.97, 0.025, VerdictState.INVALID),
    ("direct.read.bytes_per_s", DEVICE, "bytes/s", 2.78e8, 1.012, 0.025, VerdictState.SOUND),
    ("dump.write.bytes_per_s", STABLE, "bytes/s", 7.4e8, 1.06, 0.12, VerdictState.BOUNDED),
    ("spool.create.@local.cpu_share", Claim(), "share", 0.34, 1.11, 0.025, VerdictState.SOUND),
)
MEASURES = tuple(
    Measure(**dict(zip(("workload", "operation", "figure"), name.split(".", 2), strict=True)), claim=claim)
    for name, claim, *_ in TABLE
)
UNITS, BASE, RATIO, SPREAD, STATES = ({row[0]: row[column] for row in TABLE} for column in range(2, 7))
LABELS = {
    "warm.read.bytes_per_s": Label(nature=Nature.OTHER, operation="read", because=("T01",)),
    "dump.write.bytes_per_s": Label(nature=Nature.STABLE_MEDIA, operation="write", drain_ns=3.4e9, undrained=2.5e9),
    "cold.read.bytes_per_s": Label(nature=Nature.DEVICE_READ, operation="read", regime=Regime.COLD, limited_by="L04"),
    "direct.read.bytes_per_s": Label(nature=Nature.DEVICE_READ, operation="read"),
    "spool.create.ops_per_s": Label(nature=Nature.STABLE_MEDIA, operation="create"),
}


BULK = {
    "cold": {"operation": "read", "size": GIB, "cache": "cold"},
    "warm": {"operation": "read", "size": GIB, "cache": "warm"},
    "direct": {"operation": "read", "size": GIB, "direct": True},
    "dump": {"operation": "write", "size": GIB},
}


def experiment(title: str = "A mail spool on ext4 or xfs") -> Experiment:
    return Experiment(
        title=title,
        question="Which creates and lists small files faster, with up to 4 clients, and is the read figure a memory test?",
        targets=(
            TargetSpec(name="ext4", kind="loopfs", knobs={"filesystem": "ext4", "size": 2 * GIB}),
            TargetSpec(name="xfs", kind="loopfs", knobs={"filesystem": "xfs", "size": 2 * GIB}),
        ),
        workloads=(
            WorkloadSpec(name="spool", kind="metadata", knobs={"object": "file", "count": 20000, "list_every": 500}),
            *(WorkloadSpec(name=name, kind="bulk_io", knobs=knobs) for name, knobs in BULK.items()),
        ),
        factors=(Factor(path="target", levels=("ext4", "xfs")), Factor(path="clients", levels=(1, 2, 4))),
        measures=MEASURES,
        requirements=(
            Requirement(measure="spool.list.latency_p99_ns", kind=RequirementKind.AT_MOST, bound=50e6, text="<= 50 ms"),
            Requirement(
                measure="spool.create.ops_per_s", kind=RequirementKind.NOT_WORSE_THAN, bound=0.05, text="not worse than 5 %"
            ),
        ),
        compare="target",
        repeats=5,
        seed=7,
        digest="9f2b6c0d8a41e7735d1c0be2f6a98d44c1e3aa5570b9c2d1e8f7064b3a2c1d0e",
    )


GROWTH = {"ops_per_s": (1.0, 1.72, 2.35), "latency_p99_ns": (1.0, 1.12, 1.5), "@local.cpu_share": (1.0, 1.6, 2.3)}


def value_at(measure: Measure, target: str, clients: int, noise: random.Random) -> float:
    scale = GROWTH.get(measure.figure, (1.0, 1.0, 1.0))[(1, 2, 4).index(clients)]
    factor = RATIO[measure.name] if target == "xfs" else 1.0
    return BASE[measure.name] * scale * factor * math.exp(noise.gauss(0, SPREAD[measure.name]))


def found(rule, name, statement, state=State.FAIL, severity=Severity.QUALIFIES, part="tier", **more) -> Finding:
    """What a rule found, but for whom it is of."""
    given = {"subject": "", "phase": "", "rule": rule, "name": name, "statement": statement, "state": state}
    return Finding(**given, severity=severity, part=part, **more)


LONG_ENOUGH = found(
    "W01",
    "window is long enough",
    "The window of 6.1 s holds at least 5 s.",
    State.PASS,
    part="window",
    observed={"window_s": 6.1},
    threshold={"window_s": 5.0},
)
ROOFLINE = found(
    "L04",
    "roofline",
    "261 MB/s is 93 % of the declared 281 MB/s of loop0.",
    State.PASS,
    Severity.INVALIDATES,
    meaning=Meaning.LINK_LIMIT,
    observed={"rate": 2.61e8, "limit": 2.81e8, "ratio": 0.93, "limited": "loop0", "unit": "bytes/s"},
)
BOUNDS = {
    VerdictState.INVALID: Bound(low=None, high=8.2e7, unit="bytes/s"),
    VerdictState.BOUNDED: Bound(low=2.1e8, high=2.6e8, unit="bytes/s"),
}
WHY = {
    VerdictState.INVALID: found(
        "T01",
        "client page cache",
        "Of 1.07 GB that the application read, 21.5 MB (2 %) came from the block device; 99.8 % of the file was"
        " resident before the clock started. The figure is the bandwidth of the page cache.",
        severity=Severity.INVALIDATES,
        meaning=Meaning.PAGE_CACHE,
        observed={"device_share": 0.02, "cached_before": 0.998},
        threshold={"device_share": 0.99},
        bound=BOUNDS[VerdictState.INVALID],
        relabel="page-cache bandwidth",
        detail="2 % of the bytes came from the device; device rate at most 82 MB/s",
        evidence=("L0.read", "L2.read", "L9.read"),
        alternatives=("A cache below the lowest visible device would show full device bytes: it does not.",),
        advice='Read the file cold (`cache = "cold"`), or read it direct, or claim tier = client-cache.',
    ),
    VerdictState.BOUNDED: found(
        "D01",
        "dirty at stop",
        "62 % of the written bytes were still dirty in memory when the clock stopped; the drain took 3.4 s and"
        " is charged to the figure.",
        part="durability",
        meaning=Meaning.DIRTY,
        observed={"dirty_share": 0.62, "drain_s": 3.4},
        threshold={"dirty_share": 0.01},
        bound=BOUNDS[VerdictState.BOUNDED],
        evidence=("page_cache.dirty_bytes", "L9.write"),
        advice='Put the flush inside the clock: `flush = "end"`.',
    ),
    VerdictState.UNVERIFIED: found(
        "T12",
        "metadata cache",
        "Nothing here counts inode loads of this file system: whether the listing was answered from the dentry"
        " cache cannot be told.",
        State.UNVERIFIED,
        Severity.INVALIDATES,
        meaning=Meaning.METADATA_CACHE,
        advice="Run as root with tracefs mounted; the rule then counts inode loads.",
    ),
    VerdictState.TAINTED: found(
        "N02",
        "stolen CPU time",
        "The hypervisor took 11 % of the CPU time during the window.",
        part="noise",
        observed={"steal_share": 0.11},
        threshold={"steal_share": 0.02},
        advice="Repeat when the host is quiet.",
    ),
}
"""What a verdict stands on, but for whom it is of."""


def findings(measure: Measure, subject: str, state: VerdictState) -> tuple[Finding, ...]:
    made = (LONG_ENOUGH, *((WHY[state],) if state in WHY else ()), *((ROOFLINE,) if measure.workload == "cold" else ()))
    return tuple(replace(one, subject=subject, phase=f"{measure.workload}.{measure.operation}") for one in made)


def verdict(measure: Measure, run_id: str, value: float, state: VerdictState) -> Verdict:
    subject = f"run:{run_id}:{measure.name}"
    return Verdict(
        subject=subject,
        run=run_id,
        measure=measure.name,
        claim=measure.claim,
        value=value,
        unit=UNITS[measure.name],
        corrected=value * 0.32 if measure.name == "dump.write.bytes_per_s" else None,
        state=state,
        label=LABELS.get(measure.name, Label(nature=Nature.AS_SEEN, operation=measure.operation)),
        bound=BOUNDS.get(state),
        findings=findings(measure, subject, state),
    )


SECONDS = 6_100_000_000


def client(index: int, workload: str, operations: tuple[str, ...], clients: int) -> Client:
    last_ns = SECONDS - 90_000_000 * index
    total = {"count": 20000, "bytes": 0 if workload == "spool" else GIB // clients, "errors": 0, "busy_ns": SECONDS}
    return Client(
        index=index,
        host="local",
        pid=4000 + index,
        role=Role.LOAD,
        workers=1,
        armed_ns=-5_000_000,
        started_ns=20_000 * index,
        first_ns=30_000 * index,
        last_ns=last_ns,
        stopped_by="work",
        operations=tuple(OperationTotal(operation=one, **total, first_ns=0, last_ns=last_ns) for one in operations),
        cost=None,
    )


def phase(workload: str, name: str, operations: tuple[str, ...], direction: Direction, clients: int) -> Phase:
    proved = CacheState.COLD if workload == "cold" else None
    resident = {"cold": 0.0, "warm": 0.998}.get(workload)
    drain_ns = 3_400_000_000 if workload == "dump" else 40_000_000
    return Phase(
        name=f"{workload}.{name}",
        workload=workload,
        measured=True,
        operations=operations,
        directions=dict.fromkeys(operations, direction),
        cache_asked=proved or CacheState.UNCHANGED,
        hosts=(PhaseHost(host="local", cache_proved=proved, cached_share_before=resident, drain_ns=drain_ns),),
        start_ns=0,
        end_ns=SECONDS,
        stop=StopRule.WORK,
        flush_in_clock=workload == "spool",
        clients=tuple(client(index, workload, operations, clients) for index in range(clients)),
    )


def a_run(trial: Trial, outcome: Outcome, attempt: int = 1) -> Run:
    clients = int(trial.levels["clients"])
    target = str(trial.levels["target"])
    minute = f"2026-11-20T1{trial.position // 60 % 10}:{trial.position % 60:02d}"
    place = {"kind": EndpointKind.DIRECTORY, "address": "/run/assay/ext4", "devices": ("loop0", "vda"), "filesystem": target}
    return Run(
        trial=trial,
        attempt=attempt,
        outcome=outcome,
        started_utc=f"{minute}:00Z",
        ended_utc=f"{minute}:41Z",
        hosts=(HostClock(host="local", offset_ns=0, error_ns=0, t0_mono_ns=1),),
        places=(Place(target=target, host="local", **place),),
        phases=(
            phase("spool", "main", ("create", "list"), Direction.METADATA, clients),
            *(phase(name, "read", ("read",), Direction.READ, clients) for name in ("cold", "warm", "direct")),
            phase("dump", "write", ("write",), Direction.WRITE, clients),
        ),
        versions={"assay": "0.1.0", "engine": "0.1.0"},
        error="client 3 was lost: found end of output, expected a result" if outcome is Outcome.PARTIAL else None,
    )


def trials(blocks: int, digest: str) -> tuple[Trial, ...]:
    shuffle = random.Random(7)
    order: list[tuple[int, str, int]] = []
    for block in range(blocks):
        combos = [(t, c) for t in ("ext4", "xfs") for c in (1, 2, 4)]
        shuffle.shuffle(combos)
        order += [(block, *combo) for combo in combos]
    return tuple(
        Trial(
            id=position + 1,
            experiment=digest,
            levels={"target": target, "clients": clients},
            replicate=block,
            block=block,
            sitting=0,
            position=position,
            seed=1000 + position,
        )
        for position, (block, target, clients) in enumerate(order)
    )


def judged_runs(exp: Experiment, schedule: tuple[Trial, ...]) -> tuple[Judged, ...]:
    noise = random.Random(11)
    runs: list[Judged] = []
    for trial in schedule:
        outcome = {9: Outcome.PARTIAL, 23: Outcome.FAILED}.get(trial.id, Outcome.FINISHED)
        run = a_run(trial, outcome)
        verdicts = {}
        for measure in exp.measures:
            if outcome is Outcome.FAILED:
                continue
            value = value_at(measure, str(trial.levels["target"]), int(trial.levels["clients"]), noise)
            state = STATES[measure.name]
            if trial.id in (4, 17) and state is VerdictState.SOUND:
                state, value = VerdictState.TAINTED, value * (0.81 if measure.figure != "latency_p99_ns" else 1.3)
            if outcome is Outcome.PARTIAL:
                state = VerdictState.INVALID
                value *= 0.7
            verdicts[measure.name] = verdict(measure, f"{trial.id:04d}/1", value, state)
        runs.append(Judged(run=run, verdicts=verdicts))
    return tuple(runs)


def an_estimate(value, low=None, high=None, unit="", n=5, method=Method.MEAN) -> Estimate:
    return Estimate(value=value, low=low, high=high, confidence=0.95, unit=unit, n=n, method=method)


def estimate(values: list[float], unit: str) -> Estimate | None:
    if not values:
        return None
    mean = fmean(values)
    if len(values) <= 2:
        return an_estimate(mean, unit=unit, n=len(values))
    half = 2.78 * stdev(values) / math.sqrt(len(values))
    return an_estimate(mean, mean - half, mean + half, unit, len(values))


def cell(measure: Measure, levels: dict[str, object], runs: tuple[Judged, ...]) -> Cell:
    here = [run for run in runs if dict(run.run.trial.levels) == levels]
    excluded = {
        one.id: replace(PARTIAL, outcome=one.run.outcome, error=one.run.error or "no space left on device")
        for one in here
        if one.run.outcome is not Outcome.FINISHED
    }
    values = {run.id: run.verdicts[measure.name].value for run in here if run.id not in excluded}
    return Cell(
        measure=measure.name,
        levels=levels,
        estimate=estimate(list(values.values()), UNITS[measure.name]),
        values=values,
        excluded=excluded,
        low=min(values.values(), default=None),
        high=max(values.values(), default=None),
    )


def cells(exp: Experiment, runs: tuple[Judged, ...]) -> tuple[Cell, ...]:
    places = [{"target": target, "clients": clients} for target in ("ext4", "xfs") for clients in (1, 2, 4)]
    return tuple(cell(measure, levels, runs) for measure in exp.measures for levels in places)


PARTIAL = Exclusion(reason=ExclusionReason.OUTCOME, outcome=Outcome.PARTIAL)


def conclusion_of(low: float, high: float) -> Conclusion:
    if low > 1.05 or high < 0.95:
        return Conclusion.MATTERS
    if low > 0.95 and high < 1.05:
        return Conclusion.EQUIVALENT
    return Conclusion.IMMATERIAL if low > 1 or high < 1 else Conclusion.UNDECIDED


def comparisons(exp: Experiment, made: tuple[Cell, ...]) -> tuple[Comparison, ...]:
    known = {(one.measure, one.levels["target"], one.levels["clients"]): one.estimate for one in made}
    out = []
    for measure, clients in itertools.product(exp.measures, (1, 2, 4)):
        base, cand = known[measure.name, "ext4", clients], known[measure.name, "xfs", clients]
        if base is None or cand is None or base.low is None or cand.low is None:
            continue
        ratio = cand.value / base.value
        half = math.hypot((cand.high - cand.low) / 2 / cand.value, (base.high - base.low) / 2 / base.value)
        low, high = ratio * math.exp(-half), ratio * math.exp(half)
        out.append(
            Comparison(
                measure=measure.name,
                factor="target",
                baseline="ext4",
                candidate="xfs",
                within={"clients": clients},
                ratio=an_estimate(ratio, low, high, method=Method.PAIRED_GEOMETRIC),
                conclusion=conclusion_of(low, high),
                matters_share=0.05,
                detectable_share=0.041,
                provable_share=0.092,
                excluded={"0009/1": PARTIAL} if clients == 4 else {},
                p_value=0.001,
                adjusted_p_value=0.006,
            )
        )
    return tuple(out)


def comparison_verdicts(exp: Experiment, made: tuple[Comparison, ...]) -> dict[str, Verdict]:
    by_name = {m.name: m for m in exp.measures}
    verdicts = {}
    for one in made:
        conditions = ",".join(f"{k}={v}" for k, v in one.within.items())
        subject = f"comparison:{one.measure}:{one.candidate}:{conditions}"
        state = STATES[one.measure]
        verdicts[subject] = Verdict(
            subject=subject,
            measure=one.measure,
            claim=by_name[one.measure].claim,
            value=one.ratio.value if one.ratio else None,
            unit="",
            corrected=None,
            state=state,
            label=Label(nature=Nature.COMPARISON),
            bound=None,
            findings=findings(by_name[one.measure], subject, state),
        )
    return verdicts


def state_of(found: Estimate | None, most: float) -> RequirementState:
    if found and found.high and found.high <= most:
        return RequirementState.MET
    return RequirementState.NOT_MET if found and found.low and found.low > most else RequirementState.UNDECIDED


def requirements(made: tuple[Cell, ...], compared: tuple[Comparison, ...]) -> tuple[RequirementResult, ...]:
    most = {"kind": RequirementKind.AT_MOST, "text": "<= 50 ms", "verdict": VerdictState.UNVERIFIED}
    not_worse = {"kind": RequirementKind.NOT_WORSE_THAN, "text": "not worse than 5 %", "verdict": VerdictState.SOUND}
    kept = {"state": RequirementState.MET, **not_worse}
    return (
        *(
            RequirementResult(
                measure=one.measure, levels=one.levels, estimate=one.estimate, state=state_of(one.estimate, 50e6), **most
            )
            for one in made
            if one.measure == "spool.list.latency_p99_ns"
        ),
        *(
            RequirementResult(measure=one.measure, levels={"target": one.candidate, **one.within}, estimate=one.ratio, **kept)
            for one in compared
            if one.measure == "spool.create.ops_per_s"
        ),
    )


def results(blocks: int = 5, title: str = "A mail spool on ext4 or xfs") -> Results:
    exp = experiment(title)
    schedule = trials(blocks, exp.digest)
    runs = judged_runs(exp, schedule)
    made = cells(exp, runs)
    compared = comparisons(exp, made)
    return Results(
        experiment=exp,
        plan=Plan(
            experiment=exp.digest,
            seed=7,
            trials=schedule,
            blocks=blocks,
            drawn_blocks=blocks,
            sittings=(None,),
            notes=(PlanNote(subject="L7.metadata", text="inode loads cannot be counted here: tracefs is not mounted"),),
        ),
        runs=runs,
        cells=made,
        comparisons=compared,
        comparison_verdicts=comparison_verdicts(exp, compared),
        requirements=requirements(made, compared),
        findings=(
            replace(
                found("S04", "drift over the schedule", "No trend over the order of runs (p = 0.41).", State.PASS),
                subject="experiment",
                phase=None,
                part="statistics",
            ),
        ),
        damaged={"0031": "run.json ends in the middle of a value"} if blocks > 5 else {},
        ruleset="2026.1 5d1c0be2",
    )


def one_run() -> Results:
    whole = results(blocks=1)
    first = whole.runs[0]
    exp = experiment("Quick look at the current directory")
    only = Results(
        experiment=Experiment(
            title=exp.title,
            question="What does the storage below this directory do?",
            targets=exp.targets[:1],
            workloads=exp.workloads,
            factors=(),
            measures=exp.measures,
        ),
        plan=Plan(experiment="", seed=1, trials=(first.run.trial,), blocks=1, drawn_blocks=1, sittings=(None,)),
        runs=(first,),
        cells=tuple(
            Cell(
                measure=m.name,
                levels={},
                estimate=an_estimate(first.verdicts[m.name].value, unit=UNITS[m.name], n=1),
                values={first.id: first.verdicts[m.name].value},
            )
            for m in exp.measures
        ),
        ruleset="2026.1 5d1c0be2",
    )
    assert worst(v.state for v in first.verdicts.values()) is VerdictState.INVALID
    return only


def empty() -> Results:
    exp = experiment()
    return Results(
        experiment=exp,
        plan=Plan(experiment=exp.digest, seed=7, trials=trials(1, exp.digest), blocks=1, drawn_blocks=1, sittings=(None,)),
        runs=(),
    )


# ------------------------------------------------------------------------------------------ observations

MOVED = {
    # rung, subject, source, share of what the application asked for
    "cold": (("L1", "client:0", 1.0), ("L2", "client:0", 1.002), ("L8", "device:loop0", 1.002), ("L9", "device:vda", 1.004)),
    "warm": (("L1", "client:0", 1.0), ("L2", "client:0", 0.02), ("L8", "device:loop0", 0.02), ("L9", "device:vda", 0.0201)),
    "direct": (("L1", "client:0", 1.0), ("L2", "client:0", 1.0), ("L8", "device:loop0", 1.0), ("L9", "device:vda", 1.003)),
    "dump": (("L1", "client:0", 1.0), ("L2", "client:0", 1.0), ("L8", "device:loop0", 0.38), ("L9", "device:vda", 0.381)),
}


SOURCES = {"L0": "engine", "L1": "process_io", "L2": "process_io", "L8": "block", "L9": "block"}


def reading(phase_name: str, rung: str, subject: str, direction: Direction, figures: tuple[int | None, int, Span]) -> Reading:
    moved, operations, span = figures
    return Reading(
        phase=phase_name,
        rung=Rung(rung),
        source=f"{SOURCES[rung]}:fixture",
        host="local",
        subject=subject,
        direction=direction,
        bytes=moved,
        operations=operations,
        from_ns=0,
        to_ns=SECONDS,
        span=span,
    )


def readings(clients: int) -> list[Reading]:
    made = []
    devices = (("L8", "device:loop0"), ("L9", "device:vda"))
    for workload, steps in MOVED.items():
        direction = Direction.WRITE if workload == "dump" else Direction.READ
        name = f"{workload}.{'write' if workload == 'dump' else 'read'}"
        rows = [("L0", f"client:{client}", 1 / clients) for client in range(clients)]
        made += [
            reading(name, rung, subject, direction, (int(GIB * share), int(2048 * share), Span.CLOCK))
            for rung, subject, share in (*rows, *steps)
        ]
    for rung, device in devices:
        made.append(reading("dump.write", rung, device, Direction.WRITE, (int(GIB * 0.62), 1300, Span.DRAIN)))
        made.append(reading("dump.write", rung, device, Direction.FLUSH, (None, 0, Span.CLOCK)))
        made.append(reading("dump.write", rung, device, Direction.FLUSH, (None, 3, Span.DRAIN)))
        made.append(reading("spool.main", rung, device, Direction.WRITE, (GIB // 4, 61000 * clients, Span.CLOCK)))
        made.append(reading("spool.main", rung, device, Direction.FLUSH, (None, 20010 * clients, Span.CLOCK)))
    return made


SUBJECTS = {
    "application": "client:0",
    "network": "interface:eth0",
    "cpu": ABSOLUTE,
    "memory": ABSOLUTE,
    "page_cache": "path:/srv/data",
}


def a_series(phase_name: str, layer: str, metric: str, unit: str, looks: tuple[array, array]) -> Series:
    named = {"phase": phase_name, "source": "fixture", "layer": layer, "host": "local", "metric": metric, "unit": unit}
    return Series(**named, subject=SUBJECTS.get(layer, "device:vda"), at_ns=looks[0], value=looks[1])


def series(noise: random.Random) -> list[Series]:
    made = []
    at = array("q", [250_000_000 * i for i in range(39)])
    busy = (("cold.read", 190.0), ("warm.read", 4.0), ("dump.write", 243.0))
    plans = (
        ("spool.main", "application", "create.count", "count", 1400.0),
        ("spool.main", "block", "write_bytes", "bytes", 9e6),
        ("cold.read", "application", "read.bytes", "bytes", 6.5e7),
        ("cold.read", "block", "read_bytes", "bytes", 6.6e7),
        ("warm.read", "application", "read.bytes", "bytes", 1.02e9),
        ("warm.read", "block", "read_bytes", "bytes", 1e6),
        ("direct.read", "application", "read.bytes", "bytes", 6.9e7),
        ("direct.read", "block", "read_bytes", "bytes", 6.9e7),
        ("dump.write", "application", "write.bytes", "bytes", 1.8e8),
        ("dump.write", "block", "write_bytes", "bytes", 6.8e7),
        ("cold.read", "network", "rx_bytes", "bytes", 6.6e7),
        *((name, "block", "io_ticks", "ms", ticks) for name, ticks in busy),
        *(
            (name, "cpu", metric, "ns", step)
            for metric, step in (("user_ns", 6e7), ("system_ns", 1.1e8), ("total_ns", 5e8))
            for name, _ in busy
        ),
    )
    for name, layer, metric, unit, step in plans:
        total, values = 0.0, array("d")
        for _ in at:
            values.append(total)
            total += step * math.exp(noise.gauss(0, 0.15))
        made.append(a_series(name, layer, metric, unit, (at, values)))
    for name in ("spool.main", "cold.read", "warm.read", "direct.read", "dump.write"):
        for layer, metric, unit, level, growth in (
            ("page_cache", "cached_bytes", "bytes", 1e9 if name == "warm.read" else 1e6, 2.6e7 if name == "cold.read" else 0.0),
            ("memory", "dirty_bytes", "bytes", 2e7, 1.1e8 if name == "dump.write" else 0.0),
            ("memory", "writeback_bytes", "bytes", 4e6, 0.0),
            ("cpu", "system_share", "share", 0.35, 0.0),
            ("cpu", "user_share", "share", 0.12, 0.0),
            ("cpu", "steal_share", "share", 0.02, 0.0),
        ):
            values = array("d", [(level + growth * i) * math.exp(noise.gauss(0, 0.05)) for i in range(len(at))])
            made.append(a_series(name, layer, metric, unit, (at, values)))
    return made


def latency_buckets(noise: random.Random) -> list[Series]:
    """The spread of one operation over time: slower in the middle, with a tail."""
    uppers = [int(1e5 * 2 ** (step / 4)) for step in range(28)]
    at = array("q", [100_000_000 * i for i in range(1, 62)])
    counts = {upper: array("d") for upper in uppers}
    totals = dict.fromkeys(uppers, 0.0)
    for when in at:
        middle = 3e5 * (1 + 2.5 * math.exp(-(((when / 1e9 - 3) / 0.7) ** 2)))
        for upper in uppers:
            near = math.exp(-(math.log(upper / middle) ** 2) / 0.1) + 0.01 * math.exp(-(math.log(upper / middle / 8) ** 2) / 0.4)
            totals[upper] += int(1800 * near * math.exp(noise.gauss(0, 0.1)))
            counts[upper].append(totals[upper])
    seen = [upper for upper in uppers if totals[upper]]
    return [a_series("spool.main", "application", f"create.bucket_{upper}_ns", "count", (at, counts[upper])) for upper in seen]


def histogram(phase_name: str, operation: str, median_ns: float, noise: random.Random) -> Histogram:
    upper, count = array("q"), array("q")
    value = median_ns / 8
    while value < median_ns * 400:
        density = math.exp(-((math.log(value / median_ns)) ** 2) / 0.18) + 0.0008 * math.exp(
            -((math.log(value / median_ns / 30)) ** 2) / 0.5
        )
        n = int(20000 * density * 0.03 * math.exp(noise.gauss(0, 0.05)))
        if n:
            upper.append(int(value))
            count.append(n)
        value *= 1.02
    return Histogram(phase=phase_name, host="local", subject="client:0", operation=operation, upper_ns=upper, count=count)


@cache
def _observations(run_id: str, target: str, clients: int) -> Observations:
    noise = random.Random(run_id)
    slow = (0.71 if target == "xfs" else 1.0) * {1: 1.0, 2: 1.12, 4: 1.5}[clients]
    return Observations(
        readings=tuple(readings(clients)),
        series=(*series(noise), *latency_buckets(noise)),
        histograms=(
            histogram("spool.main", "create", 190_000 * slow, noise),
            histogram("spool.main", "list", 9_000_000 * slow, noise),
            histogram("cold.read", "read", 3_800_000, noise),
            histogram("warm.read", "read", 240_000, noise),
            histogram("direct.read", "read", 3_600_000, noise),
            histogram("dump.write", "write", 900_000, noise),
        ),
        facts=tuple(
            Fact(host="local", when=When.BEFORE, key=key, value=value, fact_class=kind)
            for key, value, kind in (
                ("kernel.version", "6.1.0-32-amd64", FactClass.PERFORMANCE),
                ("cpu.model", "Example CPU 2.4 GHz, 2 cores", FactClass.PERFORMANCE),
                ("memory.bytes", "8 GiB", FactClass.PERFORMANCE),
                ("filesystem", target, FactClass.IDENTITY),
                ("mount.options", "rw,relatime", FactClass.PERFORMANCE),
                ("queue.scheduler", "none", FactClass.PERFORMANCE),
                ("load.average", f"{noise.random():.2f}", FactClass.NOISE),
            )
        ),
        missing=missing_on("local", None, {"L7.metadata": "tracefs is not mounted"}),
    )


def loader(made: Results):
    by_id = {run.id: run for run in made.runs}

    def load(run_id: str) -> Observations:
        levels = by_id[run_id].run.trial.levels
        return _observations(
            run_id, "xfs" if "2" in str(levels["target"])[-1:] else str(levels["target"]), int(levels["clients"])
        )

    return load


def few(load, phases=("spool.main", "cold.read")):
    """The same of two phases only: fewer charts of every kind, for a browser that has to draw them again and again."""

    def kept(run_id: str) -> Observations:
        seen = load(run_id)
        return replace(
            seen,
            series=tuple(one for one in seen.series if one.phase in phases),
            histograms=tuple(one for one in seen.histograms if one.phase in phases),
        )

    return kept


def pictures(made: Results) -> Pictures:
    curves = []
    for run in made.runs:
        if run.run.outcome is Outcome.FAILED:
            continue
        noise = random.Random(run.id)
        clients, target = int(run.run.trial.levels["clients"]), str(run.run.trial.levels["target"])
        objects = tuple(range(500, 20001, 500))
        active = tuple(clients if 1000 < n < 19000 or clients == 1 else max(1, clients - 1) for n in objects)
        for operation, base in (("create", 190_000.0), ("list", 400_000.0)):
            slope = (2.2 if target == "ext4" else 1.1) if operation == "create" else 18
            alone = base * clients**0.4 * (0.9 if target == "ext4" else 1.0)
            time = tuple(
                alone * (1 + slope * n / 20000) * math.exp(noise.gauss(0, 0.04)) * (0.75 if a < clients else 1)
                for n, a in zip(objects, active, strict=True)
            )
            named = {"run": run.id, "workload": "spool", "operation": operation, "clients": clients, "active_clients": active}
            curves.append(Curve(**named, objects=objects, time_per_operation_ns=time))
    return Pictures(curves=tuple(curves))


def hostile(text: str) -> Results:
    """The small experiment with this text wherever a user or a machine could have put it."""
    made = results(blocks=2, title=text)
    why = replace(PARTIAL, error=text)
    renamed = {"ext4": text, "xfs": f"{text} 2"}

    def levels(old):
        return {path: renamed.get(level, level) for path, level in old.items()}

    return replace(
        made,
        experiment=replace(
            made.experiment,
            question=text,
            factors=(Factor(path="target", levels=tuple(renamed.values())), made.experiment.factors[1]),
        ),
        runs=tuple(
            replace(
                judged,
                run=replace(judged.run, trial=replace(judged.run.trial, levels=levels(judged.run.trial.levels)), error=text),
                verdicts={
                    name: replace(
                        one,
                        label=Label(nature=Nature.OTHER, because=tuple(f.rule for f in one.findings if f.state is State.FAIL)),
                        findings=tuple(replace(f, statement=text, relabel=None, advice=text) for f in one.findings),
                    )
                    for name, one in judged.verdicts.items()
                },
            )
            for judged in made.runs
        ),
        cells=tuple(replace(cell, levels=levels(cell.levels), excluded=dict.fromkeys(cell.excluded, why)) for cell in made.cells),
        comparisons=tuple(replace(one, baseline=renamed["ext4"], candidate=renamed["xfs"]) for one in made.comparisons),
        damaged={text: text},
    )
