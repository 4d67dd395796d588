"""The notebook as tables: SQL over runs, phases, clients, readings, series, histograms, facts, findings, verdicts, answers.

What was asked and the wider answers are in `asked`.

DuckDB in memory looks at the files that were found whole. Only the tables that a query names are filled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError, UsageError
from assay.notebook import asked, columns, layout, read
from assay.notebook.asked import to_text
from assay.records import Results, Run

if TYPE_CHECKING:
    import duckdb

Row = tuple[object, ...]
Kept = tuple[Path, Results]
"""An experiment's folder and what is known of it."""

PARQUET: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "readings": ("readings", layout.READINGS, columns.READINGS),
    "series": ("series_rows", layout.SERIES, columns.SERIES),
    "histograms": ("histogram_rows", layout.HISTOGRAMS, columns.HISTOGRAMS),
}
"""Name in a query -> table, file, columns."""

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
    "quiet BOOLEAN, figures JSON",
    "clients": f"{OF_RUN}, phase VARCHAR, client INTEGER, host VARCHAR, pid INTEGER, role VARCHAR, "
    "workers INTEGER, armed_ns BIGINT, started_ns BIGINT, first_ns BIGINT, last_ns BIGINT, stopped_by VARCHAR, "
    "operation VARCHAR, count BIGINT, bytes BIGINT, errors BIGINT, busy_ns BIGINT",
    "facts": f"{OF_RUN}, host VARCHAR, moment VARCHAR, key VARCHAR, value VARCHAR, class VARCHAR",
    "verdicts": f"{OF_RUN}, subject VARCHAR, measure VARCHAR, value DOUBLE, unit VARCHAR, "
    "corrected DOUBLE, state VARCHAR, label VARCHAR, tier VARCHAR, low DOUBLE, high DOUBLE",
    "findings": f"{OF_RUN}, subject VARCHAR, rule VARCHAR, name VARCHAR, state VARCHAR, "
    "severity VARCHAR, part VARCHAR, statement VARCHAR, observed JSON, threshold JSON, advice VARCHAR",
    "cells": "experiment VARCHAR, measure VARCHAR, levels JSON, value DOUBLE, low DOUBLE, high DOUBLE, unit VARCHAR, "
    "n INTEGER, smallest DOUBLE, largest DOUBLE, excluded JSON",
    "comparisons": "experiment VARCHAR, measure VARCHAR, factor VARCHAR, baseline VARCHAR, candidate VARCHAR, within JSON, "
    "ratio DOUBLE, low DOUBLE, high DOUBLE, n INTEGER, conclusion VARCHAR, method VARCHAR, interleaved BOOLEAN, "
    "p_value DOUBLE, adjusted_p_value DOUBLE, parallel_efficiency DOUBLE",
    **asked.COLUMNS,
}


