"""What an external tool tells of its bytes and its time, and the shortest time in which counters saw so much move."""

from __future__ import annotations

from collections.abc import Iterator

from assay.evidence import ladder
from assay.frozen import dataclass
from assay.measures.figures import claims_media
from assay.measures.text import with_unit
from assay.records import Direction, Measure, Observations, Phase, Run, Rung, Series, Tier
from assay.units import Unit

SLACK = "bytes_per_s_half"
"""OPERATION.this among the figures of a tool: half a unit of the last digit of its rate, in bytes/s."""
TIME_SLACK = "elapsed_ns_half"
"""The same of its time, in ns: hdparm tells 0.15 s of what took 0.154."""
COUNTED = ("overlay", "tmpfs")
"""File systems without a device of their own on which the kernel still counts what a process made storage move."""
RATIO = " is that of "
MILLISECOND_S = 0.001
"""Tools tell their times in whole milliseconds, so two of their times agree when they are no further apart."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """A tool's rate in bytes/s with its bytes and its time in s; None where it does not tell them."""

    rate: float
    bytes: float | None
    seconds: float | None
    slack: float = 0.0
    """The share of the rate that its last printed digit leaves open."""
    slack_s: float = 0.0
    """The same of its time, in s."""

    def implied_s(self, seen_bytes: float) -> float:
        """The time in s that the rate implies, by the tool's own bytes, else by those that were seen."""
        return (seen_bytes if self.bytes is None else self.bytes) / self.rate

    def agrees(self, clients: int, share: float) -> bool:
        """Whether rate, bytes and time fit together, within a share or a millisecond.

        Of several clients rates are added and the longest time counts, so there the time may be longer, never shorter.
        """
        if self.bytes is None or self.seconds is None:
            return True
        apart = self.bytes / self.rate - self.seconds
        allowed = max(share * self.seconds, MILLISECOND_S) + self.slack * self.bytes / self.rate + self.slack_s
        return (apart if clients > 1 else abs(apart)) <= allowed


def report(phase: Phase, operation: str) -> Report | None:
    """What the tool tells of one operation; None where it tells no rate of bytes."""
    rate = phase.values.get(f"{operation}.bytes_per_s")
    if not rate or rate <= 0:
        return None
    elapsed = phase.values.get(f"{operation}.elapsed_ns")
    return Report(
        rate=rate,
        bytes=phase.values.get(f"{operation}.bytes") or None,  # hdparm prints 0 MB of what was less
        seconds=elapsed / 1e9 if elapsed else None,
        slack=phase.values.get(f"{operation}.{SLACK}", 0.0) / rate,
        slack_s=phase.values.get(f"{operation}.{TIME_SLACK}", 0.0) / 1e9,
    )


def reported_operations(phase: Phase, direction: Direction) -> float:
    """How many operations of a direction an external tool says it did; 0 where it does not say."""
    counts = ((name.rpartition("."), count) for name, count in phase.values.items())
    return sum(count for (name, _, kind), count in counts if kind == "count" and phase.directions.get(name) is direction)


def denied(phase: Phase, observations: Observations, operation: str, share: float) -> Iterator[str]:
    """In words: a rate that the tool's own bytes and time deny, or a time in which counters saw less than those bytes move.

    Other operations of the same tool move bytes too: they can only make the time shorter in which so many moved.
    """
    tool = report(phase, operation)
    if tool is None or tool.bytes is None:
        return
    if not tool.agrees(len(phase.clients), share):
        yield f"The command reports {_bytes(tool.bytes)} in {_time(tool.seconds or 0)}, but {_rate(tool.rate)}."
    least = shortest_s(phase, observations, phase.directions[operation], (1 - share) * tool.bytes)
    implied = tool.implied_s(tool.bytes) * (1 + tool.slack)
    together = len(phase.clients) > 1 and tool.seconds is not None  # their rate is of the time in which all ran
    timed = tool.seconds + tool.slack_s if tool.seconds else implied
    claimed = timed if together else min(implied, timed)
    if claimed < (1 - share) * least:
        yield f"The command reports {_bytes(tool.bytes)} in {_time(claimed)}, but the transfer took at least {_time(least)}."


def unseen(phase: Phase, operation: str, asked: float, limits: tuple[float, float, float]) -> Iterator[tuple[str, float]]:
    """In words, with the certain share: a rate that holds for only a part of the command's time, which nobody else timed.

    `limits` are the least shares of that time for tools that tell a rate alone, and for those that tell their bytes too; and how
    near a ratio must be to that of a mistaken unit to be called one.
    """
    tool = report(phase, operation)
    whole = seen_s(phase, operation)
    if tool is None or whole <= 0:
        return
    known = min(1.0, tool.implied_s(asked) * (1 + tool.slack) / whole)
    if known < limits[0 if tool.bytes is None else 1]:
        yield (
            (
                f"The command reports {_rate(tool.rate)} over a time that only it measured;"
                f" {_bytes(asked)} in the {_time(whole)} of the whole command are {_rate(tool.rate * known)}."
                f"{mistaken(1 / known if known else 0.0, limits[2])}"
            ),
            known,
        )


