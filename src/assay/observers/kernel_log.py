"""Records the kernel's own log messages of each phase, from arming to the end of the drain.

Source: /dev/kmsg, read on from the previous look, so that no message is missed and none is older. Messages that programs wrote
into the log are only counted. The log covers the whole machine, with all its containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.catalogue import Evidence, Host, Observer, Source, Watch
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge
from assay.frozen import dataclass
from assay.records import ABSOLUTE, Edge, Fact, FactClass, Snapshot, Subject, When

LOG = "/dev/kmsg"
LOST = "lost"
"""A line that stands for records overwritten before they were read."""
BEFORE = (Edge.TRIAL_START, Edge.QUIET)
"""Messages read at these edges are older than the phase."""
LEVELS = 8
"""A record's number is facility * 8 + level; the kernel's own facility is 0 (syslog(3))."""
MOST_KEPT = 64
"""Most messages kept of one phase; the most severe ones."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message: its level from 0 (emergency) to 7 (debug), its author (kernel or a program), its text."""

    level: int
    of_kernel: bool
    text: str


def available(host: Host) -> str | None:
    """Return why the log cannot be read, with the remedy; None if it can."""
    if host.syscalls is None:
        return "reading the kernel log needs Assay on that host. Install Assay there."
    try:
        host.syscalls.kernel_log()
    except OSError as error:
        remedy = (
            "Run as root, or set kernel.dmesg_restrict = 0."
            if isinstance(error, PermissionError)
            else "Pass it to this container."
        )
        return f"{LOG}: {error.strerror or error}. {remedy}"
    return None


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """Return the messages since the previous look. Raises OSError."""
    assert host.syscalls is not None, "available() was asked"
    return {LOG: host.syscalls.kernel_log()}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Return counts over time, and kernel messages as facts `kernel.log.PHASE.N`. Raises EvidenceError on an unknown format."""
    origin = Origin(host=host_name, phase=phase, source=f"kernel_log:{LOG}", layer="kernel")
    seen = [(snapshot, text) for snapshot in snapshots if isinstance(text := snapshot.raw.get(LOG), str)]
    kept: list[Message] = []
    counts: dict[str, list[tuple[int, float]]] = {"messages": [], "program_messages": [], "lost": []}
    totals = dict.fromkeys(counts, 0)
    for snapshot, text in seen:
        if snapshot.edge not in BEFORE:
            found = [*messages(text)]
            kept += [message for message in found if message.of_kernel]
            totals["messages"] += sum(message.of_kernel for message in found)
            totals["program_messages"] += sum(not message.of_kernel for message in found)
            totals["lost"] += text.split("\n").count(LOST)
        for metric, points in counts.items():
            points.append((snapshot.at_ns, totals[metric]))
    return Evidence(
        series=tuple(gauge(origin, ABSOLUTE, metric, "count", points) for metric, points in counts.items() if points),
        facts=tuple(facts(host_name, phase, kept)),
        missing={} if seen else {"kernel.messages": f"{LOG} was not read in this phase"},
    )


def messages(text: str) -> Iterator[Message]:
    """Parse records such as `6,339,5140900,-;message`; a line that begins with a blank continues the previous one.

    Raises EvidenceError.
    """
    for line in text.split("\n"):
        if not line or line.startswith(" ") or line == LOST:
            continue
        prefix, found, message_text = line.partition(";")
        number = prefix.partition(",")[0]
        if not found or not number.isdigit():
            raise EvidenceError(f"found {line[:60]!r} in {LOG}; expected `priority,number,microseconds,flags;message`")
        yield Message(level=int(number) % LEVELS, of_kernel=int(number) < LEVELS, text=message_text)


def facts(host_name: str, phase: str, kept: Sequence[Message]) -> Iterator[Fact]:
    """Yield the most severe messages as facts, in the order of the log; their class is noise."""
    gravest = sorted(range(len(kept)), key=lambda index: (kept[index].level, index))[:MOST_KEPT]
    for place, index in enumerate(sorted(gravest)):
        yield Fact(
            host=host_name,
            when=When.AFTER,
            key=f"kernel.log.{phase}.{place}",
            value=f"<{kept[index].level}> {kept[index].text}",
            fact_class=FactClass.NOISE,
        )


OBSERVER = Observer(
    name="kernel_log",
    gives=("kernel.messages", "kernel.program_messages", "kernel.lost"),
    sources=(Source(keys="kernel.*", words="kernel log", way="root, and /dev/kmsg (observer kernel_log)"),),
    watch=Watch.ALWAYS,
    cost="1.2 µs CPU per look (no new message)",
    available=available,
    read=read,
    parse=parse,
)
