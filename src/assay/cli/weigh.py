"""`assay weigh`: the lab weighs itself, its cost on this machine, or with --audit its rules."""

from __future__ import annotations

from dataclasses import dataclass

from assay.cli.gate import Gate
from assay.cli.progress import ProgressMode
from assay.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for, as typed."""

    audit: bool = False
    rules: str | None = None
    times: int | None = None
    as_json: bool = False
    gate: Gate = Gate.OFF
    progress: ProgressMode = ProgressMode.AUTO


def weigh(request: Request) -> int:
    """Weigh the lab or its rules; the exit status. Raises UsageError with every mistake of the call."""
    if request.audit:
        from assay.cli import weigh_audit as audit

        asked = audit.Request(
            rules=request.rules,
            times=1 if request.times is None else request.times,
            as_json=request.as_json,
            gate=request.gate,
            progress=request.progress,
        )
        return audit.weigh_audit(asked)
    given = {"--rules": request.rules is not None, "--times": request.times is not None, "--gate": request.gate is not Gate.OFF}
    if any(given.values()):
        words = ", ".join(word for word, there in given.items() if there)
        raise UsageError(f"found {words} without --audit; expected `assay weigh --audit {words} ...`")
    from assay.cli.weigh_cost import weigh_cost

    return weigh_cost(as_json=request.as_json)
