"""Detects steps of the wall clock, and sleep of the host: the boot time changes only when the clock is set.

Sources: CLOCK_REALTIME minus CLOCK_BOOTTIME, to the microsecond; on hosts without Assay `btime` of /proc/stat, in whole seconds.
NTP slewing moves both clocks alike and is invisible; a step is visible.
A host that sleeps (suspend) stops CLOCK_MONOTONIC, which times the looks, and no other clock: the time since booting in
/proc/uptime, to a hundredth of a second, runs ahead of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.catalogue import Evidence, Host, Observer, Source
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge, number, text_of, texts, why_not
from assay.records import ABSOLUTE, Snapshot, Subject

STAT = "/proc/stat"
CLOCKS = "clock_gettime"
METRIC = "boot_time_s"
UPTIME = "/proc/uptime"
SLEPT = "asleep_s"


def available(host: Host) -> str | None:
    """Return why the boot time is unknown; None if it can be read."""
    there = host.syscalls is not None or host.exists(STAT)
    return None if there else f"{STAT} does not exist: steps of the wall clock are invisible"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the boot time in ns by the clocks, else the text of /proc/stat; and the uptime."""
    booted = texts(host.read, (STAT,)) if host.syscalls is None else {CLOCKS: host.syscalls.booted_ns()}
    return {**booted, **texts(host.read, (UPTIME,))}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return the boot time at each look in s since 1970. Raises EvidenceError on an unknown format."""
    exact = [
        (snapshot.at_ns, booted_ns / 1e9) for snapshot in snapshots if isinstance(booted_ns := snapshot.raw.get(CLOCKS), int)
    ]
    reason = None if exact else why_not(snapshots, STAT)
    seen = exact or [(snapshot.at_ns, boot_time(text)) for snapshot in snapshots if (text := text_of(snapshot, STAT))]
    origin = Origin(host=host_name, phase=phase, source=f"clock:{CLOCKS if exact else STAT}", layer="clock")
    slept = [(one.at_ns, ahead_s(text, one.at_ns)) for one in snapshots if (text := text_of(one, UPTIME))]
    of_sleep = replace(origin, source=f"clock:{UPTIME}")
    series = ((origin, METRIC, seen), (of_sleep, SLEPT, slept))
    return Evidence(
        series=tuple(gauge(where, ABSOLUTE, metric, "s", points) for where, metric, points in series if points),
        missing={f"clock.{METRIC}": reason} if reason else {},
    )


def ahead_s(text: str, at_ns: int) -> float:
    """Return by how much the time since booting is ahead of the time of the look. Raises EvidenceError."""
    word = text.partition(" ")[0]
    try:
        return float(word) - at_ns / 1e9
    except ValueError:
        raise EvidenceError(f"found {text[:40]!r} in {UPTIME}; expected seconds") from None


def boot_time(text: str) -> int:
    """Return the number in the line `btime`."""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "btime":
            return number(rest, STAT)
    raise EvidenceError(f"found no line btime in {STAT}; expected one with the boot time")


OBSERVER = Observer(
    name="clock",
    gives=(f"clock.{METRIC}", f"clock.{SLEPT}"),
    sources=(Source(keys="clock.*", words="wall clock of the host against its boot time", way="/proc/stat (observer clock)"),),
    cost="2.8 µs CPU per look",
    available=available,
    read=read,
    parse=parse,
)
