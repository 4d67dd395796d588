"""Grids of file size and record size: runs with values of a surface times noise, and what follows from them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from assay.analysis.cells import cells
from assay.analysis.dips import dips
from assay.records import Cell, Experiment, Factor, Judged, Measure, Observations, Results, Trial, VerdictState, WorkloadSpec
from stage import notebook_records as made

KIB, MIB = 1 << 10, 1 << 20
RECORDS = tuple(size * KIB for size in (8, 16, 32, 64, 128, 256))
FILES = tuple(size * MIB for size in (64, 128, 256, 512, 1024))
RECORD, FILE = "file.record_size", "file.size"
RATE = "file.random_read.bytes_per_s"
LATENCY = "file.random_read.latency_p99_ns"
PLANTED = (64 * KIB, 128 * MIB)
"""Record size and file size of the dip."""
Surface = Callable[[int, int], float]
"""Record size and file size -> the true figure."""


def no_evidence(run: str) -> Observations:
    raise AssertionError(f"the verdict of {run} has the value")


def experiment(records: Sequence[int] = RECORDS, files: Sequence[int] = FILES, measures: Sequence[str] = (RATE,)) -> Experiment:
    asked = made.experiment()
    return replace(
        asked,
        title="Reading at random",
        workloads=(WorkloadSpec(name="file", kind="bulk_io", knobs={"operations": ("random_read",)}),),
        factors=(Factor(path=FILE, levels=tuple(files)), Factor(path=RECORD, levels=tuple(records))),
        measures=tuple(Measure(workload="file", operation="random_read", figure=name.split(".")[2]) for name in measures),
        compare=None,
    )


def flat(record: int, size: int) -> float:
    return 1e8


def concave(record: int, size: int) -> float:
    """More with larger records, ever less so, and half of it where the file does not fit a cache."""
    return 1e9 * record / (record + 16 * KIB) * (1.0 if size <= 256 * MIB else 0.5)


def with_dip(record: int, size: int) -> float:
    return concave(record, size) * (0.7 if (record, size) == PLANTED else 1.0)


def runs_of(asked: Experiment, blocks: int, value: Callable[[Trial, str], float]) -> tuple[Judged, ...]:
    units = {"bytes_per_s": "bytes/s", "latency_p99_ns": "ns"}
    found = []
    for trial in made.plan(asked, blocks).trials:
        one = made.judged(made.run(trial), {measure.name: value(trial, measure.name) for measure in asked.measures})
        verdicts = {name: replace(verdict, unit=units[name.split(".")[2]]) for name, verdict in one.verdicts.items()}
        found.append(replace(one, verdicts=verdicts))
    return tuple(found)


def noisy(surface: Surface, cv: float, draw: np.random.Generator) -> Callable[[Trial, str], float]:
    """Values of a surface with lognormal noise; latencies are its reciprocal."""

    def value(trial: Trial, measure: str) -> float:
        level = surface(int(trial.levels[RECORD]), int(trial.levels[FILE])) * float(np.exp(draw.normal(0, cv)))
        return 1e15 / level if measure == LATENCY else level

    return value


def results(surface: Surface = with_dip, cv: float = 0.02, *, seed: int = 1, asked: Experiment | None = None) -> Results:
    """An experiment over a grid with everything that follows from its runs; one cell counts no run, another is doubtful."""
    asked = asked or experiment(measures=(RATE, LATENCY))
    plan = made.plan(asked, 5)
    runs = tuple(marked(one) for one in runs_of(asked, 5, noisy(surface, cv, np.random.default_rng(seed))))
    table = cells(asked, plan, runs, no_evidence)
    return Results(experiment=asked, plan=plan, runs=runs, cells=table, dips=dips(asked, table, runs), ruleset="test")


def marked(one: Judged) -> Judged:
    """The run with the verdict of its place: INVALID in the first cell, TAINTED in the last of the first row."""
    levels = one.run.trial.levels
    if levels[FILE] != FILES[0] or levels[RECORD] not in (RECORDS[0], RECORDS[-1]):
        return one
    state = VerdictState.INVALID if levels[RECORD] == RECORDS[0] else VerdictState.TAINTED
    verdicts = {
        name: replace(verdict, state=state, findings=made.verdict(one.run, name, 1.0, state).findings)
        for name, verdict in one.verdicts.items()
    }
    return replace(one, verdicts=verdicts)


def fast_cells(asked: Experiment, runs: Sequence[Judged], values: np.ndarray) -> tuple[Cell, ...]:
    """The cells of one measure with other values, in the order of the runs; as `cells` makes them, for simulations."""
    found: dict[tuple[object, ...], dict[str, float]] = {}
    levels = {}
    for one, value in zip(runs, values.tolist(), strict=True):
        key = tuple(one.run.trial.levels.values())
        found.setdefault(key, {})[one.id] = value
        levels[key] = one.run.trial.levels
    return tuple(Cell(measure=asked.measures[0].name, levels=levels[key], estimate=None, values=of) for key, of in found.items())
