"""The tables of a notebook: of each its columns, and its rows from the results or from the files of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from assay import measures
from assay.evidence.operations import operations
from assay.measures import latency
from assay.notebook import ends, files, layout, read
from assay.notebook.layout import to_text
from assay.records import Estimate, HostRole, Observations, Results, Run, sides

Row = tuple[object, ...]

OF_RUN = (
    "experiment VARCHAR, run VARCHAR, trial INTEGER AS (CAST(split_part(run, '/', 1) AS INTEGER)), "
    "attempt INTEGER AS (CAST(split_part(run, '/', 2) AS INTEGER))"
)
"""The first columns of every table that has `run`: its two parts are worked out from it, and NULL where it is."""

COLUMNS: Mapping[str, str] = {
    "runs": f"{OF_RUN}, outcome VARCHAR, levels JSON, replicate INTEGER, "
    "block INTEGER, sitting INTEGER, position INTEGER, started_utc VARCHAR, ended_utc VARCHAR, error VARCHAR, versions JSON",
    "phases": f"{OF_RUN}, phase VARCHAR, workload VARCHAR, measured BOOLEAN, cache_asked VARCHAR, "
    "cache_proved VARCHAR, cached_share_before DOUBLE, start_ns BIGINT, end_ns BIGINT, drain_ns BIGINT, quiesce_ns BIGINT, "
    "quiet BOOLEAN, figures JSON, side VARCHAR",
    "phase_hosts": f"{OF_RUN}, phase VARCHAR, host VARCHAR, role VARCHAR, clients INTEGER, cache_proved VARCHAR, "
    "cached_share_before DOUBLE, not_cold VARCHAR, server_cached_before DOUBLE, "
    "quiesce_ns BIGINT, quiet BOOLEAN, drain_ns BIGINT, clock_offset_ns BIGINT, clock_error_ns BIGINT, "
    "clock_drift_ppm DOUBLE",
    "clients": f"{OF_RUN}, phase VARCHAR, client INTEGER, host VARCHAR, pid INTEGER, role VARCHAR, "
    "workers INTEGER, armed_ns BIGINT, started_ns BIGINT, first_ns BIGINT, last_ns BIGINT, stopped_by VARCHAR, "
    "operation VARCHAR, count BIGINT, bytes BIGINT, errors BIGINT, busy_ns BIGINT",
    **{name: f"{OF_RUN}, {columns}" for name, columns in ends.COLUMNS.items()},
    "missing": f"{OF_RUN}, host VARCHAR, phase VARCHAR, key VARCHAR, reason VARCHAR",
    "facts": f"{OF_RUN}, host VARCHAR, moment VARCHAR, key VARCHAR, value VARCHAR, class VARCHAR",
    "verdicts": f"{OF_RUN}, subject VARCHAR, measure VARCHAR, value DOUBLE, unit VARCHAR, "
    "corrected DOUBLE, state VARCHAR, nature VARCHAR, device VARCHAR, because VARCHAR, tier VARCHAR, low DOUBLE, high DOUBLE",
    "findings": f"{OF_RUN}, subject VARCHAR, rule VARCHAR, name VARCHAR, state VARCHAR, "
    "severity VARCHAR, part VARCHAR, statement VARCHAR, observed JSON, threshold JSON, advice VARCHAR, "
    "host VARCHAR, role VARCHAR",
    "cells": "experiment VARCHAR, measure VARCHAR, levels JSON, value DOUBLE, low DOUBLE, high DOUBLE, unit VARCHAR, "
    "n INTEGER, smallest DOUBLE, largest DOUBLE, excluded JSON, true_low DOUBLE, true_high DOUBLE, verdict VARCHAR",
    "comparisons": "experiment VARCHAR, measure VARCHAR, factor VARCHAR, baseline VARCHAR, candidate VARCHAR, within JSON, "
    "ratio DOUBLE, low DOUBLE, high DOUBLE, n INTEGER, conclusion VARCHAR, method VARCHAR, interleaved BOOLEAN, "
    "p_value DOUBLE, adjusted_p_value DOUBLE, parallel_efficiency DOUBLE, true_low DOUBLE, true_high DOUBLE",
    "experiments": "experiment VARCHAR, title VARCHAR, question VARCHAR, digest VARCHAR, ruleset VARCHAR, factors JSON, "
    "compared VARCHAR, matters_share DOUBLE, runs INTEGER, damaged JSON",
    "measures": "experiment VARCHAR, measure VARCHAR, workload VARCHAR, operation VARCHAR, figure VARCHAR, unit VARCHAR, "
    "better VARCHAR, tier VARCHAR, durability VARCHAR, load VARCHAR, regime VARCHAR, path VARCHAR",
    "courses": f"{OF_RUN}, measure VARCHAR, kind VARCHAR, state VARCHAR, "
    "from_ns BIGINT, to_ns BIGINT, clients INTEGER, parts INTEGER, steady_from_ns BIGINT, before DOUBLE, mean DOUBLE, "
    "low DOUBLE, high DOUBLE, unit VARCHAR, batches INTEGER, memory_ns BIGINT, drift_share DOUBLE, "
    "changes JSON, unknown VARCHAR",
    "requirements": "experiment VARCHAR, measure VARCHAR, requirement VARCHAR, levels JSON, value DOUBLE, low DOUBLE, "
    "high DOUBLE, unit VARCHAR, n INTEGER, state VARCHAR, verdict VARCHAR, true_low DOUBLE, true_high DOUBLE",
    "dips": "experiment VARCHAR, measure VARCHAR, factor VARCHAR, levels JSON, ratio DOUBLE, low DOUBLE, high DOUBLE, "
    "n INTEGER, p_value DOUBLE, adjusted_p_value DOUBLE",
    "scaling": "experiment VARCHAR, measure VARCHAR, kind VARCHAR, factor VARCHAR, within JSON, at_count DOUBLE, low DOUBLE, "
    "high DOUBLE, n INTEGER, lowest DOUBLE, highest DOUBLE, shape VARCHAR, resource VARCHAR, device VARCHAR, capacity DOUBLE, "
    "others DOUBLE, verdict VARCHAR",
    "effects": "experiment VARCHAR, measure VARCHAR, design VARCHAR, factors JSON, baselines JSON, levels JSON, mixed_with JSON, "
    "ratio DOUBLE, low DOUBLE, high DOUBLE, n INTEGER, conclusion VARCHAR, p_value DOUBLE, adjusted_p_value DOUBLE",
    "operation_ladder": f"{OF_RUN}, phase VARCHAR, operation VARCHAR, client BIGINT, wire BIGINT, server BIGINT, "
    "own BIGINT, differences JSON, others JSON",
    "percentiles": f"{OF_RUN}, phase VARCHAR, operation VARCHAR, share DOUBLE, latency_ns DOUBLE, slower BIGINT, count BIGINT",
}

PARQUET: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "readings": ("readings", layout.READINGS, files.READING_COLUMNS),
    "series": ("series_rows", layout.SERIES, files.SERIES_COLUMNS),
    "histograms": ("histogram_rows", layout.HISTOGRAMS, files.HISTOGRAM_COLUMNS),
}
"""Name in a query -> table, file, columns."""

SHARES = (0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 0.99999, 1.0)
"""Shares of the operations whose percentiles are exported; 1 is the largest."""


def run_rows(run: Run) -> Iterator[Row]:
    """Yield one row."""
    trial = run.trial
    yield (
        *(layout.run_id(trial.id, run.attempt), run.outcome.value, to_text(trial.levels)),
        *(trial.replicate, trial.block, trial.sitting, trial.position),
        *(run.started_utc, run.ended_utc, run.error, to_text(run.versions)),
    )


def phase_rows(run: Run) -> Iterator[Row]:
    """Yield one row a phase."""
    for phase in run.phases:
        yield (
            *(layout.run_id(run.trial.id, run.attempt), phase.name, phase.workload, phase.measured, phase.cache_asked.value),
            *(phase.cache_proved.value if phase.cache_proved else None, phase.cached_share_before),
            *(phase.start_ns, phase.end_ns, phase.drain_ns, phase.quiesce_ns, phase.quiet, to_text(phase.values)),
            phase.side.value,
        )


def phase_host_rows(run: Run) -> Iterator[Row]:
    """One row a host of a phase."""
    for phase in run.phases:
        for one in phase.hosts:
            yield (
                *(layout.run_id(run.trial.id, run.attempt), phase.name, one.host, role(run, one.host)),
                sum(client.host == one.host for client in phase.clients),
                *(one.cache_proved.value if one.cache_proved else None, one.cached_share_before, one.not_cold),
                one.server_cached_before,
                *(one.quiesce_ns, one.quiet, one.drain_ns),
                *((one.clock.offset_ns, one.clock.error_ns, one.clock.drift_ppm) if one.clock else (None, None, None)),
            )


def role(run: Run, host: str) -> str | None:
    """Return `target`, `load`, or both; NULL for a host that is neither."""
    roles = (HostRole.TARGET if host in run.target_hosts else None, HostRole.LOAD if host in run.load_hosts else None)
    return ", ".join(one.value for one in roles if one) or None


def client_rows(run: Run) -> Iterator[Row]:
    """Yield one row an operation of a client."""
    for phase in run.phases:
        for client in phase.clients:
            for total in client.operations:
                yield (
                    *(layout.run_id(run.trial.id, run.attempt), phase.name, client.index, client.host, client.pid, client.role),
                    *(client.workers, client.armed_ns, client.started_ns, client.first_ns, client.last_ns, client.stopped_by),
                    *(total.operation, total.count, total.bytes, total.errors, total.busy_ns),
                )


def fact_rows(folder: Path, results: Results) -> Iterator[Row]:
    """Yield one row a fact."""
    for judged in results.runs:
        for fact in read.facts(folder, judged.id):
            yield (judged.id, fact.host, fact.when.value, fact.key, fact.value, fact.fact_class.value)


def missing_rows(folder: Path, results: Results) -> Iterator[Row]:
    """Yield one row a piece of evidence that a host did not give in a phase (NULL: in the whole run)."""
    for judged in results.runs:
        for one in read.missing(folder, judged.id):
            yield (judged.id, one.host, one.phase, one.key, one.reason)


def verdict_rows(results: Results) -> Iterator[Row]:
    """Yield one row a verdict, of runs and of comparisons (run is NULL)."""
    judged = [verdict for run in results.runs for verdict in run.verdicts.values()]
    for verdict in (*judged, *results.comparison_verdicts.values()):
        label, bound = verdict.label, (verdict.bound.low, verdict.bound.high) if verdict.bound else (None, None)
        yield (
            *(verdict.run, verdict.subject, verdict.measure, verdict.value, verdict.unit, verdict.corrected),
            *(verdict.state.value, label.nature.value, label.device, to_text(label.because), verdict.claim.tier.value, *bound),
        )


def finding_rows(results: Results) -> Iterator[Row]:
    """Yield one row a finding, of runs, of comparisons and of the experiment (run is NULL for the last two)."""
    found = [(run.id, verdict.findings) for run in results.runs for verdict in run.verdicts.values()]
    wider = [(None, verdict.findings) for verdict in results.comparison_verdicts.values()]
    for run, findings in (*found, *wider, (None, results.findings)):
        for one in findings:
            yield (
                *(run, one.subject, one.rule, one.name, one.state.value, one.severity.value, one.part),
                *(one.statement, to_text(one.observed), to_text(one.threshold), one.advice),
                *(one.host, one.role.value if one.role else None),
            )


def cell_rows(results: Results) -> Iterator[Row]:
    """Yield one row a cell."""
    for cell in results.cells:
        *values, n = interval(cell.estimate)
        unit = cell.estimate.unit if cell.estimate else None
        yield (
            *(cell.measure, to_text(cell.levels), *values, unit, n, cell.low, cell.high, to_text(cell.excluded)),
            *(*truth(cell.estimate), cell.verdict.value if cell.verdict else None),
        )


def comparison_rows(results: Results) -> Iterator[Row]:
    """Yield one row a comparison."""
    for comparison in results.comparisons:
        ratio = comparison.ratio
        yield (
            *(comparison.measure, comparison.factor, str(comparison.baseline), str(comparison.candidate)),
            *(to_text(comparison.within), *interval(ratio), comparison.conclusion.value, ratio.method.value if ratio else None),
            *(comparison.interleaved, comparison.p_value, comparison.adjusted_p_value),
            comparison.parallel_efficiency.value if comparison.parallel_efficiency else None,
            *truth(ratio),
        )


def interval(estimate: Estimate | None) -> Row:
    """Value, low, high and n; NULL where there is no estimate."""
    return (estimate.value, estimate.low, estimate.high, estimate.n) if estimate else (None,) * 4


def truth(estimate: Estimate | None) -> Row:
    """The range of what is true; NULL where no run has a bound, and for an end that is open."""
    found = estimate.range if estimate else None
    return (found.low, found.high) if found else (None, None)


def experiment_rows(results: Results) -> Iterator[Row]:
    """Yield one row."""
    experiment = results.experiment
    factors = {factor.path: factor.levels for factor in experiment.factors}
    yield (
        *(experiment.title, experiment.question, experiment.digest, results.ruleset),
        *(to_text(factors), experiment.compare, experiment.matters_share),
        *(len(results.runs), to_text(results.damaged)),
    )


def measure_rows(results: Results) -> Iterator[Row]:
    """Yield one row a measure that was asked for, with what is claimed of it (NULL: not claimed)."""
    for one in results.experiment.measures:
        kind = measures.figure_kind(one.figure)
        unit, better = (kind.unit.value, kind.better.value) if kind else (one.unit, None)
        claim = one.claim
        parts = (claim.durability, claim.load, claim.regime, claim.path)
        yield (
            *(one.name, one.workload, one.operation, one.figure, unit, better, claim.tier.value),
            *(part.value if part else None for part in parts),
        )


def course_rows(results: Results) -> Iterator[Row]:
    """Yield one row a measure of a run: how it went over time."""
    for judged in results.runs:
        for one in judged.courses.values():
            *mean, batches = interval(one.mean)
            yield (
                *(judged.id, one.measure, one.kind.value, one.state.value, one.from_ns, one.to_ns, one.clients, one.parts),
                *(one.steady_from_ns, one.before, *mean, one.unit, batches, one.correlation_time_ns, one.drift_share),
                *(to_text(one.changes), one.unknown.value if one.unknown else None),
            )


def requirement_rows(results: Results) -> Iterator[Row]:
    """Yield one row a requirement at one combination of levels."""
    for one in results.requirements:
        *values, n = interval(one.estimate)
        unit = one.estimate.unit if one.estimate else None
        yield (
            *(one.measure, one.text, to_text(one.levels), *values, unit, n, one.state.value, one.verdict.value),
            *truth(one.estimate),
        )


def dip_rows(results: Results) -> Iterator[Row]:
    """Yield one row a level that is worse than its neighbours."""
    for one in results.dips:
        tests = (one.p_value, one.adjusted_p_value)
        yield (one.measure, one.factor, to_text(one.levels), *interval(one.depth), *tests)


def scaling_rows(results: Results) -> Iterator[Row]:
    """Yield one row an answer about a measure over a count."""
    for one in results.scaling:
        capacity = one.use and one.use.capacity
        yield (
            *(one.measure, one.kind.value, one.factor, to_text(one.within), *interval(one.at)),
            *(one.lowest, one.highest, one.shape.value),
            *((capacity.resource, capacity.name or None, capacity.amount) if capacity else (None, None, None)),
            *(one.use and one.use.others, one.verdict and one.verdict.value),
        )


def effect_rows(results: Results) -> Iterator[Row]:
    """Yield one row a factor's effect on a measure, or what two factors do together."""
    for each in results.sensitivity:
        for one in each.effects:
            factors, baselines, levels = zip(*((step.factor, step.baseline, step.level) for step in one.steps), strict=True)
            mixed = [[step.factor for step in steps] for steps in one.mixed_with]
            yield (
                *(each.measure, each.design.value, to_text(factors), to_text(baselines), to_text(levels), to_text(mixed)),
                *interval(one.ratio),
                *(one.conclusion.value, one.p_value, one.adjusted_p_value),
            )


