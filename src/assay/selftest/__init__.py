"""Self-tests: the cost of the lab, planted lies and their sound twins, comparisons of equals."""

from __future__ import annotations

from dataclasses import dataclass

from assay.laboratory.gate import Gate
from assay.terminal.progress import ProgressMode


@dataclass(frozen=True, kw_only=True)
class Request:
    """The words that every self-test understands."""

    json_to: str | None = None
    gate: Gate = Gate.OFF
    progress: ProgressMode = ProgressMode.AUTO
