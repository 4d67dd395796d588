"""The distribution by age and size of a tree, and what a second tier would hold: table, picture, profile or list of paths."""

from __future__ import annotations

import os
import pwd
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path

from assay.errors import RefusedError, UsageError
from assay.plain import to_plain
from assay.report import picture
from assay.report.charts.figure import Table
from assay.report.charts.matrix import Matrix, Share, drawn
from assay.survey import result, wording
from assay.survey.filters import FileTime, Filters, Words, keeper, printable, resolve
from assay.survey.result import Counting, FileSum, Survey, reaching
from assay.survey.walk import Inode, See, Walk, begin, coarse_access_times, mount_of, mount_table
from assay.terminal.output import STANDARD_OUTPUT, Row, deliver, table, write_bytes
from assay.terminal.progress import SECOND_NS, ProgressLine, ProgressMode


class Out(Enum):
    """What goes to standard output."""

    TABLE = "table"
    LINES = "lines"
    NUL = "nul"


LISTS = {Out.LINES: b"\n", Out.NUL: b"\0"}
"""What ends a path of a list."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for, as typed."""

    directories: tuple[str, ...]
    words: Words
    clock: FileTime
    cross: bool
    out: Out
    json_to: str | None = None
    picture: Path | None = None
    profile: Path | None = None
    progress: ProgressMode = ProgressMode.AUTO


def out_of(*, json_to: str | None, listing: bool, print0: bool) -> Out:
    """Return what goes to standard output. Raises UsageError where two options want it."""
    if json_to == STANDARD_OUTPUT and (listing or print0):
        raise UsageError("found --json with --list or --print0; expected one of them, or --json=FILE")
    return Out.NUL if print0 else Out.LINES if listing else Out.TABLE


def survey(request: Request, now_ns: int) -> int:
    """Walk the trees and show what is in them at `now_ns` (since 1970). Gives 0; what could not be read is reported.

    Raises UsageError with every mistake of the call, RefusedError where a file cannot be written.
    """
    filters, inodes = filters_of(request)
    progress = SurveyProgress(request)
    try:
        found = survey_of(request, filters, inodes, now_ns, progress)
        progress.close()
        show(request, found, [*_written(request, found)])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    finally:
        progress.close()
    return 0


def filters_of(request: Request) -> tuple[Filters, dict[str, Inode]]:
    """The filters, and the directories with their inodes. Raises UsageError with every mistake."""
    filters, mistakes = resolve(request.words, _uid_of)
    inodes, wrong = begin(request.directories)
    everything = [*wrong, *mistakes, *_unwritable(request)]
    if everything:
        raise UsageError("\n".join(everything))
    return filters, inodes


def _uid_of(name: str) -> int | None:
    try:
        return pwd.getpwnam(name).pw_uid
    except (KeyError, ValueError):
        return None


def _unwritable(request: Request) -> Iterator[str]:
    """What stands against the files that are to be written, known before a long walk."""
    for path in (request.picture, request.profile):
        if path is not None and not (path.parent.is_dir() and os.access(path.parent, os.W_OK) and not path.is_dir()):
            yield f"found {printable(str(path))}; expected a file in a writable directory"
    if request.picture is not None:
        try:
            picture.check(request.picture)
        except UsageError as error:
            yield str(error)