def operation_rows(folder: Path, results: Results) -> Iterator[Row]:
    """Yield one row a kind of operation of a directory load: what clients, wire and server counted."""
    for judged in results.runs:
        if not any(place.server for place in judged.run.places):
            continue
        seen = sides.whole(judged.run, read.observations(folder, judged.id))
        for phase in judged.run.phases:
            ladder = operations(judged.run, phase, seen)
            for one in ladder.steps if ladder else ():
                counts = (one.client, one.wire, one.server, one.own)
                yield (judged.id, phase.name, one.operation, *counts, to_text(one.gaps), to_text(one.others))


def percentile_rows(folder: Path, results: Results) -> Iterator[Row]:
    """Yield one row a share of an operation's latencies, all clients merged, with how many operations were slower."""
    connection = files.connect()
    try:
        for judged in results.runs:
            path = layout.attempt_folder(folder, judged.id) / layout.HISTOGRAMS
            seen = Observations(histograms=files.read_histograms(connection, path))
            for phase, operation in dict.fromkeys((one.phase, one.operation) for one in seen.histograms):
                buckets = latency.merged(seen, phase, operation)
                total = sum(count for _, count in buckets)
                for share in SHARES if total else ():
                    at = latency.percentile(buckets, share)
                    slower = sum(count for upper, count in buckets if at is not None and upper > at)
                    yield (judged.id, phase, operation, share, at, slower, total)
    finally:
        connection.close()


RUN_ROWS = {
    "runs": run_rows,
    "phases": phase_rows,
    "phase_hosts": phase_host_rows,
    "clients": client_rows,
    **ends.ROWS,
}
FOLDER_ROWS = {"missing": missing_rows, "facts": fact_rows, "percentiles": percentile_rows, "operation_ladder": operation_rows}
RESULT_ROWS = {
    "verdicts": verdict_rows,
    "findings": finding_rows,
    "cells": cell_rows,
    "comparisons": comparison_rows,
    "experiments": experiment_rows,
    "measures": measure_rows,
    "courses": course_rows,
    "requirements": requirement_rows,
    "dips": dip_rows,
    "scaling": scaling_rows,
    "effects": effect_rows,
}
