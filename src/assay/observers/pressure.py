"""Measures pressure: time in which tasks stalled for CPU, I/O or memory.

Source: the totals of /proc/pressure/{cpu,io,memory} (pressure stall information, whole host). `some`: at least one task
stalled; `full`: all non-idle tasks stalled. Times are cumulative, in ns, and include other processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, counter, number, text_of, texts, why_not
from assay.records import ABSOLUTE, Series, Snapshot, Subject

RESOURCES = ("cpu", "io", "memory")
KINDS = ("some", "full")
DIRECTORY = "/proc/pressure"
NS_PER_US = 1000


def available(host: Host) -> str | None:
    """Return why pressure is invisible, with the remedy; None if it can be read."""
    if host.list(DIRECTORY):
        return None
    return "/proc/pressure does not exist. Use a kernel with CONFIG_PSI, booted with psi=1."


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the three texts."""
    return texts(host.read, (f"{DIRECTORY}/{resource}" for resource in RESOURCES))


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return stalled time in ns by resource and kind. Raises EvidenceError on an unknown format or a falling total."""
    origin = Origin(host=host_name, phase=phase, source=f"pressure:{DIRECTORY}", layer="pressure")
    series: list[Series] = []
    missing: dict[str, str] = {}
    for resource in RESOURCES:
        path = f"{DIRECTORY}/{resource}"
        reason = why_not(snapshots, path)
        if reason:
            missing |= {f"pressure.{resource}_{kind}_ns": reason for kind in KINDS}
        seen = [(snapshot.at_ns, totals(text, path)) for snapshot in snapshots if (text := text_of(snapshot, path))]
        for kind in KINDS:
            points = [(at, found[kind] * NS_PER_US) for at, found in seen if kind in found]
            if points:
                series.append(counter(origin, ABSOLUTE, f"{resource}_{kind}_ns", "ns", points))
    return Evidence(series=tuple(series), missing=missing)


def totals(text: str, path: str) -> dict[str, int]:
    """Parse the total of each kind in microseconds; older kernels have no `full` for cpu."""
    found: dict[str, int] = {}
    for line in text.splitlines():
        kind, *pairs = line.split()
        fields = dict(pair.partition("=")[::2] for pair in pairs)
        if kind not in KINDS or "total" not in fields:
            raise EvidenceError(f"found line {line[:60]!r} in {path}; expected `some` or `full` with a total")
        found[kind] = number(fields["total"], path)
    return found


OBSERVER = Observer(
    name="pressure",
    gives=tuple(f"pressure.{resource}_{kind}_ns" for resource in RESOURCES for kind in KINDS),
    sources=(Source(keys="pressure.*", words="pressure: stall time of tasks", way="/proc/pressure (observer pressure)"),),
    watch=Watch.ALWAYS,
    cost="12 µs CPU per look",
    available=available,
    read=read,
    parse=parse,
    every_s=1.0,
)
