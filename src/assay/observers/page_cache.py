"""Reads cached, dirty and writeback pages of the data files, and their holes and unwritten extents.

cachestat(2) gives the resident, dirty, writeback and evicted pages of each data file and of each image file below; FIEMAP gives
the extents. FIEMAP is called without FIEMAP_FLAG_SYNC: it flushes nothing, so space with delayed allocation counts as mapped. It
may read the file's extent tree from the device (4 KiB for some 340 extents on ext4), which warms that metadata before the clock
starts. With more than 256 files, an evenly spaced sample is read.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch, needs_assay
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge
from assay.records import Fact, FactClass, Series, Snapshot, Subject, When

MOST_FILES = 256
"""Limit of the time at each edge: see the measured cost."""
CACHE_PAGES = ("cached", "dirty", "writeback", "evicted")
CACHE_METRICS = ("cached_bytes", "dirty_bytes", "writeback_bytes", "evicted_bytes", "file_bytes")
EXTENT_METRICS = ("hole_bytes", "unwritten_bytes", "allocated_bytes", "mapped_bytes", "encoded_bytes", "file_bytes")
SOURCES = {"page_cache": "page_cache:cachestat(2)", "extents": "page_cache:FIEMAP"}
METRICS = {"page_cache": CACHE_METRICS, "extents": EXTENT_METRICS}


def read(host: Host, subject: Subject) -> Mapping[str, object]:
    """Return the kernel's counts of pages and extents of each file, by subject (`path:/x`, `backing:/x`)."""
    if host.syscalls is None:
        return {}
    calls = host.syscalls
    return {
        f"{kind}:{path}": {"page_cache": call_result(calls.cachestat, path), "extents": call_result(calls.fiemap, path)}
        for kind, path in sampled_files(subject)
    }


def sampled_files(subject: Subject) -> tuple[tuple[str, str], ...]:
    """Return (kind, path) of every image file, and of the data files or an evenly spaced sample of them."""
    paths = sorted(set(subject.paths))
    if len(paths) > MOST_FILES:
        paths = [paths[index * len(paths) // MOST_FILES] for index in range(MOST_FILES)]
    return (*(("path", path) for path in paths), *(("backing", path) for path in subject.backing_files))


def call_result(call: Callable[[str], object], path: str) -> dict[str, object]:
    """Return a system call's result for a file as plain numbers; `{"error": reason}` if it fails."""
    try:
        answer = call(path)
    except OSError as error:
        return {"error": error.strerror or str(error)}
    assert dataclasses.is_dataclass(answer)
    assert not isinstance(answer, type)
    return dataclasses.asdict(answer)


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], subject: Subject) -> Evidence:
    """Return gauges in bytes for each file and edge. Raises EvidenceError if a result lacks a number."""
    files = [f"{kind}:{path}" for kind, path in sampled_files(subject)]
    if not files:
        reason = "the phase has no data files"
        return Evidence(missing={f"{layer}.{metric}": reason for layer in METRICS for metric in METRICS[layer]})
    refused = {layer: [*refusals(layer, files, snapshots)] for layer in METRICS}
    return Evidence(
        series=tuple(
            item
            for layer in METRICS
            for file in files
            for item in series_of(Origin(host=host_name, phase=phase, source=SOURCES[layer], layer=layer), file, snapshots)
        ),
        facts=sample_facts(host_name, phase, subject),
        missing={
            f"{layer}.{name}": reason_text(refused[layer]) for layer in METRICS for name in METRICS[layer] if refused[layer]
        },
    )


def series_of(origin: Origin, file: str, snapshots: Sequence[Snapshot]) -> Iterator[Series]:
    """Yield one series for each metric of one file, from the successful system calls."""
    seen = [
        (snapshot.at_ns, figures(origin.layer, found))
        for snapshot in snapshots
        if (found := answer_of(snapshot, file, origin.layer))
    ]
    for metric in METRICS[origin.layer]:
        points = [(at, found[metric]) for at, found in seen if metric in found]
        if points:
            yield gauge(origin, file, metric, "bytes", points)


def answer_of(snapshot: Snapshot, file: str, layer: str) -> Mapping[str, object] | None:
    """Return the result for a file; None if the system call failed."""
    answers = snapshot.raw.get(file)
    found = answers.get(layer) if isinstance(answers, Mapping) else None
    return found if isinstance(found, Mapping) and "error" not in found else None


def figures(layer: str, answer: Mapping[str, object]) -> dict[str, int]:
    """Convert a result to bytes by metric; cachestat counts in pages, and some hosts do not tell all kinds."""
    if layer == "extents":
        return {metric: whole(answer, metric) for metric in EXTENT_METRICS}
    page = whole(answer, "page_bytes")
    told = (kind for kind in CACHE_PAGES if answer.get(kind, "absent") is not None)
    return {f"{kind}_bytes": whole(answer, kind) * page for kind in told} | {"file_bytes": whole(answer, "file_bytes")}


def whole(answer: Mapping[str, object], name: str) -> int:
    """Return one number of a result. Raises EvidenceError if it is missing."""
    found = answer.get(name)
    if not isinstance(found, int):
        raise EvidenceError(f"found {found!r} for {name}; expected a whole number from the kernel")
    return found


def refusals(layer: str, files: Sequence[str], snapshots: Sequence[Snapshot]) -> Iterator[str]:
    """Yield the first failure of each file."""
    for file in files:
        for snapshot in snapshots:
            answers = snapshot.raw.get(file)
            found = answers.get(layer) if isinstance(answers, Mapping) else None
            if not isinstance(found, Mapping) or "error" in found:
                yield f"{file}: {found.get('error') if isinstance(found, Mapping) else 'not read'}"
                break


def reason_text(reasons: Sequence[str]) -> str:
    """Join the first three reasons and the number of further ones."""
    more = len(reasons) - 3
    return "; ".join(reasons[:3]) + (f"; and {more} more files" if more > 0 else "")


def sample_facts(host_name: str, phase: str, subject: Subject) -> tuple[Fact, ...]:
    """Return the size of the sample as a fact, if not all data files are read."""
    total = len(set(subject.paths))
    if total <= MOST_FILES:
        return ()
    value = f"{MOST_FILES} of {total}, evenly spaced by name"
    key = f"page_cache.sample.{phase}"
    return (Fact(host=host_name, when=When.BEFORE, key=key, value=value, fact_class=FactClass.NOISE),)


OBSERVER = Observer(
    name="page_cache",
    gives=tuple(f"{layer}.{metric}" for layer in METRICS for metric in METRICS[layer]),
    sources=(
        Source(
            keys="page_cache.*",
            words="cachestat: pages of the data files in memory, dirty or in write-back",
            way="Linux 6.5, Assay itself on that host, and files of our own or with write permission (else root)",
        ),
        Source(
            keys="extents.*",
            words="FIEMAP: holes, unwritten and encoded extents of the data files",
            way="a file system with FIEMAP (ext4, xfs, btrfs; not tmpfs), and Assay itself on that host",
        ),
    ),
    watch=Watch.ALWAYS,
    cost="23 µs CPU per look (one file)",
    available=needs_assay("cachestat(2) and FIEMAP need Assay"),
    read=read,
    parse=parse,
)
