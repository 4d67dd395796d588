"""SQL over a notebook: DuckDB in memory reads the files that were found whole; only tables that a query names are filled."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import AssayError, UsageError
from assay.notebook import captures, files, layout, read, stored
from assay.notebook.tables import COLUMNS, FOLDER_ROWS, OF_RUN, PARQUET, RESULT_ROWS, RUN_ROWS, Row
from assay.records import Results

if TYPE_CHECKING:
    import duckdb

Kept = tuple[Path, Results]
"""An experiment's folder and what is known of it."""


@dataclass(frozen=True, kw_only=True)
class QueryResult:
    """The answer to a query."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class QueryLimits:
    """What a query may take, beside the rows that the files give; under limits links out of the notebook are not followed."""

    seconds: float
    memory_bytes: int
    rows: int
    """So many rows of the answer are read."""


TABLES = (*COLUMNS, *PARQUET, *captures.COLUMNS)
READING = frozenset({"SELECT", "EXPLAIN", "MULTI", "PRAGMA"})
"""Kinds of statements that ask: WITH, FROM, SHOW, DESCRIBE and SUMMARIZE are SELECT to DuckDB, PIVOT is MULTI."""


def query(lab: Path, text: str, limits: QueryLimits | None = None) -> QueryResult:
    """Ask all experiments of a lab. Raises UsageError with the database's words, and where there is no lab.

    Nothing but the tables can be reached: files and the network are shut off before the query runs.
    """
    import duckdb

    connection = files.connect()
    try:
        if limits:
            confine(connection, limits)
        names = wanted(text)
        experiments = [] if names <= captures.COLUMNS.keys() else list(inside(lab)) if limits else kept(lab)
        fill(connection, experiments, names)
        for name in captures.COLUMNS:
            connection.execute(f"CREATE TABLE {name} ({captures.COLUMNS[name]})")
            insert(connection, name, captures.rows(name, lab) if name in names else ())
        connection.execute("SET enable_external_access=false; SET lock_configuration=true")
        kinds = {statement.type.name for statement in connection.extract_statements(text)} - READING
        if kinds:
            raise duckdb.PermissionException(f"{', '.join(sorted(kinds))}: the tables are read-only")
        with within(connection, limits):
            found = connection.execute(text if connection.extract_statements(text) else "an empty query")
            columns = tuple(column[0] for column in found.description or ())
            return QueryResult(columns=columns, rows=tuple(found.fetchmany(limits.rows) if limits else found.fetchall()))
    except duckdb.InterruptException as error:
        raise UsageError(f"found a query that takes more than {limits.seconds if limits else 0:g} s; ask for less") from error
    except duckdb.Error as error:
        tables = ", ".join(TABLES)
        raise UsageError(f"found a query that cannot be answered ({error}); expected SQL over {tables}") from error
    finally:
        connection.close()


def confine(connection: duckdb.DuckDBPyConnection, limits: QueryLimits) -> None:
    """Bound the memory, with no file to spill into."""
    connection.execute(f"SET memory_limit='{limits.memory_bytes >> 20}MiB'; SET temp_directory=''")


@contextmanager
def within(connection: duckdb.DuckDBPyConnection, limits: QueryLimits | None) -> Iterator[None]:
    """Interrupt the query when its time is over."""
    if limits is None:
        yield
        return
    timer = threading.Timer(limits.seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def wanted(text: str) -> frozenset[str]:
    """Return the tables that a query may mean: all whose names occur as words; all where none does (SHOW TABLES)."""
    words = set(re.findall(r"[a-z_]+", text.lower()))
    return frozenset((words & {*TABLES}) or TABLES)


def kept(lab: Path) -> list[Kept]:
    """Return the experiments of a lab whose plan can be read, as they are stored."""
    return [(folder, results) for folder in read.folders(lab) if (results := whole(folder)) is not None]


def inside(lab: Path) -> Iterator[Kept]:
    """Yield the experiments of a lab, without runs of which a link leads out of it; nothing behind such links is read."""
    root = lab.resolve()
    for folder in read.folders(lab):
        if folder.resolve().parent != root:
            continue
        trials = folder / layout.TRIALS
        out = [*layout.leading_out(folder, root)]
        if all(link.is_relative_to(trials) and link != trials for link in out) and (results := whole(folder)) is not None:
            places = ((judged, layout.attempt_folder(folder, judged.id)) for judged in results.runs)
            runs = (run for run, place in places if not any({place, place.parent} & {link, *link.parents} for link in out))
            yield folder, replace(results, runs=tuple(runs))


def fill(connection: duckdb.DuckDBPyConnection, experiments: Sequence[Kept], names: frozenset[str]) -> None:
    """Make every table, and fill those that are named."""
    for name in COLUMNS:
        fill_rows(connection, name, experiments if name in names else ())
    for name, (table, _, kinds_of) in PARQUET.items():
        kinds = ", ".join(f'"{column}" {kind}' for column, kind in kinds_of.items())
        connection.execute(f"CREATE TABLE {table} ({OF_RUN}, {kinds})")
        if name in names:
            for folder, results in experiments:
                fill_parquet(connection, name, folder, [judged.id for judged in results.runs])
    connection.execute((resources.files("assay.notebook") / "views.sql").read_text(encoding="utf-8"))


def fill_rows(connection: duckdb.DuckDBPyConnection, name: str, experiments: Sequence[Kept]) -> None:
    """Make a table that is no file's, with its rows from these experiments."""
    connection.execute(f"CREATE TABLE {name} ({COLUMNS[name]})")
    insert(connection, name, [row for folder, results in experiments for row in rows(name, folder, results)])


def whole(folder: Path) -> Results | None:
    """Return what is stored of an experiment; None where its plan cannot be read."""
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


def fill_parquet(connection: duckdb.DuckDBPyConnection, name: str, folder: Path, runs: Iterable[str]) -> None:
    """Put one Parquet file of each of an experiment's whole runs into a table."""
    table, file, kinds = PARQUET[name]
    chosen = ", ".join(map(stored.column, kinds))
    for run in runs:
        path = layout.attempt_folder(folder, run) / file
        connection.execute(
            f"INSERT INTO {table} SELECT ?, ?, {chosen} FROM read_parquet(?)",  # noqa: S608 - a table of ours
            [folder.name, run, files.literal(path)],
        )


def rows(table: str, folder: Path, results: Results) -> Iterator[Row]:
    """Yield the rows of one table from one experiment, with its name in front."""
    if table in FOLDER_ROWS:
        made: Iterable[Row] = FOLDER_ROWS[table](folder, results)
    elif table in RUN_ROWS:
        made = (row for judged in results.runs for row in RUN_ROWS[table](judged.run))
    else:
        made = RESULT_ROWS[table](results)
    for row in made:
        yield (folder.name, *row)
