"""Export a notebook as CSV, Parquet or one SQLite file, into a folder of which every file is known to be ours.

The tables are those of `assay sql`; docs/export.md has their columns. A folder is written under another name and put in place
when it is whole; its list of files (`assay-export.json`) is what a later export may replace.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import UsageError
from assay.notebook import columns, layout, placing, tables

if TYPE_CHECKING:
    import duckdb

SCHEMA = 1
"""Version of the exported tables: higher where a column or table is renamed, removed or means something else."""
SQLITE = "assay.sqlite"
BATCH = 10_000
"""So many rows go into SQLite at once."""


class Format(StrEnum):
    """What a notebook is exported as."""

    CSV = "csv"
    PARQUET = "parquet"
    SQLITE = "sqlite"


NAMES = (*tables.COLUMNS, *tables.PARQUET)
"""All tables."""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What was written."""

    folder: Path
    rows: Mapping[str, int]
    """Table -> its number of rows."""


def known_tables(names: Sequence[str]) -> tuple[str, ...]:
    """The tables that are named, in the order of all; all where none is named. Raises UsageError."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise UsageError(f"found table {', '.join(unknown)}; expected some of: {', '.join(NAMES)}")
    return tuple(name for name in NAMES if name in names or not names)


def export(experiments: Sequence[tables.Kept], form: Format, target: Path, names: Sequence[str] = ()) -> Exported:
    """Write the tables of these experiments into a folder of their own.

    Raises UsageError for an unknown table, RefusedError where the folder holds what no export wrote, or cannot be written,
    DamagedError where the evidence of a run cannot be read.
    """
    chosen = known_tables(names)
    placing.require_ours(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=layout.TEMPORARY, dir=target.parent))
    except OSError as error:
        raise placing.cannot_write(target, error) from error
    try:
        counts = written(experiments, form, temporary, chosen)
        placing.list_files(temporary, told(experiments, form, counts))
        temporary.chmod(0o755)
        placing.put(temporary, target)
    except (OSError, sqlite3.Error) as error:
        raise placing.cannot_write(target, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return Exported(folder=target, rows=counts)


def told(experiments: Sequence[tables.Kept], form: Format, counts: Mapping[str, int]) -> Mapping[str, object]:
    """What the list of files says besides them."""
    return {
        "schema": SCHEMA,
        "format": form.value,
        "experiments": {folder.name: results.ruleset for folder, results in experiments},
        "rows": dict(counts),
    }


def written(experiments: Sequence[tables.Kept], form: Format, folder: Path, names: Sequence[str]) -> Mapping[str, int]:
    """Write every table; its number of rows by its name. Raises RefusedError."""
    import duckdb

    connection = columns.connect()
    try:
        list_runs(connection, experiments)
        return dict(WRITERS[form](connection, folder, [(name, asked_for(connection, name, experiments)) for name in names]))
    except duckdb.Error as error:
        raise placing.cannot_write(folder, error) from error
    finally:
        connection.close()


def list_runs(connection: duckdb.DuckDBPyConnection, experiments: Sequence[tables.Kept]) -> None:
    """A table `files`: where each run's folder is."""
    connection.execute("CREATE TABLE files (place VARCHAR, experiment VARCHAR, run VARCHAR, trial INTEGER, attempt INTEGER)")
    found = [(folder, judged.id) for folder, results in experiments for judged in results.runs]
    listed = [(str(layout.attempt_folder(folder, run)), folder.name, run, *layout.split_run_id(run)) for folder, run in found]
    if listed:
        connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?)", listed)


def asked_for(connection: duckdb.DuckDBPyConnection, name: str, experiments: Sequence[tables.Kept]) -> str:
    """The query whose answer is the table; texts that hold JSON are texts in every format."""
    if name in tables.PARQUET:
        return points(connection, name)
    tables.fill_rows(connection, name, experiments)
    kinds = {str(row[0]): str(row[1]) for row in connection.execute(f"DESCRIBE {name}").fetchall()}
    chosen = [f'"{column}"{"::VARCHAR" if kind == "JSON" else ""} AS "{column}"' for column, kind in kinds.items()]
    return f"SELECT {', '.join(chosen)} FROM {name}"  # noqa: S608 - names of ours


def points(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """The query over the evidence of all runs, one row a point; it reads the files one after the other."""
    _, file, kinds = tables.PARQUET[name]
    places = [str(row[0]) for row in connection.execute("SELECT place FROM files").fetchall()]
    head = "SELECT experiment, run, trial, attempt"
    if not places:
        none = ", ".join(f'NULL::{kind.removesuffix("[]")} AS "{column}"' for column, kind in kinds.items())
        return f"{head}, {none} FROM files"
    chosen = ", ".join(f'unnest("{name}") AS "{name}"' if kind.endswith("[]") else f'"{name}"' for name, kind in kinds.items())
    paths = ", ".join(quoted(columns.literal(Path(place) / file)) for place in places)
    found = f"read_parquet([{paths}], filename = true) AS found"
    return f"{head}, {chosen} FROM {found} JOIN files ON found.filename = files.place || '/{file}'"


def quoted(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def as_files(options: str, ending: str) -> Callable[..., Iterator[tuple[str, int]]]:
    """A writer of one file a table."""

    def write(
        connection: duckdb.DuckDBPyConnection, folder: Path, queries: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[str, int]]:
        for name, query in queries:
            path = quoted(str(folder / f"{name}.{ending}"))
            done = connection.execute(f"COPY ({query}) TO {path} ({options})").fetchone()
            yield name, int(done[0]) if done else 0

    return write


def as_sqlite(
    connection: duckdb.DuckDBPyConnection, folder: Path, queries: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, int]]:
    """All tables in one file; its `user_version` is the version of the tables."""
    with closing(sqlite3.connect(folder / SQLITE, isolation_level=None)) as made:
        made.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA user_version={SCHEMA}; BEGIN")
        for name, query in queries:
            yield name, copied(connection.execute(query), made, name)
        made.execute("COMMIT")


def copied(found: duckdb.DuckDBPyConnection, made: sqlite3.Connection, name: str) -> int:
    """Make a table of SQLite and put the answer to a query in it; the number of its rows."""
    kinds = [(column[0], KINDS.get(str(column[1]), "TEXT")) for column in found.description or ()]
    made.execute(f"CREATE TABLE {name} (" + ", ".join(f'"{column}" {kind}' for column, kind in kinds) + ")")
    places, count = ", ".join("?" * len(kinds)), 0
    while rows := found.fetchmany(BATCH):
        made.executemany(f"INSERT INTO {name} VALUES ({places})", rows)  # noqa: S608 - a table of ours
        count += len(rows)
    return count


KINDS: Mapping[str, str] = {"BIGINT": "INTEGER", "INTEGER": "INTEGER", "BOOLEAN": "INTEGER", "DOUBLE": "REAL", "NUMBER": "REAL"}
WRITERS: Mapping[Format, Callable[..., Iterator[tuple[str, int]]]] = {
    Format.CSV: as_files("FORMAT csv, HEADER", "csv"),
    Format.PARQUET: as_files(f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{assay_export: '{SCHEMA}'}}", "parquet"),
    Format.SQLITE: as_sqlite,
}
"""Format -> what writes the queries' answers into a folder and tells the number of rows of each."""
