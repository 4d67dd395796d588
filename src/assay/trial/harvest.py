"""Turns the answers of the engines into the outcome of a phase and into records: clients, readings of L0 to L2, curves.

Pure: a result is a message as docs/engine-protocol.md has it. Times are made relative to T0 in the client's own clock.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any, TypeVar

from assay import plain
from assay.catalogue import Evidence, Workload
from assay.errors import EvidenceError
from assay.evidence import reports
from assay.frozen import dataclass
from assay.records import (
    Client,
    CoherenceEnd,
    Direction,
    DirectoryEnd,
    DrillEnd,
    EngineCost,
    EngineError,
    ErrorSpace,
    Histogram,
    Late,
    LoadTotal,
    OperationTotal,
    Outcome,
    Printed,
    QueueTotal,
    Reading,
    Rung,
    Unfinished,
    Value,
)
from assay.trial.answers import SOURCE, ClientReport, curves, histograms, net_end, sockets
from assay.trial.protocol import Message

PROCESS_SOURCE = "engine:/proc/self/io"
DIRTIED_SOURCE = "engine:/proc/self/io (dirtied)"
"""write_bytes is charged when a page is made dirty, not when it is written (AUDIT.md, 0.3): no proof of durability."""
KEPT_CHARACTERS = 64 << 10
"""Of what an external command prints on each stream: tools print their results at the end."""
STDERR_SHOWN = 500
"""Characters of a failed command's standard error that the run's error text shows."""
Record = TypeVar("Record", EngineCost, LoadTotal, QueueTotal)


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """What one client's result says."""

    client: Client
    evidence: Evidence
    histograms: tuple[Histogram, ...]


def harvest(answer: ClientReport, *, counts_io: bool = True) -> Harvest:
    """The records of one result. Raises KeyError or TypeError where the engine left something out.

    The engine's own counters of L1 and L2 are the evidence of an observer: where the experiment leaves that out
    (`counts_io` is false), they are left out too.
    """
    client = client_of(answer)
    if answer.is_server:
        # The ladder and the percentiles are the load's: at the far end the same bytes would count twice.
        return Harvest(client=client, evidence=Evidence(series=(*curves(answer), *sockets(answer))), histograms=())
    return Harvest(
        client=client,
        evidence=Evidence(
            readings=(*application_readings(answer, client), *(process_readings(answer) if counts_io else ())),
            series=(*curves(answer), *sockets(answer)),
        ),
        histograms=tuple(histograms(answer)),
    )


def client_of(answer: ClientReport) -> Client:
    """The client with its totals and its own cost."""
    result = answer.result
    return Client(
        index=answer.client,
        host=answer.host,
        pid=result["pid"],
        role=answer.plan.role(answer.client),
        workers=result["workers"],
        armed_ns=answer.at(result["armed_ns"]),
        started_ns=answer.at(result["started_ns"]),
        first_ns=answer.at(result["first_ns"]),
        last_ns=answer.at(result["last_ns"]),
        ends_ns=None if (ends_ns := result.get("ends_ns")) is None else answer.at(ends_ns),
        stopped_by=result["stopped_by"],
        operations=tuple(total(answer, name, found) for name, found in result["operations"].items()),
        cost=optional(EngineCost, result.get("cost")),
        clock_source=result["clock"]["source"],
        stamp_ns=result["clock"].get("stamp_ns"),
        own_ns=result["clock"].get("operation_ns"),
        load=optional(LoadTotal, result.get("load")),
        queue=optional(QueueTotal, result.get("queue")),
        errors=tuple(error(one) for one in result.get("errors", ())),
        net=net_end(result.get("net"), answer.at),
        directory=directory_end(result.get("directory"), answer.plan.settings[answer.client : answer.client + 1]),
        coherence=None if (seen := result.get("coherence")) is None else plain.from_plain(CoherenceEnd, seen),
        drill=drill_end(answer, result.get("drill")),
        printed=printed(result.get("command")),
    )


def directory_end(found: Mapping[str, Any] | None, settings: Sequence[Mapping[str, object]]) -> DirectoryEnd | None:
    """The record of the result's section `directory`; None of another engine. Raises DamagedError."""
    if found is None:
        return None
    depth = next((one["depth"] for one in settings if isinstance(one.get("depth"), int)), 1)
    return plain.from_plain(DirectoryEnd, {**found, "places": found["connections"] * depth})


def drill_end(answer: ClientReport, found: Mapping[str, Any] | None) -> DrillEnd | None:
    """The record of the result's section `drill`, its times relative to T0; None of another engine. Raises DamagedError."""
    if found is None:
        return None
    at = {"from_ns", "to_ns", "caught_up_ns"}
    outages = [
        {name: answer.at(value) if name in at and value is not None else value for name, value in one.items()}
        for one in found["outages"]
    ]
    return plain.from_plain(DrillEnd, {**found, "outages": outages})


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


def total(answer: ClientReport, name: str, found: Mapping[str, Any]) -> OperationTotal:
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
        unfinished=unfinished(answer, found.get("unfinished")),
        late=late(answer, found),
    )


