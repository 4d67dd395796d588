"""The options that verbs share, and the exit status of each verb.

Exit status: 0 done, whatever the verdict; 1 failed, also where a trial did not finish; 2 wrong usage; 3 with --gate for a
TAINTED or INVALID verdict (--gate=strict: UNVERIFIED too); 4 with --gate for an unmet requirement (strict: undecided too);
130 interrupted.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from assay.errors import AssayError
from assay.laboratory.gate import Gate
from assay.terminal.output import OUTPUT, STANDARD_OUTPUT, say, standard_output, unwritten
from assay.terminal.progress import ProgressMode


class ReportFormat(StrEnum):
    """The format of a report."""

    HTML = "html"
    MARKDOWN = "md"


class HostAction(StrEnum):
    """An action of the verb `hosts`."""

    LIST = "list"
    CHECK = "check"
    INSTALL = "install"
    CLEAN = "clean"
    CERTIFICATES = "certificates"


class Shell(StrEnum):
    """A shell that completes words."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class ExportFormat(StrEnum):
    """The format of an export."""

    CSV = "csv"
    PARQUET = "parquet"
    SQLITE = "sqlite"


INTERRUPTED = 130
QUERY_INTERRUPTED = re.compile(r"^Query interrupted|\bKeyboardInterrupt\b")
"""What DuckDB makes of an interrupt that comes while it works for us: an error of its own."""
LAB = "--lab"
NOTEBOOK = Path("lab")
"""The notebook where none is named."""
ALONE = {"--gate": "--gate=on", "--json": f"--json={STANDARD_OUTPUT}"}
"""Options whose value may be left out, and what they mean then."""
ALONE_OF = {"dsio": {"--csv": f"--csv={STANDARD_OUTPUT}"}}
"""The same for one verb."""
ABOUT_ALL = ("completion",)
"""Verbs that speak of all verbs."""


def json_file(path: str | None) -> str | None:
    """Return the path where JSON goes. Raises BadParameter where it cannot be written, before anything has run."""
    if path is None or path == STANDARD_OUTPUT:
        return path
    place = Path(path).absolute()
    try:
        if not place.parent.is_dir():
            raise typer.BadParameter(f"{place.parent} is no directory. Name a file in an existing directory.")
        writable = not place.is_dir() and os.access(place if place.exists() else place.parent, os.W_OK)
    except PermissionError:
        writable = False
    if not writable:
        raise typer.BadParameter(f"{path} cannot be written. Name a file in a directory that you may write to.")
    return path


JSON = typer.Option(
    "--json", metavar="[=FILE]", callback=json_file, help="Write JSON to FILE; without =FILE to standard output alone."
)
JsonOption = Annotated[str | None, JSON]
LabOption = Annotated[Path, typer.Option(LAB, metavar="DIR", envvar="ASSAY_LAB", help="The notebook.")]
GateOption = Annotated[
    Gate,
    typer.Option(
        "--gate", metavar="[=strict|worse]", help="Exit 3 on a bad verdict, 4 on an unmet requirement; worse: on a worse figure."
    ),
]
JunitOption = Annotated[
    str | None,
    typer.Option(
        "--junit", metavar="FILE", callback=json_file, help="Write figures, comparisons and requirements as JUnit tests."
    ),
]
SummaryOption = Annotated[
    str | None, typer.Option("--summary", metavar="FILE", callback=json_file, help="Append the report to a file, as Markdown.")
]
BoundFactorOption = Annotated[
    float | None,
    typer.Option("--bound-factor", metavar="N", min=1.0, help="With --gate: bounds further apart than N times are TAINTED."),
]
VerdictGateOption = Annotated[Gate, typer.Option("--gate", metavar="[=strict]", help="Exit 3 on a bad verdict.")]
ProgressOption = Annotated[ProgressMode, typer.Option("--progress", help="Progress on standard error; json: one object a line.")]
FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The experiment file.")]
HostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--host",
        metavar="HOST=ADDRESS",
        help="Use this address of a host, or addresses of a group, instead of the file's; repeatable.",
    ),
]
WhichArgument = Annotated[str | None, typer.Argument(metavar="EXPERIMENT", help="Default: the newest of the notebook.")]


