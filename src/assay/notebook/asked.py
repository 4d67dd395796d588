"""Tables of what was asked and what was answered: experiments, measures, courses, requirements, dips and the like."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from assay import measures, plain
from assay.measures import latency
from assay.notebook import columns, layout
from assay.records import Estimate, Observations, Results

Row = tuple[object, ...]

COLUMNS: Mapping[str, str] = {
    "experiments": "experiment VARCHAR, title VARCHAR, question VARCHAR, digest VARCHAR, ruleset VARCHAR, factors JSON, "
    "compared VARCHAR, matters_share DOUBLE, runs INTEGER, damaged JSON",
    "measures": "experiment VARCHAR, measure VARCHAR, workload VARCHAR, operation VARCHAR, figure VARCHAR, unit VARCHAR, "
    "better VARCHAR, tier VARCHAR, durability VARCHAR, load VARCHAR, regime VARCHAR, path VARCHAR",
    "courses": "experiment VARCHAR, run VARCHAR, trial INTEGER AS (CAST(split_part(run, '/', 1) AS INTEGER)), "
    "attempt INTEGER AS (CAST(split_part(run, '/', 2) AS INTEGER)), measure VARCHAR, kind VARCHAR, state VARCHAR, "
    "from_ns BIGINT, to_ns BIGINT, clients INTEGER, parts INTEGER, steady_from_ns BIGINT, before DOUBLE, mean DOUBLE, "
    "low DOUBLE, high DOUBLE, unit VARCHAR, batches INTEGER, memory_ns BIGINT, drift_share DOUBLE, "
    "changes JSON, unknown VARCHAR",
    "requirements": "experiment VARCHAR, measure VARCHAR, requirement VARCHAR, levels JSON, value DOUBLE, low DOUBLE, "
    "high DOUBLE, unit VARCHAR, n INTEGER, state VARCHAR, verdict VARCHAR",
    "dips": "experiment VARCHAR, measure VARCHAR, factor VARCHAR, levels JSON, ratio DOUBLE, low DOUBLE, high DOUBLE, "
    "n INTEGER, p_value DOUBLE, adjusted_p_value DOUBLE",
    "scaling": "experiment VARCHAR, measure VARCHAR, kind VARCHAR, factor VARCHAR, within JSON, at_count DOUBLE, low DOUBLE, "
    "high DOUBLE, n INTEGER, lowest DOUBLE, highest DOUBLE, shape VARCHAR",
    "effects": "experiment VARCHAR, measure VARCHAR, design VARCHAR, factors JSON, baselines JSON, levels JSON, mixed_with JSON, "
    "ratio DOUBLE, low DOUBLE, high DOUBLE, n INTEGER, conclusion VARCHAR, p_value DOUBLE, adjusted_p_value DOUBLE",
    "percentiles": "experiment VARCHAR, run VARCHAR, trial INTEGER AS (CAST(split_part(run, '/', 1) AS INTEGER)), "
    "attempt INTEGER AS (CAST(split_part(run, '/', 2) AS INTEGER)), phase VARCHAR, operation VARCHAR, share DOUBLE, "
    "latency_ns DOUBLE, slower BIGINT, count BIGINT",
}
"""Name -> columns, as in `tables.COLUMNS`."""

SHARES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1.0)
"""Shares of the operations whose percentiles are told; 1 is the largest."""

ENCODER = json.JSONEncoder(sort_keys=True)


def to_text(value: object) -> str:
    """Plain JSON in a column; nothing is as common as an object that has nothing."""
    return "{}" if value == {} else ENCODER.encode(plain.to_plain(value))


def experiment_rows(results: Results) -> Iterator[Row]:
    """One row."""
    asked = results.experiment
    factors = {factor.path: factor.levels for factor in asked.factors}
    yield (
        *(asked.title, asked.question, asked.digest, results.ruleset, to_text(factors), asked.compare, asked.matters_share),
        *(len(results.runs), to_text(results.damaged)),
    )


def measure_rows(results: Results) -> Iterator[Row]:
    """One row a measure that was asked for, with what is claimed of it (NULL: not claimed)."""
    for one in results.experiment.measures:
        kind = measures.figure_kind(one.figure)
        unit, better = (kind.unit.value, kind.better.value) if kind else (None, None)
        claim = one.claim
        parts = (claim.durability, claim.load, claim.regime, claim.path)
        yield (
            *(one.name, one.workload, one.operation, one.figure, unit, better, claim.tier.value),
            *(part.value if part else None for part in parts),
        )


def course_rows(results: Results) -> Iterator[Row]:
    """One row a measure of a run: how it went over time."""
    for judged in results.runs:
        for one in judged.courses.values():
            *mean, batches = interval(one.mean)
            yield (
                *(judged.id, one.measure, one.kind.value, one.state.value, one.from_ns, one.to_ns, one.clients, one.parts),
                *(one.steady_from_ns, one.before, *mean, one.unit, batches, one.memory_ns, one.drift_share),
                *(to_text(one.changes), one.unknown.value if one.unknown else None),
            )


def interval(found: Estimate | None) -> Row:
    """Value, low, high and n; NULL where there is no estimate."""
    return (found.value, found.low, found.high, found.n) if found else (None,) * 4


def requirement_rows(results: Results) -> Iterator[Row]:
    """One row a requirement at one combination of levels."""
    for one in results.requirements:
        *values, n = interval(one.estimate)
        unit = one.estimate.unit if one.estimate else None
        yield (one.measure, one.text, to_text(one.levels), *values, unit, n, one.state.value, one.verdict.value)


def dip_rows(results: Results) -> Iterator[Row]:
    """One row a level that is worse than its neighbours."""
    for one in results.dips:
        tests = (one.p_value, one.adjusted_p_value)
        yield (one.measure, one.factor, to_text(one.levels), *interval(one.depth), *tests)


def scaling_rows(results: Results) -> Iterator[Row]:
    """One row an answer about a measure over a count."""
    for one in results.scaling:
        yield (
            *(one.measure, one.kind.value, one.factor, to_text(one.within), *interval(one.at)),
            *(one.lowest, one.highest, one.shape.value),
        )


def effect_rows(results: Results) -> Iterator[Row]:
    """One row a factor's effect on a measure, or what two factors do together."""
    for each in results.sensitivity:
        for one in each.effects:
            factors, baselines, levels = zip(*((step.factor, step.baseline, step.level) for step in one.steps), strict=True)
            mixed = [[step.factor for step in steps] for steps in one.mixed_with]
            yield (
                *(each.measure, each.design.value, to_text(factors), to_text(baselines), to_text(levels), to_text(mixed)),
                *interval(one.ratio),
                *(one.conclusion.value, one.p_value, one.adjusted_p_value),
            )


def percentile_rows(folder: Path, results: Results) -> Iterator[Row]:
    """One row a share of an operation's latencies, all clients merged, with how many operations were slower."""
    connection = columns.connect()
    try:
        for judged in results.runs:
            path = layout.attempt_folder(folder, judged.id) / layout.HISTOGRAMS
            seen = Observations(histograms=columns.read_histograms(connection, path))
            for phase, operation in dict.fromkeys((one.phase, one.operation) for one in seen.histograms):
                buckets = latency.merged(seen, phase, operation)
                total = sum(count for _, count in buckets)
                for share in SHARES if total else ():
                    at = latency.percentile(buckets, share)
                    slower = sum(count for upper, count in buckets if at is not None and upper > at)
                    yield (judged.id, phase, operation, share, at, slower, total)
    finally:
        connection.close()


ROWS = {
    "experiments": experiment_rows,
    "measures": measure_rows,
    "courses": course_rows,
    "requirements": requirement_rows,
    "dips": dip_rows,
    "scaling": scaling_rows,
    "effects": effect_rows,
}
"""Name -> rows from the results."""
