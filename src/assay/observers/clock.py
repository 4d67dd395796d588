"""Looks whether somebody set the wall clock: the time of booting, which the kernel moves only when the clock is set.

Source: `btime` of /proc/stat, wall clock less time since boot, in whole seconds. NTP's slewing moves both clocks together and
does not show; a step of a second or more does, a smaller one perhaps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer
from assay.errors import EvidenceError
from assay.records import ABSOLUTE, Snapshot, Subject
from assay.snapshots import Origin, gauge, number, text_of, texts, why_not

STAT = "/proc/stat"
METRIC = "boot_time_s"


def available(host: Host) -> str | None:
    """None where the kernel says when it was booted."""
    return None if host.exists(STAT) else f"no {STAT}: whether the wall clock was set is not visible"


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """The text of /proc/stat."""
    return texts(host.read, (STAT,))


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """The time of booting at each look, in s since 1970. Raises EvidenceError on text of another form."""
    reason = why_not(snapshots, STAT)
    seen = [(snapshot.at_ns, booted(text)) for snapshot in snapshots if (text := text_of(snapshot, STAT))]
    origin = Origin(host=host_name, phase=phase, source=f"clock:{STAT}", layer="clock")
    return Evidence(
        series=(gauge(origin, ABSOLUTE, METRIC, "s", seen),) if seen else (),
        missing={f"clock.{METRIC}": reason} if reason else {},
    )


def booted(text: str) -> int:
    """The number in the line `btime`."""
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name == "btime":
            return number(rest, STAT)
    raise EvidenceError(f"found no line btime in {STAT}; expected one with the time of booting")


OBSERVER = Observer(
    name="clock",
    gives=(f"clock.{METRIC}",),
    cost="14 µs of CPU a look",
    available=available,
    read=read,
    parse=parse,
)
