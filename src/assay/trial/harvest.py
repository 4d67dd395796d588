"""Turns what the engines answered into records: clients, readings of the rungs L0 to L2, curves and histograms.

Pure: a result is a message as docs/engine-protocol.md has it. Times are made relative to T0 in the client's own clock.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from assay.catalogue import Evidence
from assay.frozen import dataclass
from assay.records import (
    Client,
    Direction,
    EngineCost,
    EngineError,
    Histogram,
    LoadTotal,
    OperationTotal,
    PhasePlan,
    Printed,
    QueueTotal,
    Reading,
    Role,
    Rung,
    Series,
)
from assay.trial.protocol import Message

SOURCE = "engine"
PROCESS_SOURCE = "engine:/proc/self/io"
DIRTIED_SOURCE = "engine:/proc/self/io (dirtied)"
"""write_bytes is charged when a page is made dirty, not when it is written (AUDIT.md, 0.3): no proof of durability."""
KEPT_CHARACTERS = 64 << 10
"""Of what an external command prints on each stream: tools print their results at the end."""
METRICS = {"count": "count", "bytes": "bytes", "busy_ns": "ns"}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One client's result of one phase, and T0 in its host's clock."""

    phase: str
    plan: PhasePlan
    client: int
    host: str
    t0_ns: int
    result: Mapping[str, Any]

    @property
    def subject(self) -> str:
        """The client as evidence names it."""
        return f"client:{self.client}"

    def at(self, mono_ns: int) -> int:
        """A time of that client relative to T0."""
        return mono_ns - self.t0_ns


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """What one client's result says."""

    client: Client
    evidence: Evidence
    histograms: tuple[Histogram, ...]


def harvest(answer: Answer, *, counts_io: bool = True) -> Harvest:
    """The records of one result. Raises KeyError or TypeError where the engine left something out.

    The engine's own counters of L1 and L2 are the evidence of an observer: where the experiment leaves that out
    (`counts_io` is false), they are left out too.
    """
    return Harvest(
        client=client_of(answer),
        evidence=Evidence(
            readings=(*application_readings(answer), *(process_readings(answer) if counts_io else ())),
            series=tuple(curves(answer)),
        ),
        histograms=tuple(histograms(answer)),
    )


def client_of(answer: Answer) -> Client:
    """The client with its totals and its own cost."""
    result = answer.result
    load, queue = result.get("load"), result.get("queue")
    return Client(
        index=answer.client,
        host=answer.host,
        pid=result["pid"],
        role=Role.LOAD,
        workers=result["workers"],
        armed_ns=answer.at(result["armed_ns"]),
        started_ns=answer.at(result["started_ns"]),
        first_ns=answer.at(result["first_ns"]),
        last_ns=answer.at(result["last_ns"]),
        stopped_by=result["stopped_by"],
        operations=tuple(total(answer, name, found) for name, found in result["operations"].items()),
        cost=cost(result.get("cost")),
        clock_source=result["clock"]["source"],
        stamp_ns=result["clock"].get("stamp_ns"),
        own_ns=result["clock"].get("operation_ns"),
        load=LoadTotal(**known(LoadTotal, load)) if load is not None else None,
        queue=QueueTotal(**known(QueueTotal, queue)) if queue is not None else None,
        errors=tuple(error(one) for one in result.get("errors", ())),
        printed=printed(result.get("command")),
    )


def printed(command: Mapping[str, Any] | None) -> Printed | None:
    """What an external command printed, of each stream the end."""
    if command is None:
        return None
    texts = (str(command["stdout"]), str(command["stderr"]))
    return Printed(
        stdout=texts[0][-KEPT_CHARACTERS:],
        stderr=texts[1][-KEPT_CHARACTERS:],
        cut=bool(command.get("truncated")) or any(len(text) > KEPT_CHARACTERS for text in texts),
    )


def total(answer: Answer, name: str, found: Mapping[str, Any]) -> OperationTotal:
    """What was done of one operation; one that was never done has the client's own first time at both ends."""
    never = not found["count"]
    return OperationTotal(
        operation=name,
        count=found["count"],
        bytes=found["bytes"],
        errors=found["errors"],
        busy_ns=found["busy_ns"],
        first_ns=answer.at(answer.result["first_ns"] if never else found["first_ns"]),
        last_ns=answer.at(answer.result["first_ns"] if never else found["last_ns"]),
        sampled_count=found["sampled_count"],
        sampled_ns=found["sampled_ns"],
    )


