"""`assay ldif`: a population of a directory as LDIF, streamed by the engine executable at its own speed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from assay.errors import RefusedError, refuse
from assay.machine import population
from assay.terminal.output import STANDARD_OUTPUT


def write(words: dict[str, str], out: str) -> int:
    """Become the engine, which writes the population. Raises UsageError with every mistake, RefusedError for the file."""
    refuse([*mistakes(words, out)])
    from assay.laboratory.session import engine_path

    path = str(engine_path())
    if out != STANDARD_OUTPUT:
        try:
            descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        except OSError as error:
            raise RefusedError(f"{out}: not written ({error.strerror}). Check permissions and free space.") from error
        os.dup2(descriptor, 1)
    sys.stdout.flush()
    argv = [path, "ldif", *(text for pair in words.items() for text in pair)]
    os.execv(path, argv)  # noqa: S606 - our own engine, with checked words


def mistakes(words: dict[str, str], out: str) -> Iterator[str]:
    """Yield what is wrong with the words of a call."""
    for name in ("--entries", "--seed"):
        if not words[name].isdecimal():
            yield f"found {name} {words[name]!r}; expected a whole number"
    if words["--entries"].isdecimal() and int(words["--entries"]) > population.MOST_ENTRIES:
        yield f"found --entries {words['--entries']}; expected at most {population.MOST_ENTRIES:,}"
    if words["--template"] not in population.TEMPLATES:
        yield f"found --template {words['--template']!r}; expected one of: {', '.join(population.TEMPLATES)}"
    if population.SUFFIX.fullmatch(words["--base"]) is None:
        yield f"found --base {words['--base']!r}; {population.EXPECTED_SUFFIX}"
    if out != STANDARD_OUTPUT and not Path(out).absolute().parent.is_dir():
        yield f"found --out {out!r}; expected a file in an existing directory"