def late(answer: ClientReport, found: Mapping[str, Any]) -> Late | None:
    """The operations that ended after the first note of the counters past the end of the time; None where there were none."""
    ends_ns, points = answer.result.get("ends_ns"), found["checkpoints"]
    notes = list(zip(points["at_ns"], points["count"], points["bytes"], strict=True))
    if ends_ns is None or answer.result["stopped_by"] != "time" or not notes or found["last_ns"] <= ends_ns:
        return None
    index = bisect_left(notes, ends_ns, key=lambda note: note[0])
    if index == len(notes) or notes[index][1] >= found["count"]:
        return None
    _, count, moved = notes[index]
    rose = max((after[0] for before, after in pairwise(notes[: index + 1]) if after[1] > before[1]), default=found["first_ns"])
    return Late(count=found["count"] - count, bytes=found["bytes"] - moved, from_ns=answer.at(rose))


def unfinished(answer: ClientReport, found: Mapping[str, Any] | None) -> Unfinished | None:
    """The operations that were given up at the end; None where there were none."""
    return None if found is None else Unfinished(**{**found, "from_ns": answer.at(found["from_ns"])})


def error(found: Mapping[str, Any]) -> EngineError:
    """One way in which operations failed, by a number of errno(3) unless the engine names another space."""
    return EngineError(
        operation=found["operation"],
        code=found["errno"],
        count=found["count"],
        path=found["path"],
        space=ErrorSpace(found.get("space", ErrorSpace.ERRNO)),
        what=found.get("what"),
    )


def optional(kind: type[Record], found: Mapping[str, Any] | None) -> Record | None:
    """A record with the fields that a message has of it; None where it has none."""
    return None if found is None else kind(**{field.name: found[field.name] for field in fields(kind) if field.name in found})


def application_readings(answer: ClientReport, client: Client) -> Iterator[Reading]:
    """L0: what the load generator says it did, by operation."""
    for one in client.operations:
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


def process_readings(answer: ClientReport) -> Iterator[Reading]:
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
    for rung, direction, amount, calls, source in wanted:
        yield Reading(
            phase=answer.phase,
            rung=rung,
            source=source,
            host=answer.host,
            subject=answer.subject,
            direction=direction,
            bytes=_whole(counters, amount),
            operations=_whole(counters, calls) if calls else None,
            from_ns=answer.at(answer.result["armed_ns"]),
            to_ns=answer.at(answer.result["last_ns"]),
        )


def _whole(counters: Message, name: str) -> int | None:
    found = counters.get(name)
    return found if isinstance(found, int) else None


def judge(results: Mapping[int, Message], failures: Mapping[int, str], lost: frozenset[int]) -> tuple[Outcome, str | None]:
    """How a phase ended, and the reasons in words.

    A lost client, or one that had to be stopped at its hard end, makes the run partial; an error makes it failed.
    """
    broken = [text for client, text in failures.items() if client not in lost]
    cut = [*dict.fromkeys(failures[client] for client in sorted(lost) if client in failures)]
    for client, result in sorted(results.items()):
        broken += _errors(client, result)
        broken += _refused(client, result)
        if result.get("stopped_by") == "limit":
            cut.append(f"client {client} reached its time limit before its work was done")
    if broken:
        return Outcome.FAILED, "; ".join([*broken, *cut])
    return (Outcome.PARTIAL, "; ".join(cut)) if cut else (Outcome.FINISHED, None)


def _errors(client: int, result: Mapping[str, Any]) -> Iterator[str]:
    """What ended the work of a client that could not go on. Errors that it worked on through are counted, not here."""
    command = result.get("command")
    if command is not None and (command["status"] != 0 or command["signal"] is not None):
        ended = f"status {command['status']}" if command["signal"] is None else f"signal {command['signal']}"
        output = (command["stderr"].strip() or command["stdout"].strip() or "no output")[-STDERR_SHOWN:]
        yield f"client {client}: the command ended with {ended}: {output}"
    elif result.get("stopped_by") == "error":
        found = [
            f"{one['operation']} {one['path']}: {reports.error_reason(error(one))} ({one['count']} times)"
            for one in result.get("errors", ())
        ]
        yield f"client {client}: {'; '.join(found) or 'the engine stopped with an error'}"


def _refused(client: int, result: Mapping[str, Any]) -> Iterator[str]:
    """The entries of a file that a directory server did not take: without them the import is another one."""
    directory = result.get("directory") or {}
    for name, one in directory.get("operations", {}).items():
        if refused := one.get("refused"):
            listed = "; ".join(_reason(entry) for entry in refused)
            count = result["operations"][name]["errors"]
            yield f"client {client}: {name}: the server refused {count:,} entries: {listed}{' ...' * (count > len(refused))}"


def _reason(entry: Mapping[str, Any]) -> str:
    code = f" ({entry['code']})" if entry["code"] else ""
    words = f", {entry['words']}" if entry["words"] else ""
    return f"{entry['dn']}: {entry['what']}{code}{words}"


def reported(workload: Workload, knobs: Mapping[str, Value], results: Mapping[int, Mapping[str, Any]]) -> dict[str, float]:
    """OPERATION.FIGURE -> value that an external command reported, over all clients; empty for the own engines.

    Rates, counts and bytes are added up; of latencies and times the largest counts. Raises EvidenceError.
    """
    parse, each = workload.parse, []
    if parse is None:
        return {}
    for client, result in sorted(results.items()):
        command = result.get("command")
        if command is None:
            continue
        elapsed_ns = sum(one["busy_ns"] for one in result["operations"].values())
        try:
            each.append(reports.parsed(parse, knobs, (command["stdout"], command["stderr"]), elapsed_ns))
        except EvidenceError as error:
            raise EvidenceError(f"client {client}: {error}") from error
    return reports.joined(each)
