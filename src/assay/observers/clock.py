"""Looks whether somebody set the wall clock: the time of booting, which the kernel moves only when the clock is set.

Sources: CLOCK_REALTIME less CLOCK_BOOTTIME, to the microsecond; of hosts without Assay `btime` of /proc/stat, the same in whole
seconds. NTP's slewing moves both clocks together and does not show; a step does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge, number, text_of, texts, why_not
from assay.records import ABSOLUTE, Snapshot, Subject

STAT = "/proc/stat"
CLOCKS = "clock_gettime"
METRIC = "boot_time_s"


def available(host: Host) -> str | None:
    """None where the clocks can be read together, or the kernel says when it was booted."""
    there = host.syscalls is not None or host.exists(STAT)
    return None if there else f"no {STAT}: whether the wall clock was set is not visible"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """The time of booting by the clocks, in ns; else the text of /proc/stat."""
    return texts(host.read, (STAT,)) if host.syscalls is None else {CLOCKS: host.syscalls.booted_ns()}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """The time of booting at each look, in s since 1970. Raises EvidenceError on text of another form."""
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
    """The number in the line `btime`."""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "btime":
            return number(rest, STAT)
    raise EvidenceError(f"found no line btime in {STAT}; expected one with the time of booting")


OBSERVER = Observer(
    name="clock",
    gives=(f"clock.{METRIC}",),
    cost="3 µs of CPU a look",
    available=available,
    read=read,
    parse=parse,
)
