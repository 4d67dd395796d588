"""What `assay stat` tells programs: the schema assay.stat/1 (docs/stat-json.md). Numbers in base units, null where unknown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from assay import plain as plainly
from assay.answer.wording import labels, time_spent
from assay.cli.stat.described import described, dirty_bytes, nothing, operation_of
from assay.cli.stat.execution import JudgedExecution
from assay.cli.stat.shown import networks
from assay.evidence import rungs, time_ladder, time_limit
from assay.records import Direction, Verdict
from assay.terminal import output

SCHEMA = "assay.stat/1"
SIDES = {"read": Direction.READ, "write": Direction.WRITE}


def write(path: str, found: Mapping[str, Any]) -> None:
    """Write the object into a file. Raises AssayError for an unwritable file."""
    output.write(path, json.dumps(found, indent=2))


def plain(execution: JudgedExecution) -> dict[str, Any]:
    """One execution as plain values."""
    watched, account = execution.watched, execution.watched.account
    by_operation = {operation_of(verdict): verdict for verdict in execution.verdicts}
    worst_first = execution.judged
    further = [verdict for verdict in execution.verdicts if verdict not in worst_first]
    rates = {name: one for name, one in by_operation.items() if one.measure.endswith(".bytes_per_s")}
    worst_claim = plainly.to_plain(worst_first[0].claim) if worst_first else {"tier": None, "durability": None}
    return {
        "schema": SCHEMA,
        "command": list(watched.argv),
        "exit_status": watched.status,
        "signal": watched.signal,
        "wall_s": watched.elapsed_ns / 1e9,
        "cpu_s": None if account is None else (account.cpu_user_ns + account.cpu_system_ns) / 1e9,
        "own_cpu_s": watched.own_cpu_ns / 1e9,
        "claim": worst_claim,
        "reported": reported(execution),
        "ladder": ladder(execution),
        "time": spent(execution),
        "corrected": {f"{name}_bytes_per_s": rates[name].corrected if name in rates else None for name in SIDES},
        "measures": {name: measure(verdict, name in execution.external.judged) for name, verdict in by_operation.items()},
        "verdict": None if execution.state is None else str(execution.state),
        "label": label(execution),
        "findings": [finding for verdict in (*worst_first, *further) for finding in findings(verdict)],
    }


def label(execution: JudgedExecution) -> str:
    """What the worst figure is; what moved where nothing is claimed."""
    if execution.state is None:
        return described(execution)
    return labels.label(execution.judged[0]) if execution.judged else nothing(execution)


def reported(execution: JudgedExecution) -> dict[str, Any] | None:
    """What the tool says of itself; null where it says nothing that is understood."""
    found = execution.external.reported
    if found is None:
        return None
    sums = [value for name, value in found.values.items() if name.endswith(".ops_per_s")]
    return {
        "tool": found.tool,
        "read_bytes_per_s": found.values.get("read.bytes_per_s"),
        "write_bytes_per_s": found.values.get("write.bytes_per_s"),
        "ops_per_s": sum(sums) if sums else None,
        "values": dict(found.values),
        "resolution": dict(found.resolution),
        "calls": [
            {"from_s": part.from_ns / 1e9, "to_s": part.to_ns / 1e9, "values": dict(part.values)}
            for part in found.parts
            if found.are_observed
        ],
    }


def ladder(execution: JudgedExecution) -> dict[str, Any]:
    """The bytes at each rung."""
    (phase,), seen, watched = execution.external.run.phases, execution.external.observations, execution.watched
    run = execution.external.run
    sides = {name: rungs.rungs(phase, seen, direction, run) for name, direction in SIDES.items()}
    return {
        "application": {
            "read_bytes": sides["read"].application,
            "write_bytes": sides["write"].application,
            "source": "tool" if execution.external.reported else "observed",
        },
        "calls": {f"{name}_bytes": side.calls for name, side in sides.items()},
        "storage": {"read_bytes": sides["read"].storage, "dirtied_bytes": sides["write"].storage},
        "user_space": {"read_bytes": sides["read"].behind},
        "page_cache": {
            "read_hit_share": sides["read"].hit_share,
            "dirty_at_exit_bytes": dirty_bytes(execution),
            "drain_s": None if watched.drain_ns is None else watched.drain_ns / 1e9,
        },
        "no_file": no_file(execution),
        "devices": [plainly.to_plain(one) for one in rungs.devices(phase, seen)],
        "network": [plainly.to_plain(one) for one in networks(execution)],
    }


def spent(execution: JudgedExecution) -> dict[str, Any]:
    """What threads did, of the command and of its server; null where too few looks were taken, or why else it is missing."""
    (phase,), seen = execution.external.run.phases, execution.external.observations
    groups = {name: time_ladder.of_phase(phase, seen, name) for name in (time_ladder.LOAD, time_ladder.SERVER)}
    limit = time_limit.of_phase(phase, seen)
    return {
        **{name: one and plainly.to_plain(one) for name, one in groups.items()},
        "devices_busy": dict(time_ladder.busy(phase, seen)),
        "missing": {name: time_ladder.why_unknown(phase, seen, name) for name, one in groups.items() if one is None},
        "limit": limit and time_spent.limit(limit),
        "cause": limit and limit.cause,
    }


def no_file(execution: JudgedExecution) -> dict[str, Any]:
    """What moved that is of no file; null where nobody can tell."""
    kinds = execution.watched.account.kinds if execution.watched.account else None
    return {
        "read_bytes": kinds and kinds.read_bytes,
        "device_read_bytes": kinds and kinds.device_bytes,
        "received_bytes": kinds and kinds.received_bytes,
        "sent_bytes": kinds and kinds.sent_bytes,
    }


def measure(verdict: Verdict, judged: bool) -> dict[str, Any]:
    """One figure with its verdict; without one where nothing is claimed of it."""
    return {
        "figure": verdict.measure.rpartition(".")[2],
        "value": verdict.value,
        "unit": str(verdict.unit),
        "corrected": verdict.corrected,
        "bound": plainly.to_plain(verdict.bound),
        "claim": plainly.to_plain(verdict.claim),
        "verdict": str(verdict.state) if judged else None,
        "label": labels.label(verdict),
    }


def findings(verdict: Verdict) -> list[dict[str, Any]]:
    """What every rule says of one figure."""
    return [
        {
            "measure": operation_of(verdict),
            "rule": one.rule,
            "name": one.name,
            "state": str(one.state),
            "severity": str(one.severity),
            "statement": one.statement,
            "observed": dict(one.observed),
            "threshold": dict(one.threshold),
            "advice": one.advice,
        }
        for one in verdict.findings
    ]
