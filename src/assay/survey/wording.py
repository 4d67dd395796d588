"""A survey in words: the answer as a sentence, the rows of its tables, and what must be known to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from assay.survey import bands, result
from assay.survey.filters import FileTime
from assay.survey.result import MOST_NAMED, FileSum, Survey
from assay.units import Unit, counted, human, percent

DONE: Mapping[FileTime, str] = {FileTime.MODIFIED: "modified", FileTime.ACCESSED: "accessed", FileTime.CHANGED: "changed"}
"""What a clock tells the time of."""
NOTABLE_NS = bands.AGES["year"]
"""The age that the answer is about where the filters ask for none."""


def answer(survey: Survey) -> str:
    """Return what a second tier would hold: what the filters keep, or without any what was left alone for a year or more."""
    tree = survey.distribution.tree
    if not tree.files:
        return f"No regular files below {', '.join(survey.directories)}."
    if survey.filters:
        what = f"files that match `{' '.join(survey.filters)}`"
        return _would_hold(what, survey.distribution.kept, tree)
    reached = _notable(survey)
    done = DONE[survey.clock]
    if reached is None:
        return f"A second tier would hold nothing: all {_bracketed(tree)} were {done} within the last day."
    age_ns, group = reached
    return _would_hold(f"files not {done} for {bands.age_text(age_ns)} or more", group, tree)


def _would_hold(what: str, group: FileSum, tree: FileSum) -> str:
    if not group.files:
        return f"A second tier for {what} would hold none of the {_bracketed(tree)}."
    files = f"{share(group.files, tree.files)} of all files"
    if tree.allocated_bytes < tree.bytes:  # holes cost nothing on any tier
        of = share(group.allocated_bytes, tree.allocated_bytes)
        return f"A second tier for {what} would hold {counted(group.files, 'file')}, {_allocated(group)} ({of} of all, {files})."
    return f"A second tier for {what} would hold {held(group)} ({share(group.bytes, tree.bytes)} of all bytes, {files})."


def _bracketed(group: FileSum) -> str:
    return f"{counted(group.files, 'file')} ({human(group.bytes, Unit.BYTES)})"


def held(group: FileSum) -> str:
    """`1,234 files, 5.60 GB`."""
    return f"{counted(group.files, 'file')}, {human(group.bytes, Unit.BYTES)}"


def _notable(survey: Survey) -> tuple[int, FileSum] | None:
    """Return a year, or the longest end of a band that a file has reached, with all files so old."""
    reached = zip(survey.age_bands, result.reaching(survey.distribution.ages), strict=True)
    fitting = [(band.least_ns, group) for band, group in reached if 0 < band.least_ns <= NOTABLE_NS and group.files]
    return fitting[-1] if fitting else None


AGE_HEAD = ("files", "of files", "bytes", "of bytes", "at least this old")


def age_head(survey: Survey) -> tuple[str, ...]:
    """Return the headings of `age_rows`."""
    return (f"not {DONE[survey.clock]} for", *AGE_HEAD)


def age_rows(survey: Survey) -> tuple[tuple[str, ...], ...]:
    """Return each age band: files and bytes with their shares, and the share of the bytes that is as old as this or older.

    Bands older than every file are left out.
    """
    kept = survey.distribution.kept
    reaching = result.reaching(survey.distribution.ages)
    return tuple(
        (*_row(band.label, group, kept), share(older.bytes, kept.bytes))
        for band, group, older in zip(survey.age_bands, survey.distribution.ages, reaching, strict=True)
        if older.files
    )


SIZE_HEAD = ("size", "files", "of files", "bytes", "of bytes", "allocated")


def size_rows(survey: Survey) -> tuple[tuple[str, ...], ...]:
    """Return each size band: files and bytes with their shares, and the bytes that are allocated to them.

    Bands larger than every file are left out.
    """
    kept = survey.distribution.kept
    reaching = result.reaching(survey.distribution.sizes)
    return tuple(
        (*_row(band.label, group, kept), human(group.allocated_bytes, Unit.BYTES))
        for band, group, larger in zip(survey.size_bands, survey.distribution.sizes, reaching, strict=True)
        if larger.files
    )


def _row(label: str, group: FileSum, whole: FileSum) -> tuple[str, ...]:
    return (
        label,
        f"{group.files:,}",
        share(group.files, whole.files),
        human(group.bytes, Unit.BYTES),
        share(group.bytes, whole.bytes),
    )


def share(part: int, whole: int) -> str:
    """Return a part in percent; a dash where there is no whole."""
    return percent(part / whole) if whole else "-"


def total(survey: Survey) -> str:
    """Return what there is in all, as it seems and as it is stored."""
    tree, walked = survey.distribution.tree, survey.walked
    kept = f", of which {held(survey.distribution.kept)} match" if survey.filters else ""
    others = f"; {walked.others:,} symbolic links, sockets and devices" if walked.others else ""
    return f"Total: {held(tree)} ({_allocated(tree)}){kept}, in {counted(walked.directories, 'directory')}{others}."


def _allocated(group: FileSum) -> str:
    return f"{human(group.allocated_bytes, Unit.BYTES)} allocated"


def remarks(survey: Survey) -> tuple[str, ...]:
    """Return what is missing from the figures, what could be wrong with them, and how they are counted; the gravest first."""
    return (*missing(survey), *_doubts(survey), *_manner(survey))


def missing(survey: Survey) -> Iterator[str]:
    """Yield what the figures lack."""
    walked = survey.walked
    if walked.unread:
        first = "; ".join(f"{one.path}: {one.reason}" for one in walked.first_unread)
        yield f"Unreadable: {counted(walked.unread, 'path')} ({first}{_more(walked.unread)}). The figures are too low."
    if walked.elsewhere:
        first = ", ".join(walked.first_elsewhere)
        how = "kernel file systems" if survey.crossed else "other file systems; use --cross to include them"
        yield f"Left out: {counted(walked.elsewhere, 'directory')} on {how} ({first}{_more(walked.elsewhere)})."
    if walked.vanished:
        yield f"{counted(walked.vanished, 'name')} vanished during the survey: the tree was in use."


def _more(number: int) -> str:
    return "; ..." if number > MOST_NAMED else ""


def _doubts(survey: Survey) -> Iterator[str]:
    found = survey.distribution
    for reason in survey.coarse:
        yield f"Ages are unreliable: {reason}."
    if found.later_files:
        yield f"{counted(found.later_files, 'file')} dated after the start of the survey: counted as new."
    if found.further_names:
        yield f"{counted(found.further_names, 'further name')} of hard-linked files: files and bytes count once."
    if found.sparse_files:
        sizes = f"{human(found.kept.bytes, Unit.BYTES)} by size, {_allocated(found.kept)}"
        yield (
            f"{counted(found.sparse_files, 'file')} with fewer bytes allocated than their size: sparse, compressed or stored "
            f"in the inode. Total: {sizes}."
        )
    if survey.walked.touched:
        yield f"Reading may have set the access times of {counted(survey.walked.touched, 'directory')} of other users."


def _manner(survey: Survey) -> Iterator[str]:
    whose = {
        FileTime.MODIFIED: "last modification",
        FileTime.ACCESSED: "last access",
        FileTime.CHANGED: "last change of data or inode",
    }
    yield (
        f"Ages count from the {whose[survey.clock]} ({survey.clock.value}) to {survey.started_utc} (month: 30 days, year: 365). "
        "Size bands are in KiB and MiB (powers of 1,024), sums in kB, MB, GB (powers of 1,000)."
    )