def seen_s(phase: Phase, operation: str) -> float:
    """The time in s within which an operation was done: of the calls that did it where these were seen one by one, else all."""
    spans = [(one.first_ns, one.last_ns) for client in phase.clients for one in client.operations if one.operation == operation]
    first, last = min((span[0] for span in spans), default=phase.start_ns), max((span[1] for span in spans), default=phase.end_ns)
    return (last - first) / 1e9


def boasted(run: Run, phase: Phase, observations: Observations, measure: Measure, least_s: float) -> tuple[str, float] | None:
    """In words, with the highest rate that can be: a rate alone, at which all that storage moved lasts no time to measure it in.

    For claims of a device. What servers and file systems of user space moved nobody counts here; what passed a network while
    the command ran may have been its own.
    """
    tool, direction = report(phase, measure.operation), phase.directions.get(measure.operation)
    media = direction is Direction.READ and measure.claim.tier is Tier.DEVICE
    if tool is None or tool.bytes is not None or direction is None or not (media or claims_media(measure.claim, direction)):
        return None
    own = ladder.passed(phase, observations, Rung.CLIENT_CACHE, direction)
    counted = all((place.devices or place.filesystem in COUNTED) and place.server is None for place in run.places)
    most = own.bytes + own.uncertainty_bytes if own else 0.0
    passed = _over_network(phase, observations, direction)
    if own is None or passed is None or not counted or phase.end_ns <= phase.start_ns:
        return None
    if max(most, passed) >= tool.rate * least_s:
        return None
    moved = "made storage read" if direction is Direction.READ else "made dirty or wrote past the cache"
    lasts = f"at the reported {_rate(tool.rate)} that lasts {_time(most / tool.rate)}"
    return f"The whole command {moved} {_bytes(most)} at most: {lasts}.", most * 1e9 / phase.lasted_ns


def _over_network(phase: Phase, observations: Observations, direction: Direction) -> float | None:
    """Bytes that passed this host's interfaces in a direction, or its loopback, by whomever; None where nobody counted these."""
    nic = ladder.passed(phase, observations, Rung.CLIENT_NIC, direction)
    inside = ladder.of_host(phase, observations, "network", "loopback_bytes")
    within = None if inside is None else ladder.rise(inside, phase.start_ns, phase.end_ns)
    return None if within is None else (nic.raw_bytes if nic else 0.0) + within


def mistaken(ratio: float, share: float) -> str:
    """Which mistake of units a ratio is that of, in a sentence with its leading space; empty where it is none's."""
    from assay import links  # only a mistake needs it

    mistake = links.unit_mistake(ratio, share)
    return f" The ratio {ratio:.3g}{RATIO}{mistake}." if mistake else ""


def _bytes(count: float) -> str:
    return with_unit(count, Unit.BYTES)


def _time(seconds: float) -> str:
    return with_unit(seconds * 1e9, Unit.NANOSECONDS)


def _rate(rate: float) -> str:
    return with_unit(rate, Unit.BYTES_PER_S)


def shortest_s(phase: Phase, observations: Observations, direction: Direction, moved: float) -> float:
    """The shortest time in s in which so many bytes can have moved by any counter sampled over time; 0 where none tells.

    A byte counted between two samples may have moved right at the inner one, so the intervals at both ends count nothing.
    What others moved makes the time only shorter. Devices take buffered writes later, so they speak of reads alone.
    """
    return max((enclosed_s(series, moved) for series in counters(phase, observations, direction, moved)), default=0.0)


def counters(phase: Phase, observations: Observations, direction: Direction, moved: float) -> Iterator[Series]:
    """The cumulative bytes of one direction: of the process where there is only one, of the file system's devices for reads.

    A device says nothing of bytes that memory answered: not where storage was made to read fewer than so many, and not where it
    lies below another one, whose bytes memory between them may have answered.
    """
    if direction not in (Direction.READ, Direction.WRITE):
        return
    if len(phase.clients) == 1:
        yield from observations.over_time(phase.name, "process", f"{direction}_bytes")
    storage = ladder.passed(phase, observations, Rung.CLIENT_CACHE, Direction.READ)
    highest = ladder.highest_device(phase, observations, Direction.READ)
    if direction is Direction.READ and (storage is None or storage.bytes >= moved):
        every = observations.over_time(phase.name, "block", "read_bytes")
        yield from (one for one in every if highest is None or one.subject in highest.subjects)


def enclosed_s(series: Series, moved: float) -> float:
    """The least time in s between the inner samples of all stretches in which so many bytes moved; 0 where there is none."""
    at, value = series.at_ns, series.value
    found = []
    last = 0
    for first in range(len(at)):
        while last < len(at) and value[last] - value[first] < moved:
            last += 1
        if last == len(at):
            break
        found.append(max(0, at[last - 1] - at[first + 1]) / 1e9)
    return min(found, default=0.0)