CaptureArgument = Annotated[
    list[str] | None, typer.Argument(metavar="FILE", help="Captures (pcap, pcapng, snoop); - reads standard input.")
]
InterfaceOption = Annotated[
    str | None, typer.Option("-i", "--interface", metavar="INTERFACE", help="Capture here instead, until Ctrl-C.")
]
DurationOption = Annotated[str | None, typer.Option("--duration", metavar="T", help='Capture for this time: "30 s".')]
PortOption = Annotated[
    list[int] | None, typer.Option("--port", metavar="PORT", help="A further port of LDAP servers; repeatable.")
]
LinkOption = Annotated[str | None, typer.Option("--link", metavar="LINK", help='Compare the traffic with a link: "1GbE".')]
LevelOption = Annotated[
    list[str] | None, typer.Option("--sla", metavar="LEVEL", help='A service level: "search p99 <= 50 ms"; repeatable.')
]
PageOption = Annotated[Path | None, typer.Option("--html", metavar="FILE", help="Write one page with pictures.")]
LoadProfileOption = Annotated[
    Path | None, typer.Option("--profile", metavar="FILE", help="Write the load without values of the capture (TOML).")
]


def arranged(words: list[str]) -> list[str]:
    """Return the words of a call in their usual order: `--lab` in front of the verb goes behind it."""
    leading: list[str] = []
    while (words[:1] == [LAB] and len(words) > 1) or (words and words[0].startswith(f"{LAB}=")):
        taken = 2 if words[0] == LAB else 1
        leading, words = [*leading, *words[:taken]], words[taken:]
    return [*words[:1], *leading, *words[1:]]


def completed(words: list[str]) -> list[str]:
    """Return the words with a value for each option that stands alone, as far as `--`."""
    end = words.index("--") if "--" in words else len(words)
    alone = ALONE | (ALONE_OF.get(words[0], {}) if words else {})
    return [*(alone.get(word, word) for word in words[:end]), *words[end:]]


def prepare_only(app: typer.Typer, verbs: Sequence[str]) -> None:
    """Let the library prepare one verb where a call begins with it: to prepare all is a quarter of a short call's CPU time."""
    named = {one.name or getattr(one.callback, "__name__", ""): one for one in app.registered_commands}
    found = [named[verb] for verb in verbs if verb in named and verb not in ABOUT_ALL]
    app.registered_commands = found or app.registered_commands


def usage_in_own_words() -> None:
    """Let mistakes in the words of a call be printed like all others: in a sentence, with what to do."""

    def show(error: Any, file: object = None) -> None:  # noqa: ANN401, ARG001 - as the library calls it
        message = error.format_message().replace("Value error, ", "").rstrip(".")
        verb = error.ctx.command_path if error.ctx else "assay"
        say(f"assay: {message[:1].lower()}{message[1:]}{'' if message.endswith('?') else '.'} See `{verb} -h`.", sys.stderr)

    setattr(typer.BadParameter.__mro__[1], "show", show)  # noqa: B010 - that class has no public name


def finish(call: Callable[[], int]) -> NoReturn:
    """Exit with the status of a verb; print every known error, and every refusal of the system, as a sentence.

    A broken pipe, a reader that has enough, is left to the library that reads the words of the call.
    """
    try:
        status = call()
        with standard_output():
            pass  # what was printed and not written out yet
    except AssayError as error:
        say(f"assay: {error}", sys.stderr)
        status = error.exit_status
    except BrokenPipeError:
        raise
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        text = f"{where}{error.strerror or error}. Check permissions and free space."
        say(f"assay: {unwritten(error) if error.filename == OUTPUT else text}", sys.stderr)
        status = AssayError.exit_status
    except KeyboardInterrupt:
        status = INTERRUPTED
    except RuntimeError as error:
        if not QUERY_INTERRUPTED.search(str(error)):
            raise
        status = INTERRUPTED
    raise typer.Exit(status)
