"""Where the answer of a verb goes: text on standard output, JSON there alone (`-`) or into a file beside the text."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from assay.errors import AssayError
from assay.terminal.fold import say

STANDARD_OUTPUT = "-"


def deliver(
    json_to: str | None, verb: str, values: Callable[[], Mapping[str, object]], text: Callable[[], str] | None = None
) -> None:
    """Print the text, unless the JSON owns standard output, and write the JSON, of the schema `assay.VERB/1`, where asked."""
    if json_to != STANDARD_OUTPUT and text is not None:
        say(text())
    if json_to is not None:
        write(json_to, json.dumps({"schema": f"assay.{verb}/1", **values()}, default=str))


def write(path: str, text: str) -> None:
    """Write a text with its end of line to a file, or to standard output for `-`. Raises AssayError for an unwritable file."""
    if path == STANDARD_OUTPUT:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
        return
    try:
        Path(path).write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise AssayError(f"{path}: not written ({error.strerror}). Name a writable file.") from error