@dataclass(frozen=True, kw_only=True)
class Table:
    """The answer to a query."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


READING = frozenset({"SELECT", "EXPLAIN", "MULTI", "PRAGMA"})
"""Kinds of statements that ask: WITH, FROM, SHOW, DESCRIBE and SUMMARIZE are SELECT to DuckDB, PIVOT is MULTI."""


def sql(lab: Path, query: str) -> Table:
    """Ask all experiments of a lab. Raises UsageError with the database's words, and where there is no lab.

    Nothing but the tables can be reached: files and the network are shut off before the query runs.
    """
    import duckdb

    connection = columns.connect()
    try:
        fill(connection, kept(lab), wanted(query))
        connection.execute("SET enable_external_access=false; SET lock_configuration=true")
        others = {statement.type.name for statement in connection.extract_statements(query)} - READING
        if others:
            raise duckdb.PermissionException(f"{', '.join(sorted(others))}: the tables are made anew from files, only ask them")
        found = connection.execute(query if connection.extract_statements(query) else "an empty query")
        names = tuple(column[0] for column in found.description or ())
        return Table(columns=names, rows=tuple(found.fetchall()))
    except duckdb.Error as error:
        tables = ", ".join((*COLUMNS, *PARQUET))
        raise UsageError(f"found a query that cannot be answered ({error}); expected SQL over {tables}") from error
    finally:
        connection.close()


def wanted(query: str) -> frozenset[str]:
    """The tables that a query may mean: all whose names occur as words; all where none does (SHOW TABLES)."""
    words = set(re.findall(r"[a-z_]+", query.lower()))
    return frozenset((words & {*COLUMNS, *PARQUET}) or {*COLUMNS, *PARQUET})


def kept(lab: Path) -> list[Kept]:
    """The experiments of a lab whose plan can be read, as they are stored."""
    return [(folder, results) for folder in read.folders(lab) if (results := whole(folder)) is not None]


def fill(connection: duckdb.DuckDBPyConnection, experiments: Sequence[Kept], names: frozenset[str]) -> None:
    """Make every table, and fill those that are named."""
    for name in COLUMNS:
        fill_rows(connection, name, experiments if name in names else ())
    for name, (table, file, kinds_of) in PARQUET.items():
        kinds = ", ".join(f'"{column}" {kind}' for column, kind in kinds_of.items())
        connection.execute(f"CREATE TABLE {table} ({OF_RUN}, {kinds})")
        if name in names:
            for folder, results in experiments:
                fill_parquet(connection, table, folder, [(judged.id, file) for judged in results.runs])
    connection.execute((resources.files("assay.notebook") / "views.sql").read_text(encoding="utf-8"))


def fill_rows(connection: duckdb.DuckDBPyConnection, name: str, experiments: Sequence[Kept]) -> None:
    """Make a table that is no file's, with its rows from these experiments."""
    connection.execute(f"CREATE TABLE {name} ({COLUMNS[name]})")
    insert(connection, name, [row for folder, results in experiments for row in rows(name, folder, results)])


def whole(folder: Path) -> Results | None:
    """What is stored of an experiment; None where its plan cannot be read."""
    try:
        return read.results(folder)
    except AssayError:
        return None


def insert(connection: duckdb.DuckDBPyConnection, table: str, made: Sequence[Row]) -> None:
    """Put rows into a table through columns, which DuckDB takes at once."""
    if not made:
        return
    import numpy as np

    cells = {}
    for number, values in enumerate(zip(*made, strict=True)):
        cells[f"c{number}"] = np.empty(len(made), dtype=object)
        cells[f"c{number}"][:] = values
    connection.register("made", cells)
    connection.execute(f"INSERT INTO {table} SELECT * FROM made")  # noqa: S608 - a table of ours
    connection.unregister("made")


def fill_parquet(connection: duckdb.DuckDBPyConnection, table: str, folder: Path, found: Iterable[tuple[str, str]]) -> None:
    """Put the Parquet files of an experiment's whole runs into a table."""
    for run, file in found:
        path = layout.attempt_folder(folder, run) / file
        connection.execute(
            f"INSERT INTO {table} SELECT ?, ?, * FROM read_parquet(?)",  # noqa: S608 - a table of ours
            [folder.name, run, columns.literal(path)],
        )


def rows(table: str, folder: Path, results: Results) -> Iterator[Row]:
    """The rows of one table from one experiment, with its name in front."""
    if table in FOLDER_ROWS:
        made: Iterable[Row] = FOLDER_ROWS[table](folder, results)
    elif table in RUN_ROWS:
        made = (row for judged in results.runs for row in RUN_ROWS[table](judged.run))
    else:
        made = RESULT_ROWS[table](results)
    for row in made:
        yield (folder.name, *row)


def run_rows(run: Run) -> Iterator[Row]:
    """One row."""
    trial = run.trial
    yield (
        *(layout.run_id(trial.id, run.attempt), run.outcome.value, to_text(trial.levels)),
        *(trial.replicate, trial.block, trial.sitting, trial.position),
        *(run.started_utc, run.ended_utc, run.error, to_text(run.versions)),
    )


