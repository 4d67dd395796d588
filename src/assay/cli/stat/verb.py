"""`assay stat -- COMMAND...`: any command, watched while it runs; then what its number really measured.

Standard output and the exit status are the command's own: what Assay says goes to standard error. What fails here ends with 125,
126 or 127, as with env(1).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from assay.cli.preferences import applied
from assay.cli.stat import options
from assay.cli.stat.execution import keep, once, status
from assay.cli.stat.options import Request
from assay.cli.stat.words import WHERE
from assay.errors import AssayError, MissingError, RefusedError
from assay.terminal.output import say, standard_output, unwritten

FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127


def stat(words: Sequence[str]) -> int:
    """Do what the words say; return the exit status. Print every known error as a sentence."""
    try:
        request = options.read(words, applied().options)
        return helped() if request.help else conducted(request)
    except MissingError as error:
        return complain(error, NOT_FOUND)
    except RefusedError as error:
        return complain(error, NOT_EXECUTABLE)
    except AssayError as error:
        return complain(error, FAILED)
    except Exception as error:  # a mistake of ours may not look like a status of the command's own
        import traceback  # costs more than the rest of this file

        traceback.print_exc()
        return complain(error, FAILED)


def helped() -> int:
    """Print the help."""
    try:
        with standard_output() as stream:
            stream.write(options.HELP)
    except BrokenPipeError as error:  # the reader has enough
        unwritten(error)
        return FAILED
    return 0


def complain(error: Exception, status: int) -> int:
    """Say what went wrong; each mistake in the words has its own line, which begins with the verb."""
    text = str(error)
    say(text if text.startswith(WHERE) else f"assay: {text}", sys.stderr)
    return status


def conducted(request: Request) -> int:
    """One execution, or as many as are asked for."""
    if request.lab is not None or request.repeat > 1:
        from assay.cli.small import refuse_if_small

        refuse_if_small()
    if len(request.commands) > 1 or request.repeat > 1 or request.warmup or request.export:
        from assay.cli.stat.repeated import repeated

        return repeated(request)
    from assay.cli.stat import shown

    execution = once(request, request.commands[0])
    say("\n".join(shown.block(execution)), sys.stderr)
    if request.json_to is not None:
        from assay.cli.stat import json_output

        json_output.write(request.json_to, json_output.plain(execution))
    if request.lab is not None:
        keep(request.lab, (execution,))
    return status(execution, request.gate)
