"""Directory operations by kind: their rates from the chain's file, and what each needs of storage from a file of `assay dsio`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath

from assay.sizing.chain import ChainLoad, CommitLimit
from assay.units import Refusal

SCHEMA = "assay.dsio/1"
KINDS = ("search", "compare", "bind", "modify", "add", "delete", "modrdn", "extended", "unbind", "abandon")
WRITERS = ("modify", "add", "delete", "modrdn")
"""The kinds that commit: one after the other, where the database has a single writer."""
FIGURES = ("count", "device_reads", "device_read_bytes", "device_writes", "device_write_bytes", "flushes", "flush_ns")
LEAST = 30
"""Below so many operations a mean is none."""
NS_PER_S = 1e9


@dataclass(frozen=True, kw_only=True)
class OperationNeed:
    """What one operation of a kind needs of storage, in the mean."""

    count: int
    reads: float
    read_bytes: float
    writes: float
    write_bytes: float
    flushes: float
    flush_ns: float
    """All flushes of one operation."""


@dataclass(frozen=True, kw_only=True)
class DirectoryNeeds:
    """What a file of `assay dsio` says."""

    file: str
    kinds: Mapping[str, OperationNeed]
    apart_reads_per_s: float
    """Requests to the devices that belong to no operation."""
    apart_writes_per_s: float


def beside(file: FilePath, named: str) -> FilePath:
    """Return where a relative path of a file lies: beside the file, else in the current directory, if only there."""
    there, here = file.parent / named, FilePath(named)
    return here if here.exists() and not there.exists() else there


def needs(path: FilePath) -> DirectoryNeeds | Refusal:
    """Return what a file says, or why it says nothing."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        return Refusal(found=f"{path} ({error.strerror})", expected=EXPECTED)
    except ValueError:
        return Refusal(found=f"{path} (no JSON)", expected=EXPECTED)
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        schema = found.get("schema") if isinstance(found, dict) else None
        return Refusal(found=f"{path} ({f'schema {schema}' if schema else 'no schema'})", expected=EXPECTED)
    try:
        return needs_of(str(path), found)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return Refusal(found=f"{path} (damaged: {error})", expected=EXPECTED)


EXPECTED = "a file written by assay dsio --json=FILE"


def needs_of(file: str, found: Mapping[str, object]) -> DirectoryNeeds:
    """Return the needs of the values of a file. Raises KeyError, TypeError, AttributeError or ValueError for others."""
    operations, others = found["operations"], found["others"]
    assert isinstance(operations, dict)
    assert isinstance(others, dict)
    apart = [found["outside"], *others.values()]
    seconds = float(str(found["elapsed_ns"])) / NS_PER_S
    reads, writes = (sum(number(one, name) for one in apart) / seconds for name in ("device_reads", "device_writes"))
    kinds = {str(kind): need(one) for kind, one in operations.items() if number(one, "count")}
    return DirectoryNeeds(file=file, kinds=kinds, apart_reads_per_s=reads, apart_writes_per_s=writes)


def number(values: object, name: str) -> float:
    """Return a count. Raises KeyError, TypeError or ValueError where there is none."""
    if not isinstance(values, Mapping) or isinstance(values[name], bool) or not isinstance(values[name], int | float):
        raise TypeError(f"no number {name}")
    if not 0 <= values[name] < float("inf"):
        raise ValueError(f"{name} is {values[name]}")
    return float(values[name])


def need(values: object) -> OperationNeed:
    """Return the mean of one operation."""
    count, *sums = (number(values, name) for name in FIGURES)
    reads, read_bytes, writes, write_bytes, flushes, flush_ns = (one / count for one in sums)
    return OperationNeed(
        count=int(count),
        reads=reads,
        read_bytes=read_bytes,
        writes=writes,
        write_bytes=write_bytes,
        flushes=flushes,
        flush_ns=flush_ns,
    )


def load(rates: Mapping[str, float], found: DirectoryNeeds, flush_ns: float | None) -> ChainLoad:
    """Return the load of so many operations a second of each kind; `flush_ns` replaces the measured time of a flush."""
    each = {kind: (rate, found.kinds[kind]) for kind, rate in rates.items() if kind in found.kinds}
    return ChainLoad(
        ldap_ops_per_s=sum(rates.values()),
        read_ops_per_s=sum(rate * one.reads for rate, one in each.values()),
        write_ops_per_s=sum(rate * one.writes for rate, one in each.values()),
        random_read_bytes_per_s=sum(rate * one.read_bytes for rate, one in each.values()),
        random_write_bytes_per_s=sum(rate * one.write_bytes for rate, one in each.values()),
        commits=commits({kind: one for kind, one in each.items() if kind in WRITERS}, flush_ns),
        notes=tuple(notes(rates, found)),
    )


def commits(each: Mapping[str, tuple[float, OperationNeed]], flush_ns: float | None) -> CommitLimit | None:
    """Return what flushing leaves to a single writer; None where nothing is flushed."""
    rate = sum(one for one, _ in each.values())
    flushes = sum(one * need.flushes for one, need in each.values())
    if not rate or not flushes:
        return None
    spent_ns = sum(one * need.flush_ns for one, need in each.values()) if flush_ns is None else flushes * flush_ns
    return CommitLimit(commits_per_s=rate, flushes_each=flushes / rate, flush_ns=spent_ns / flushes, is_measured=flush_ns is None)


def notes(rates: Mapping[str, float], found: DirectoryNeeds) -> Iterator[str]:
    """Yield what a reader must know of the file."""
    few = [f"{kind} ({found.kinds[kind].count})" for kind in rates if kind in found.kinds and found.kinds[kind].count < LEAST]
    if few:
        yield f"{found.file} has few operations of {', '.join(few)}: their means are rough."
    apart = [
        f"{value:,.3g} {what}/s"
        for value, what in ((found.apart_reads_per_s, "reads"), (found.apart_writes_per_s, "writes"))
        if value
    ]
    if apart:
        yield (
            f"{' and '.join(apart)} in {found.file} belong to no operation (journal, write-back, other processes) "
            "and are not in the load. Add yours as random_reads and random_writes."
        )