def phase_rows(run: Run) -> Iterator[Row]:
    """One row a phase."""
    for phase in run.phases:
        yield (
            *(layout.run_id(run.trial.id, run.attempt), phase.name, phase.workload, phase.measured, phase.cache_asked.value),
            *(phase.cache_proved.value if phase.cache_proved else None, phase.cached_share_before),
            *(phase.start_ns, phase.end_ns, phase.drain_ns, phase.quiesce_ns, phase.quiet, to_text(phase.values)),
        )


def client_rows(run: Run) -> Iterator[Row]:
    """One row an operation of a client."""
    for phase in run.phases:
        for client in phase.clients:
            for total in client.operations:
                yield (
                    *(layout.run_id(run.trial.id, run.attempt), phase.name, client.index, client.host, client.pid, client.role),
                    *(client.workers, client.armed_ns, client.started_ns, client.first_ns, client.last_ns, client.stopped_by),
                    *(total.operation, total.count, total.bytes, total.errors, total.busy_ns),
                )


def fact_rows(folder: Path, results: Results) -> Iterator[Row]:
    """One row a fact."""
    for judged in results.runs:
        for fact in read.facts(folder, judged.id):
            yield (judged.id, fact.host, fact.when.value, fact.key, fact.value, fact.fact_class.value)


def verdict_rows(results: Results) -> Iterator[Row]:
    """One row a verdict, of runs and of comparisons (run is NULL)."""
    judged = [(run.id, measure, verdict) for run in results.runs for measure, verdict in run.verdicts.items()]
    compared = [(None, subject.split(":")[1], verdict) for subject, verdict in results.comparison_verdicts.items()]
    for run, measure, verdict in (*judged, *compared):
        bound = (verdict.bound.low, verdict.bound.high) if verdict.bound else (None, None)
        yield (
            *(run, verdict.subject, measure, verdict.value, verdict.unit, verdict.corrected),
            *(verdict.state.value, verdict.label, verdict.claim.tier.value, *bound),
        )


def finding_rows(results: Results) -> Iterator[Row]:
    """One row a finding, of runs, of comparisons and of the experiment (run is NULL for the last two)."""
    found = [(run.id, verdict.findings) for run in results.runs for verdict in run.verdicts.values()]
    wider = [(None, verdict.findings) for verdict in results.comparison_verdicts.values()]
    for run, findings in (*found, *wider, (None, results.findings)):
        for one in findings:
            yield (
                *(run, one.subject, one.rule, one.name, one.state.value, one.severity.value, one.part),
                *(one.statement, to_text(one.observed), to_text(one.threshold), one.advice),
            )


def cell_rows(results: Results) -> Iterator[Row]:
    """One row a cell."""
    for cell in results.cells:
        estimate = cell.estimate
        interval = (estimate.value, estimate.low, estimate.high, estimate.unit, estimate.n) if estimate else (None,) * 5
        yield (cell.measure, to_text(cell.levels), *interval, cell.low, cell.high, to_text(cell.excluded))


def comparison_rows(results: Results) -> Iterator[Row]:
    """One row a comparison."""
    for comparison in results.comparisons:
        ratio = comparison.ratio
        interval = (ratio.value, ratio.low, ratio.high, ratio.n) if ratio else (None,) * 4
        yield (
            *(comparison.measure, comparison.factor, str(comparison.baseline), str(comparison.candidate)),
            *(to_text(comparison.within), *interval, comparison.conclusion.value, ratio.method.value if ratio else None),
            *(comparison.interleaved, comparison.p_value, comparison.adjusted_p_value),
            comparison.parallel_efficiency.value if comparison.parallel_efficiency else None,
        )


RUN_ROWS = {"runs": run_rows, "phases": phase_rows, "clients": client_rows}
FOLDER_ROWS = {"facts": fact_rows, "percentiles": asked.percentile_rows}
RESULT_ROWS = {
    "verdicts": verdict_rows,
    "findings": finding_rows,
    "cells": cell_rows,
    "comparisons": comparison_rows,
    **asked.ROWS,
}
