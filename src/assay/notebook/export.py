"""Export a notebook as CSV, Parquet or one SQLite file, into a folder of which every file is known to be ours.

The tables are those of `assay sql`; docs/export.md has their files. A folder is written under another name and put in place
when it is whole; its list of files (`assay-export.json`) is what a later export may replace.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import DamagedError, RefusedError, UsageError
from assay.notebook import files, layout, sql, stored, tables

if TYPE_CHECKING:
    import duckdb


LIST = "assay-export.json"
CHUNK = 1 << 20
ELSEWHERE = "name another folder (--to), or remove this one"


def list_files(folder: Path, more: Mapping[str, object]) -> None:
    """Write the list of a folder's files, with their lengths and CRC-32, and what else there is to say."""
    listed = {path.name: entry(path) for path in sorted(folder.iterdir())}
    text = json.dumps({**more, "assay": version("assay-lab"), "files": listed}, indent=1, sort_keys=True)
    (folder / LIST).write_text(text + "\n", encoding="utf-8")


def entry(path: Path) -> dict[str, int]:
    """Length and CRC-32 of a file."""
    length = crc = 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            length, crc = length + len(chunk), zlib.crc32(chunk, crc)
    return {"bytes": length, "crc32": crc}


def require_ours(target: Path) -> None:
    """Raises RefusedError where the folder has a file that is not as an export left it."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise RefusedError(f"{target} is no folder: {ELSEWHERE}")
    if not target.is_dir():
        return
    there = sorted(path.name for path in target.iterdir() if path.name != LIST)
    listed = listed_entries(target)
    strange = [name for name in there if name not in listed or not unchanged(target / name, listed[name])]
    if strange:
        shown = ", ".join(strange[:5]) + (f" and {len(strange) - 5} more" if len(strange) > 5 else "")
        raise RefusedError(f"{target} holds {shown}, which no export wrote: {ELSEWHERE}")


def listed_entries(folder: Path) -> Mapping[str, object]:
    """The files that an earlier export listed; none where there was no export. Raises RefusedError where the list is no list."""
    if not (folder / LIST).exists():
        return {}
    with suppress(DamagedError, KeyError, TypeError, ValueError):
        return dict(files.read_json(folder / LIST)["files"])
    raise RefusedError(f"{folder / LIST}: no list of exported files: {ELSEWHERE}")


def unchanged(path: Path, listed: object) -> bool:
    """Return whether a file is one of ours and still as it was written."""
    return not path.is_symlink() and path.is_file() and entry(path) == listed


def put_in_place(made: Path, target: Path) -> None:
    """Put a whole folder in place; files of the earlier export go, the list comes before the files it names."""
    require_ours(target)
    if not target.exists():
        made.rename(target)
        return
    for path in target.iterdir():
        if path.name != LIST:
            path.unlink()
    (made / LIST).replace(target / LIST)
    for path in sorted(made.iterdir()):
        path.rename(target / path.name)


SCHEMA = 2
"""Version of the exported tables: higher where a column or table is renamed, removed or means something else.

2: docs/export.md, "Versions", lists what differs from 1.
"""
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
    """Return the tables that are named, in the order of all; all where none is named. Raises UsageError."""
    unknown = sorted(set(names) - set(NAMES))
    if unknown:
        raise UsageError(f"found table {', '.join(unknown)}; expected some of: {', '.join(NAMES)}")
    return tuple(name for name in NAMES if name in names or not names)


def export(experiments: Sequence[sql.Kept], form: Format, target: Path, names: Sequence[str] = ()) -> Exported:
    """Write the tables of these experiments into a folder of their own.

    Raises UsageError for an unknown table, RefusedError where the folder holds what no export wrote, or cannot be written,
    DamagedError where the evidence of a run cannot be read.
    """
    chosen = known_tables(names)
    require_ours(target)
    try:
        with files.beside(target) as temporary:
            counts = written(experiments, form, temporary, chosen)
            list_files(temporary, listing(experiments, form, counts))
            put_in_place(temporary, target)
    except (OSError, sqlite3.Error) as error:
        raise files.cannot_write(target, error, "--to") from error
    return Exported(folder=target, rows=counts)


def listing(experiments: Sequence[sql.Kept], form: Format, counts: Mapping[str, int]) -> Mapping[str, object]:
    """Return what the list of files says besides them."""
    return {
        "schema": SCHEMA,
        "format": form.value,
        "experiments": {folder.name: results.ruleset for folder, results in experiments},
        "rows": dict(counts),
    }


def written(experiments: Sequence[sql.Kept], form: Format, folder: Path, names: Sequence[str]) -> Mapping[str, int]:
    """Write every table; its number of rows by its name. Raises RefusedError."""
    import duckdb

    connection = files.connect()
    try:
        list_runs(connection, experiments)
        return dict(WRITERS[form](connection, folder, [(name, table_query(connection, name, experiments)) for name in names]))
    except duckdb.Error as error:
        raise files.cannot_write(folder, error, "--to") from error
    finally:
        connection.close()


def list_runs(connection: duckdb.DuckDBPyConnection, experiments: Sequence[sql.Kept]) -> None:
    """A table `files`: where each run's folder is."""
    connection.execute("CREATE TABLE files (place VARCHAR, experiment VARCHAR, run VARCHAR, trial INTEGER, attempt INTEGER)")
    found = [(folder, judged.id) for folder, results in experiments for judged in results.runs]
    listed = [(str(layout.attempt_folder(folder, run)), folder.name, run, *layout.split_run_id(run)) for folder, run in found]
    if listed:
        connection.executemany("INSERT INTO files VALUES (?, ?, ?, ?, ?)", listed)


def table_query(connection: duckdb.DuckDBPyConnection, name: str, experiments: Sequence[sql.Kept]) -> str:
    """Return the query whose answer is the table; texts that hold JSON are texts in every format."""
    if name in tables.PARQUET:
        return points(connection, name)
    sql.fill_rows(connection, name, experiments)
    kinds = {str(row[0]): str(row[1]) for row in connection.execute(f"DESCRIBE {name}").fetchall()}
    chosen = [f'"{column}"{"::VARCHAR" if kind == "JSON" else ""} AS "{column}"' for column, kind in kinds.items()]
    return f"SELECT {', '.join(chosen)} FROM {name}"  # noqa: S608 - names of ours


def points(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the query over the evidence of all runs, one row a point; it reads the files one after the other."""
    _, file, kinds = tables.PARQUET[name]
    places = [str(row[0]) for row in connection.execute("SELECT place FROM files").fetchall()]
    head = "SELECT experiment, run, trial, attempt"
    if not places:
        none = ", ".join(f'NULL::{kind.removesuffix("[]")} AS "{column}"' for column, kind in kinds.items())
        return f"{head}, {none} FROM files"
    chosen = ", ".join(
        f'unnest("{name}") AS "{name}"' if kind.endswith("[]") else stored.column(name) for name, kind in kinds.items()
    )
    paths = ", ".join(quoted(files.literal(Path(place) / file)) for place in places)
    found = f"read_parquet([{paths}], filename = true) AS found"
    return f"{head}, {chosen} FROM {found} JOIN files ON found.filename = files.place || '/{file}'"


def quoted(text: str) -> str:
    """Return a text as SQL has it."""
    return "'" + text.replace("'", "''") + "'"


def as_files(options: str, ending: str) -> Callable[..., Iterator[tuple[str, int]]]:
    """Return a writer of one file a table."""

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
    """Write all tables into one file; its `user_version` is the version of the tables."""
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