def survey_of(request: Request, filters: Filters, inodes: dict[str, Inode], now_ns: int, progress: SurveyProgress) -> Survey:
    """The walk itself; a list of paths is printed as they come."""
    counting = Counting(request.clock, now_ns, keeper(filters, request.clock, now_ns))
    table = mount_table()
    see = _listing(counting, LISTS[request.out]) if request.out in LISTS else _counting(counting)
    walk = Walk(inodes=inodes, mounts=table, cross=request.cross, see=see, tick=progress)
    walked = walk.all()
    held = [mount_of(os.path.realpath(path), table) for path in inodes]
    return Survey(
        directories=tuple(printable(path) for path in inodes),
        started_utc=datetime.fromtimestamp(now_ns / SECOND_NS, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        clock=request.clock,
        filters=filters.typed,
        crossed=request.cross,
        coarse=coarse_access_times(held) if request.clock is FileTime.ACCESSED else (),
        distribution=counting.distribution(),
        walked=walked,
    )


def _counting(counting: Counting) -> See:
    return lambda _, name, status: counting.see(name, status)


def _listing(counting: Counting, end: bytes) -> See:
    """Counts, and prints the path of what is kept, in the bytes that it is made of."""

    def see(directory: str, name: str, status: os.stat_result) -> None:
        if counting.see(name, status):
            write_bytes(os.fsencode(f"{directory}/{name}") + end)

    return see


def _written(request: Request, found: Survey) -> Iterator[Path]:
    """Write the files that were asked for; each path when it is there."""
    for path, write in ((request.picture, write_picture), (request.profile, write_profile)):
        if path is None:
            continue
        try:
            write(found, path)
        except OSError as error:
            raise RefusedError(f"{path}: not written ({error.strerror}). Check permissions and free space.") from error
        yield path


def write_profile(found: Survey, path: Path) -> None:
    """Write the TOML profile. Raises RefusedError, OSError."""
    path.write_text(result.toml_profile(found), encoding="utf-8")


def write_picture(found: Survey, path: Path) -> None:
    """Write the picture of ages against sizes. Raises OSError."""
    texts = (
        ("By age", wording.age_head(found), wording.age_rows(found)),
        ("By size", wording.SIZE_HEAD, wording.size_rows(found)),
    )
    numbers = tuple((heading, Table(head=head, rows=rows)) for heading, head, rows in texts)
    drawing, note = drawn(matrix(found)), wording.total(found)
    picture.write_sheet(picture.Sheet(drawn=drawing, note=note, tables=numbers, remarks=wording.remarks(found)), path)


def matrix(found: Survey) -> Matrix:
    """The shares that the picture shows, of what the filters keep."""
    counts, done = found.distribution, wording.DONE[found.clock]
    kept = f" (`{' '.join(found.filters)}`)" if found.filters else ""
    ages, sizes = ([band.label for band in bands] for bands in (found.age_bands, found.size_bands))

    def share(group: FileSum, *labels: str) -> Share:
        parts = (group.bytes / (counts.kept.bytes or 1), group.files / (counts.kept.files or 1))
        return Share(bytes=parts[0], files=parts[1], label=f"{', '.join(labels)}: {wording.held(group)}")

    return Matrix(
        title=f"Files of {', '.join(found.directories)}{kept} by age and size",
        sentence=wording.answer(found),
        row_title=f"not {done} for",
        column_title="size",
        rows=tuple(ages),
        columns=tuple(sizes),
        cells=tuple(
            tuple(share(group, age, size) for group, size in zip(row, sizes, strict=True))
            for row, age in zip(counts.cells, ages, strict=True)
        ),
        row_shares=tuple(share(group, age) for group, age in zip(counts.ages, ages, strict=True)),
        column_shares=tuple(share(group, size) for group, size in zip(counts.sizes, sizes, strict=True)),
        reaching_title="cumulative bytes",
        reaching=tuple(wording.share(group.bytes, counts.kept.bytes) for group in reaching(counts.ages)),
    )


def show(request: Request, found: Survey, written: list[Path]) -> None:
    """Print the result; beside a list of paths only what is missing from it, on standard error."""
    files = "".join(f"\n{printable(str(path))}" for path in written)
    words = (lambda: text(found) + ("\n" + files if files else "")) if request.out is Out.TABLE else None
    deliver(request.json_to, "survey", lambda: {"answer": wording.answer(found), **to_plain(found)}, words)
    if request.out in LISTS:
        for one in wording.missing(found):
            print(f"assay: {one}", file=sys.stderr)


def text(found: Survey) -> str:
    """For people: the answer, the distribution by age and by size, and what to know about it."""
    parts = [wording.answer(found), wording.total(found)]
    if found.distribution.kept.files:
        parts += [_table(wording.age_head(found), wording.age_rows(found)), _table(wording.SIZE_HEAD, wording.size_rows(found))]
    return "\n\n".join([*parts, "\n".join(wording.remarks(found))])


def _table(head: tuple[str, ...], rows: tuple[tuple[str, ...], ...]) -> str:
    return table(head, [Row(cells=row) for row in rows], range(1, len(head)))


class SurveyProgress:
    """The number of files and their rate; silent where a list of paths scrolls by on the same terminal."""

    def __init__(self, request: Request) -> None:
        listed = request.out in LISTS and sys.stdout.isatty() and request.progress is ProgressMode.AUTO
        self._line = ProgressLine(ProgressMode.NONE if listed else request.progress)

    def __call__(self, files: int) -> None:
        """Take the number of files so far."""
        if self._line.is_due():
            rate = files * SECOND_NS / (time.monotonic_ns() - self._line.started_ns)
            self._line.write(f"{files:,} files, {rate:,.0f}/s", {"files": files, "files_per_s": round(rate)})

    def close(self) -> None:
        """Erase the line on a terminal."""
        self._line.close()