def cost(found: Mapping[str, Any] | None) -> EngineCost | None:
    """What the engine itself used; None where it does not say."""
    if found is None:
        return None
    return EngineCost(**known(EngineCost, found))


def error(found: Mapping[str, Any]) -> EngineError:
    """One way in which operations failed; our engines tell it by the numbers of errno(3)."""
    return EngineError(
        operation=found["operation"], code=found["errno"], count=found["count"], path=found["path"], what=found.get("what")
    )


def known(kind: type, found: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record that a message has."""
    return {field.name: found[field.name] for field in fields(kind) if field.name in found}


def application_readings(answer: Answer) -> Iterator[Reading]:
    """L0: what the load generator says it did, by operation."""
    for one in client_of(answer).operations:
        if one.operation not in answer.plan.directions:
            continue  # an external command as a whole: what it moved is for itself to say
        yield Reading(
            phase=answer.phase,
            rung=Rung.APPLICATION,
            source=SOURCE,
            host=answer.host,
            subject=answer.subject,
            direction=answer.plan.directions[one.operation],
            bytes=one.bytes,
            operations=one.count,
            from_ns=one.first_ns,
            to_ns=one.last_ns,
        )


def process_readings(answer: Answer) -> Iterator[Reading]:
    """L1 and L2: the client's own /proc/PID/io from arming to the end, read by itself before it could be gone."""
    counters: Message | None = answer.result.get("io")
    if counters is None:
        return
    wanted = (
        (Rung.SYSCALL, Direction.READ, "rchar", "syscr", PROCESS_SOURCE),
        (Rung.SYSCALL, Direction.WRITE, "wchar", "syscw", PROCESS_SOURCE),
        (Rung.CLIENT_CACHE, Direction.READ, "read_bytes", None, PROCESS_SOURCE),
        (Rung.CLIENT_CACHE, Direction.WRITE, "write_bytes", None, DIRTIED_SOURCE),
    )
    for rung, direction, moved, calls, source in wanted:
        yield Reading(
            phase=answer.phase,
            rung=rung,
            source=source,
            host=answer.host,
            subject=answer.subject,
            direction=direction,
            bytes=_whole(counters, moved),
            operations=_whole(counters, calls) if calls else None,
            from_ns=answer.at(answer.result["armed_ns"]),
            to_ns=answer.at(answer.result["last_ns"]),
        )


def curves(answer: Answer) -> Iterator[Series]:
    """Count, bytes, summed latency and spread of the latencies of each operation over time, cumulative."""
    for name, found in answer.result["operations"].items():
        points = found["checkpoints"]
        at_ns = array("q", map(answer.at, points["at_ns"]))
        for metric, unit in METRICS.items():
            yield over_time(answer, (f"{name}.{metric}", unit), at_ns, points[metric])
        yield from spread(answer, name, found.get("spread") or {"at_ns": ()})


def spread(answer: Answer, name: str, found: Mapping[str, Any]) -> Iterator[Series]:
    """Latencies that fell into each latency bucket over time, cumulative; none of a phase that was too short for two looks."""
    if len(found["at_ns"]) < 2:
        return
    at_ns = array("q", map(answer.at, found["at_ns"]))
    for place, upper_ns in enumerate(found["upper_ns"]):
        counts = [row[place] for row in found["count"]]
        yield over_time(answer, (f"{name}.bucket_{upper_ns}_ns", "count"), at_ns, counts)


def over_time(answer: Answer, what: tuple[str, str], at_ns: array[int], values: Sequence[float]) -> Series:
    """One client's values of something (metric, unit)."""
    metric, unit = what
    return Series(
        phase=answer.phase,
        source=SOURCE,
        layer="application",
        host=answer.host,
        subject=answer.subject,
        metric=metric,
        unit=unit,
        at_ns=at_ns,
        value=array("d", values),
    )


def histograms(answer: Answer) -> Iterator[Histogram]:
    """The latencies of each operation that was done."""
    for name, found in answer.result["operations"].items():
        if found["count"]:
            yield Histogram(
                phase=answer.phase,
                host=answer.host,
                subject=answer.subject,
                operation=name,
                upper_ns=array("q", found["histogram"]["upper_ns"]),
                count=array("q", found["histogram"]["count"]),
            )


def _whole(counters: Message, name: str) -> int | None:
    found = counters.get(name)
    return found if isinstance(found, int) else None
