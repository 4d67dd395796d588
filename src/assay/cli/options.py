"""What the verbs of the command line share: their options, and how each of them ends.

Exit status: 0 done, whatever the verdict; 1 failed, also where a trial did not finish; 2 wrong usage; 3 with --gate when a
verdict is TAINTED or INVALID (--gate strict: UNVERIFIED too); 4 with --gate when a requirement is not met (strict: undecided
too); 130 interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from assay.errors import AssayError
from assay.laboratory.gate import Gate
from assay.terminal.fold import say
from assay.terminal.progress import ProgressMode

INTERRUPTED = 130

LabOption = Annotated[Path, typer.Option("--lab", envvar="ASSAY_LAB", help="The notebook.")]
JsonOption = Annotated[bool, typer.Option("--json", help="JSON on standard output, nothing else.")]
GateOption = Annotated[Gate, typer.Option("--gate", help="Exit 3 on a bad verdict, 4 on an unmet requirement.")]
ProgressOption = Annotated[ProgressMode, typer.Option("--progress", help="How progress is told on standard error.")]
FileArgument = Annotated[Path, typer.Argument(help="The experiment file.")]
WhichArgument = Annotated[str | None, typer.Argument(help="Which experiment of the notebook (default: the newest).")]


def finish(call: Callable[[], int]) -> NoReturn:
    """End with the status of a verb; every known error is told in words, and what the system refused (a full disk).

    A reader that has enough, a broken pipe, is left to the library that reads the words of the call.
    """
    try:
        status = call()
    except AssayError as error:
        say(f"assay: {error}", sys.stderr)
        status = error.exit_status
    except BrokenPipeError:
        raise
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        say(f"assay: found {where}{error.strerror or error}; expected permission and room there", sys.stderr)
        status = AssayError.exit_status
    except KeyboardInterrupt:
        status = INTERRUPTED
    raise typer.Exit(status)
