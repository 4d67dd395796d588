"""Detects steps of the wall clock: the boot time changes only when the clock is set.

Sources: CLOCK_REALTIME minus CLOCK_BOOTTIME, to the microsecond; on hosts without Assay `btime` of /proc/stat, in whole seconds.
NTP slewing moves both clocks alike and is invisible; a step is visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge, number, text_of, texts, why_not
from assay.records import ABSOLUTE, Snapshot, Subject

STAT = "/proc/stat"
CLOCKS = "clock_gettime"
METRIC = "boot_time_s"


def available(host: Host) -> str | None:
    """Return why the boot time is unknown; None if it can be read."""
    there = host.syscalls is not None or host.exists(STAT)
    return None if there else f"{STAT} does not exist: steps of the wall clock are invisible"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the boot time in ns by the clocks; else the text of /proc/stat."""
    return texts(host.read, (STAT,)) if host.syscalls is None else {CLOCKS: host.syscalls.booted_ns()}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the boot time at each look in s since 1970. Raises EvidenceError on an unknown format."""
    exact = [
        (snapshot.at_ns, booted_ns / 1e9) for snapshot in snapshots if isinstance(booted_ns := snapshot.raw.get(CLOCKS), int)
    ]
    reason = None if exact else why_not(snapshots, STAT)
    seen = exact or [(snapshot.at_ns, boot_time(text)) for snapshot in snapshots if (text := text_of(snapshot, STAT))]
    origin = Origin(host=host_name, phase=phase, source=f"clock:{CLOCKS if exact else STAT}", layer="clock")
    return Evidence(
        series=(gauge(origin, ABSOLUTE, METRIC, "s", seen),) if seen else (),
        missing={f"clock.{METRIC}": reason} if reason else {},
    )


def boot_time(text: str) -> int:
    """Return the number in the line `btime`."""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "btime":
            return number(rest, STAT)
    raise EvidenceError(f"found no line btime in {STAT}; expected one with the boot time")


OBSERVER = Observer(
    name="clock",
    gives=(f"clock.{METRIC}",),
    sources=(Source(keys="clock.*", words="wall clock of the host against its boot time", way="/proc/stat (observer clock)"),),
    cost="2.8 µs CPU per look",
    available=available,
    read=read,
    parse=parse,
)
