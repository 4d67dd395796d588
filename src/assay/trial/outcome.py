"""What the clients' answers mean for the run: whether the phase did what was asked, and what an external tool reported. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from assay.catalogue import Workload
from assay.errors import EvidenceError
from assay.evidence import reports
from assay.records import Outcome, PhasePlan, StopRule, Value
from assay.settings.load import scheduled_ns
from assay.trial.levels import whole
from assay.trial.protocol import Message

STDERR_SHOWN = 500
"""Characters of a failed command's standard error that the run's error text shows."""


def judge(results: Mapping[int, Message], failures: Mapping[int, str], lost: frozenset[int]) -> tuple[Outcome, str | None]:
    """How a phase ended, and the reasons in words.

    A lost client, or one that had to be stopped at its hard end, makes the run partial; an error makes it failed.
    """
    broken = [text for client, text in failures.items() if client not in lost]
    cut = [failures[client] for client in sorted(lost) if client in failures]
    for client, result in sorted(results.items()):
        broken += _errors(client, result)
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
        said = (command["stderr"].strip() or command["stdout"].strip() or "no output")[-STDERR_SHOWN:]
        yield f"client {client}: the command ended with {ended}: {said}"
    elif result.get("stopped_by") == "error":
        found = [f"{one['operation']} {one['path']}: {_reason(one)} ({one['count']} times)" for one in result.get("errors", ())]
        yield f"client {client}: {'; '.join(found) or 'the engine stopped with an error'}"


def _reason(error: Mapping[str, Any]) -> str:
    """A record that was read and is not what was written has an error number that says nothing to a person."""
    return "a record differs from the written data" if error.get("what") == "verify" else os.strerror(error["errno"])


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


def schedule_end_ns(plan: PhasePlan, knobs: Mapping[str, Value], start_ns: int) -> int | None:
    """When the schedules of all clients end; None where they have none, or do not begin together."""
    planned = {scheduled_ns(settings) for settings in plan.settings}
    apart = whole(knobs, "start_delay") or any("start_delay_ns" in settings for settings in plan.settings)
    length = planned.pop() if len(planned) == 1 and plan.stop is StopRule.TIME and not apart else None
    return None if length is None else start_ns + length
