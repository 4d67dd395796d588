"""The load engine that the package brings along: where it is, and one that runs beside a phase and is asked for its counts."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.catalogue import Host, Process
from assay.errors import EvidenceError, MissingError, TrialError

PROGRAM = "assay-engine"
ASK, SPARE = "counts", "spare"
ANSWER_S = 20.0


def engine_path() -> Path:
    """The load engine inside the package. Raises MissingError."""
    path = Path(__file__).parent.parent / "bin" / PROGRAM
    if not path.is_file():
        raise MissingError(f"load engine: not found at {path}. Run `make build`.")
    return path


def argv_of(host: Host, word: str, options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the command that does on a host what the word and its options say. Raises MissingError."""
    return (PROGRAM if host.far else str(engine_path()), word, json.dumps(options))


def spare(process: Process, span_ns: int) -> None:
    """Have an engine that runs beside a phase do nothing for so long. Raises TrialError where it has ended."""
    process.send(f"{SPARE} {span_ns}")


def counts_of(process: Process, ended: str) -> dict[str, Any]:
    """Ask an engine that runs beside a phase. Raises EvidenceError without an answer: `ended` is said of one that has ended."""
    with contextlib.suppress(TrialError):  # one that has ended may have said why
        process.send(ASK)
    try:
        line = process.receive(ANSWER_S)
    except TimeoutError:
        raise EvidenceError(f"no counts within {ANSWER_S:.0f} s") from None
    if line is None:
        raise EvidenceError(ended)
    found: dict[str, Any] = json.loads(line)
    return found
