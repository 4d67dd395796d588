"""The index of a notebook: which runs there are, their verdicts, live rows; a cache that is made anew from the files."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from assay.errors import EvidenceError
from assay.machine.stack import parse_mounts
from assay.notebook.files import cannot_write
from assay.notebook.layout import INDEX, run_id
from assay.records import Run, Verdict

NETWORK_FILESYSTEMS = frozenset(
    (
        *("9p", "afs", "beegfs", "ceph", "cifs", "coda", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs"),
        *("smb3", "smbfs", "vboxsf", "fuse.ceph", "fuse.glusterfs", "fuse.sshfs"),
    )
)
"""A write-ahead log needs memory that all its users share, and no network file system gives that
(https://www.sqlite.org/wal.html, "WAL does not work over a network filesystem")."""


def is_network(folder: Path, mountinfo: str | None = None) -> bool:
    """Return whether the innermost mount that holds the folder is of a network file system; False where that cannot be read."""
    try:
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8") if mountinfo is None else mountinfo
        return kind_of(folder.resolve(), text) in NETWORK_FILESYSTEMS
    except (OSError, EvidenceError):
        return False


def kind_of(folder: Path, mountinfo: str) -> str | None:
    """Return the file system of the innermost, last mounted mount point above a folder. Raises EvidenceError."""
    lines = (line for line in mountinfo.splitlines() if " - " in line)
    above = [mount for mount in parse_mounts("\n".join(lines)) if folder.is_relative_to(mount.point)]
    return max(reversed(above), key=lambda mount: len(Path(mount.point).parts)).filesystem if above else None


TABLES = """
CREATE TABLE IF NOT EXISTS runs (run TEXT PRIMARY KEY, outcome TEXT, started_utc TEXT, ended_utc TEXT);
CREATE TABLE IF NOT EXISTS verdicts (ruleset TEXT, run TEXT, measure TEXT, state TEXT, value REAL, unit TEXT,
                                     PRIMARY KEY (ruleset, run, measure));
CREATE TABLE IF NOT EXISTS live (id INTEGER PRIMARY KEY, at_utc TEXT, row TEXT);
"""
LIVE_ROWS = 10_000
"""So many of the newest live rows are kept."""


@dataclass(frozen=True, kw_only=True)
class Overview:
    """What the index knows of one experiment without opening its runs."""

    outcomes: Mapping[str, int]
    verdicts: Mapping[str, int]
    """State -> number of measures of runs, by the ruleset asked for."""
    ended_utc: str | None


def connect(folder: Path) -> sqlite3.Connection:
    """Return the index for its one writer, made anew where it cannot be used; never flushed, for it can be rebuilt.

    Raises RefusedError where it cannot be made: then there is no room for a run either.
    """
    path = folder / INDEX
    with suppress(sqlite3.DatabaseError):
        return prepare(path, network=is_network(folder))
    try:
        for suffix in ("", "-wal", "-shm", "-journal"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        return prepare(path, network=is_network(folder))
    except (OSError, sqlite3.DatabaseError) as error:
        raise cannot_write(path, error) from error


def prepare(path: Path, *, network: bool) -> sqlite3.Connection:
    """Open the file with the journal that its file system can bear, and see that it is whole."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=5)
    try:
        connection.execute(f"PRAGMA journal_mode={'DELETE' if network else 'WAL'}")
        connection.execute("PRAGMA synchronous=OFF")
        if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("the index is damaged")
        connection.executescript(TABLES)
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection


def known(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the runs that the index lists."""
    return frozenset(row[0] for row in connection.execute("SELECT run FROM runs"))


def put_run(connection: sqlite3.Connection, run: Run) -> None:
    """List a run."""
    row = (run_id(run.trial.id, run.attempt), run.outcome.value, run.started_utc, run.ended_utc)
    connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?)", row)


def forget(connection: sqlite3.Connection, run: str) -> None:
    """Strike a run out, with its verdicts."""
    connection.execute("DELETE FROM runs WHERE run = ?", (run,))
    connection.execute("DELETE FROM verdicts WHERE run = ?", (run,))


def put_verdicts(connection: sqlite3.Connection, ruleset: str, verdicts: Iterable[tuple[str, str, Verdict]]) -> None:
    """List verdicts, each with its run and measure."""
    rows = [(ruleset, run, measure, verdict.state.value, verdict.value, verdict.unit) for run, measure, verdict in verdicts]
    connection.executemany("INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?)", rows)


def put_live(connection: sqlite3.Connection, row: Mapping[str, object]) -> None:
    """Add a live row, and let the oldest go."""
    at_utc = datetime.now(UTC).isoformat(timespec="milliseconds")
    cursor = connection.execute("INSERT INTO live (at_utc, row) VALUES (?, ?)", (at_utc, json.dumps(row)))
    connection.execute("DELETE FROM live WHERE id <= ?", ((cursor.lastrowid or 0) - LIVE_ROWS,))


def read_only(folder: Path) -> closing[sqlite3.Connection]:
    """Return the index for a reader, who hardly waits for the writer. Raises sqlite3.Error, also where there is no index."""
    path = (folder / INDEX).resolve()
    how = "mode=ro&immutable=1" if is_at_rest(path) else "mode=ro"
    return closing(sqlite3.connect(f"{path.as_uri()}?{how}", uri=True, timeout=1))


def is_at_rest(path: Path) -> bool:
    """Return whether nobody has a database with a write-ahead log open: then a reader makes no files beside it.

    Bytes 18 and 19 are 2 where its writers use such a log.
    Source: https://www.sqlite.org/fileformat2.html, "File format version numbers".
    """
    if path.with_name(f"{path.name}-wal").exists():
        return False
    with suppress(OSError), path.open("rb") as file:
        return file.read(20)[18:] == b"\x02\x02"
    return False


def overview(folder: Path, ruleset: str) -> Overview | None:
    """Return what the index says of runs, and of verdicts by a ruleset (its folder name); None where it cannot be read."""
    with suppress(sqlite3.Error), read_only(folder) as connection:
        outcomes = dict(connection.execute("SELECT outcome, count(*) FROM runs GROUP BY outcome").fetchall())
        verdicts = connection.execute(
            "SELECT state, count(*) FROM verdicts WHERE ruleset = ? GROUP BY state", (ruleset,)
        ).fetchall()
        (ended,) = connection.execute("SELECT max(ended_utc) FROM runs").fetchone()
        return Overview(outcomes=outcomes, verdicts=dict(verdicts), ended_utc=ended)
    return None


@dataclass(frozen=True, kw_only=True)
class IndexedRun:
    """A run as the index lists it."""

    run: str
    outcome: str
    started_utc: str
    ended_utc: str
    verdicts: tuple[tuple[str, str, float | None, str], ...]
    """Measure, state, figure and unit, by the ruleset asked for."""


def indexed(folder: Path, ruleset: str) -> tuple[IndexedRun, ...] | None:
    """Return all runs with their verdicts by a ruleset (its folder name); None where the index cannot be read."""
    with suppress(sqlite3.Error), read_only(folder) as connection:
        found: dict[str, list[tuple[str, str, float | None, str]]] = {}
        for run, *verdict in connection.execute(
            "SELECT run, measure, state, value, unit FROM verdicts WHERE ruleset = ? ORDER BY run, measure", (ruleset,)
        ):
            found.setdefault(run, []).append(tuple(verdict))
        return tuple(
            IndexedRun(run=run, outcome=outcome, started_utc=began, ended_utc=ended, verdicts=tuple(found.get(run, ())))
            for run, outcome, began, ended in connection.execute("SELECT * FROM runs ORDER BY length(run), run")
        )
    return None


def live(folder: Path, after: int = 0) -> tuple[tuple[int, str, object], ...]:
    """Live rows after a number: (number, time, row); empty where there are none or the index cannot be read."""
    with suppress(sqlite3.Error), read_only(folder) as connection:
        rows = connection.execute("SELECT id, at_utc, row FROM live WHERE id > ? ORDER BY id", (after,)).fetchall()
        return tuple((number, at_utc, json.loads(row)) for number, at_utc, row in rows)
    return ()
