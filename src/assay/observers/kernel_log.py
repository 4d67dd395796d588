"""Writes down what the kernel itself logged: while the phase was made ready, under the clock and in the drain.

Source: /dev/kmsg, read on from the former look, so that none is missed between two and none is of before. Messages that programs
wrote into the log are counted and left out. The log is of the whole machine, of all containers on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.catalogue import Evidence, Host, Observer
from assay.errors import EvidenceError
from assay.evidence.snapshots import Origin, gauge
from assay.records import ABSOLUTE, Edge, Fact, FactClass, Snapshot, Subject, When

LOG = "/dev/kmsg"
LOST = "lost"
"""A line where records were overwritten before they could be read."""
BEFORE = (Edge.TRIAL_START, Edge.QUIET)
"""What is read at these edges was logged before the phase."""
LEVELS = 8
"""A record's number is facility * 8 + level; the kernel's own facility is 0 (syslog(3))."""
MOST_KEPT = 64
"""Messages of one phase that are kept, the gravest first."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """One message: its level from 0 (emergency) to 7 (debug), and whether the kernel itself wrote it."""

    level: int
    of_kernel: bool
    text: str


def available(host: Host) -> str | None:
    """None where the log may be read."""
    if host.syscalls is None:
        return "the kernel's log is read only on a host where Assay itself runs"
    try:
        host.syscalls.kernel_log()
    except OSError as error:
        why = "run as root, or set kernel.dmesg_restrict = 0" if isinstance(error, PermissionError) else "give this container one"
        return f"{LOG}: {error.strerror or error}: {why}"
    return None


def read(host: Host, _subject: Subject) -> Mapping[str, object]:
    """What was logged since the former look. Raises OSError."""
    assert host.syscalls is not None, "available() was asked"
    return {LOG: host.syscalls.kernel_log()}


def parse(host_name: str, phase: str, snapshots: Sequence[Snapshot], _subject: Subject) -> Evidence:
    """Counts over time and the kernel's own messages as facts `kernel.log.PHASE.N`. Raises EvidenceError on other text."""
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
    """The records of a text: `6,339,5140900,-;message`, where a line that begins with a blank belongs to the one before.

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
    """The gravest messages in the order in which they were logged; a message is no other environment."""
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
    gives=("kernel.messages",),
    cost="1.5 µs of CPU a look where nothing was logged",
    available=available,
    read=read,
    parse=parse,
)
