"""What the files that an external command turned out to have read are made of: data, holes, space that was never written.

The observer of pages looks at files that are known beforehand. Reading does not change extents, so later is not too late.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from assay.catalogue import Host
from assay.records import Series, Touched, Watched

LAYER = "extents"
METRICS = ("hole_bytes", "unwritten_bytes", "file_bytes", "encoded_bytes")
MOST_FILES = 256
LEAST_BYTES = 1 << 20
"""Smaller files are libraries and settings."""


def late(host: Host, watched: Watched) -> tuple[Series, ...]:
    """The extents of files that were read and that no observer looked at, the largest first."""
    known = {one.subject for one in watched.observations.series if one.layer == LAYER}
    wanted = [one for one in watched.files if not one.written and f"path:{one.path}" not in known]
    wanted = [one for one in sorted(wanted, key=lambda one: -one.size_bytes) if one.size_bytes >= LEAST_BYTES]
    return tuple(series for one in wanted[:MOST_FILES] for series in looked(host, watched, one))


def looked(host: Host, watched: Watched, file: Touched) -> Iterator[Series]:
    """One file; nothing where the file system does not tell."""
    if host.syscalls is None:
        return
    try:
        found = host.syscalls.fiemap(file.path)
    except OSError:
        return
    for metric in METRICS:
        yield Series(
            phase="stat.command",
            source="page_cache:FIEMAP",
            layer=LAYER,
            host=host.name,
            subject=f"path:{file.path}",
            metric=metric,
            unit="bytes",
            at_ns=array("q", [watched.elapsed_ns]),
            value=array("d", [float(getattr(found, metric))]),
        )
