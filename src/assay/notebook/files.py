"""Files of a notebook, whole or not there: written under another name, flushed, renamed; read against their manifest.

Parquet files have one row a record. A series or histogram is one row with list columns: arrays go into DuckDB by their buffers,
without a Python object a point. Measured with 300 series of 500 points each: 26 ms to write and 5 ms to read, against 44 ms and
73 ms for one row a point, and the file is no larger.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import zlib
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import DamagedError, RefusedError
from assay.notebook import stored
from assay.notebook.layout import MANIFEST, SCHEMA, TEMPORARY
from assay.records import Direction, Histogram, Reading, Rung, Series, Span

if TYPE_CHECKING:
    import duckdb

ALL_VALUES = 2**31 - 1
"""More rows than any table of ours."""
READING_COLUMNS: Mapping[str, str] = {
    "phase": "VARCHAR",
    "rung": "VARCHAR",
    "source": "VARCHAR",
    "host": "VARCHAR",
    "subject": "VARCHAR",
    "direction": "VARCHAR",
    "bytes": "BIGINT",
    "operations": "BIGINT",
    "from_ns": "BIGINT",
    "to_ns": "BIGINT",
    "span": "VARCHAR",
    "uncertainty_bytes": "BIGINT",
}
SERIES_COLUMNS: Mapping[str, str] = {
    "phase": "VARCHAR",
    "source": "VARCHAR",
    "layer": "VARCHAR",
    "host": "VARCHAR",
    "subject": "VARCHAR",
    "metric": "VARCHAR",
    "unit": "VARCHAR",
    "at_ns": "BIGINT[]",
    "value": "DOUBLE[]",
}
HISTOGRAM_COLUMNS: Mapping[str, str] = {
    "phase": "VARCHAR",
    "host": "VARCHAR",
    "subject": "VARCHAR",
    "operation": "VARCHAR",
    "upper_ns": "BIGINT[]",
    "count": "BIGINT[]",
}


def to_json(value: object) -> bytes:
    """Canonical JSON. Not-a-number and infinities stand as NaN and Infinity, as Python's json reads them back."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def from_json(data: bytes, path: Path) -> Any:  # noqa: ANN401 - plain values are any value
    """Return the value of a JSON file's bytes. Raises DamagedError."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DamagedError(f"{path}: no valid JSON ({error}). Restore it from a copy.") from error


def read_json(path: Path) -> Any:  # noqa: ANN401 - plain values are any value
    """Return the value in a JSON file. Raises DamagedError."""
    return from_json(read_bytes(path), path)


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file. Raises DamagedError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path}: unreadable ({error.strerror})") from error


def flush(path: Path) -> None:
    """Have a file or a folder on stable media."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file by a rename, so that a reader sees the old one or the new one. Raises RefusedError."""
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        flush(temporary)
        temporary.replace(path)
        flush(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise cannot_write(path, error) from error


@contextmanager
def beside(target: Path) -> Iterator[Path]:
    """A new folder under a temporary name beside a target, to be filled and renamed; else it is removed. Raises OSError."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=target.parent))
    try:
        temporary.chmod(0o755)
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def cannot_write(path: Path, error: Exception, option: str = "--lab") -> RefusedError:
    """Return what to tell when a notebook or an export cannot be written; `option` names the place."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error).partition("\n")[0]
    return RefusedError(f"{path}: not writable ({reason}). Free space, check permissions, or name another {option}.")


def manifest_of(folder: Path) -> Mapping[str, object]:
    """Length and CRC-32 of every file in a folder, with the version of their form."""
    from importlib.metadata import version

    files = {
        path.name: {"bytes": len(data), "crc32": zlib.crc32(data)}
        for path in sorted(folder.iterdir())
        if (data := path.read_bytes()) is not None
    }
    return {"schema": SCHEMA, "assay": version("assay-lab"), "files": files}


def check(folder: Path) -> None:
    """Hold every file of a folder against its manifest. Raises DamagedError naming the first that differs."""
    for name, entry in listed(folder).items():
        data = read_bytes(folder / name)
        require_length(folder / name, len(data), entry)
        if zlib.crc32(data) != entry.get("crc32"):
            raise DamagedError(f"{folder / name}: changed since it was written (CRC-32 differs from {entry.get('crc32')})")


def check_lengths(folder: Path) -> None:
    """The same by the lengths of the files alone, which reads none of them. Raises DamagedError."""
    for name, entry in listed(folder).items():
        try:
            found = (folder / name).stat().st_size
        except OSError as error:
            raise DamagedError(f"{folder / name}: unreadable ({error.strerror})") from error
        require_length(folder / name, found, entry)


def listed(folder: Path) -> Mapping[str, Mapping[str, object]]:
    """Return the entries of a folder's manifest by name of file. Raises DamagedError."""
    manifest = read_json(folder / MANIFEST)
    try:
        schema, entries = int(manifest["schema"]), {str(name): dict(entry) for name, entry in manifest["files"].items()}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise DamagedError(f"{folder / MANIFEST}: no list of files") from error
    if schema > SCHEMA:
        raise DamagedError(f"{folder}: format {schema}, written by a later version of Assay (this version reads up to {SCHEMA})")
    return entries


def require_length(path: Path, found: int, entry: Mapping[str, object]) -> None:
    """Raises DamagedError where a file is not as long as its manifest has it."""
    if found != entry.get("bytes"):
        raise DamagedError(f"{path}: {found} bytes instead of {entry.get('bytes')}, cut or changed")


def write_table(connection: duckdb.DuckDBPyConnection, records: Sequence[object], columns: Mapping[str, str], path: Path) -> None:
    """One Parquet file of records whose fields are the columns. Raises RefusedError."""
    import duckdb

    table = {name: column([getattr(record, name) for record in records], kind) for name, kind in columns.items()}
    casts = ", ".join(f'"{name}"::{kind} AS "{name}"' for name, kind in columns.items())
    target = str(path).replace("'", "''")
    connection.register("records", table)
    try:
        connection.execute(
            f"COPY (SELECT {casts} FROM records) TO '{target}' "  # noqa: S608 - names of our own columns, a quoted path
            f"(FORMAT parquet, COMPRESSION zstd, KV_METADATA {{assay_schema: '{SCHEMA}'}})"
        )
    except duckdb.Error as error:
        raise cannot_write(path, error) from error
    finally:
        connection.unregister("records")


def column(values: Sequence[Any], kind: str) -> Any:  # noqa: ANN401 - a numpy array, which is not imported for its type
    """Return the values as a numpy column of objects; arrays as views of their buffers."""
    import numpy as np

    cells = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        if kind.endswith("[]"):
            cells[row] = np.frombuffer(value, dtype=np.int64 if kind == "BIGINT[]" else np.float64)
        else:
            cells[row] = str(value) if kind == "VARCHAR" else value
    return cells


def read_readings(connection: duckdb.DuckDBPyConnection, path: Path) -> tuple[Reading, ...]:
    """Return the readings in a file. Raises DamagedError."""
    rows = fetch(connection, path, READING_COLUMNS, lambda result: result.fetchall())
    return tuple(
        Reading(
            **{
                **dict(zip(READING_COLUMNS, row, strict=True)),
                "rung": Rung(row[1]),
                "direction": Direction(row[5]),
                "span": Span(row[10]),
            }
        )
        for row in rows
    )


def read_series(connection: duckdb.DuckDBPyConnection, path: Path) -> tuple[Series, ...]:
    """Return the series in a file. Raises DamagedError."""
    return tuple(Series(**row) for row in list_rows(connection, path, SERIES_COLUMNS))


def read_histograms(connection: duckdb.DuckDBPyConnection, path: Path) -> tuple[Histogram, ...]:
    """Return the histograms in a file. Raises DamagedError."""
    return tuple(Histogram(**row) for row in list_rows(connection, path, HISTOGRAM_COLUMNS))


def list_rows(connection: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows as keyword arguments of a record, list columns as `array.array`."""
    found = fetch(connection, path, columns, lambda result: result.fetchnumpy())
    codes = {"BIGINT[]": "q", "DOUBLE[]": "d"}
    made = [
        [array(codes[kind], cell.tobytes()) for cell in found[name]] if kind in codes else [str(cell) for cell in found[name]]
        for name, kind in columns.items()
    ]
    return [dict(zip(columns, row, strict=True)) for row in zip(*made, strict=True)]


def fetch(connection: duckdb.DuckDBPyConnection, path: Path, columns: Mapping[str, str], take: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - rows or columns, as `take` wants them
    """Return the columns of a Parquet file. Raises DamagedError."""
    import duckdb

    names = ", ".join(map(stored.column, columns))
    try:
        return take(connection.execute(f"SELECT {names} FROM read_parquet(?)", [literal(path)]))  # noqa: S608 - our own names
    except duckdb.Error as error:
        first = str(error).splitlines()[0]
        raise DamagedError(f"{path}: no table with the columns {', '.join(columns)} ({first})") from error


def literal(path: Path) -> str:
    """Return a path that DuckDB does not take for a pattern of many."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def connect() -> duckdb.DuckDBPyConnection:
    """Return a database in memory on one thread: a notebook's files are small, and the machine may be measuring.

    It looks at all values before it takes a type for a column: by a sample of 1,000 a counter beyond 2^31 can come too late.
    """
    import duckdb

    return duckdb.connect(":memory:", config={"threads": 1, "pandas_analyze_sample": ALL_VALUES})
