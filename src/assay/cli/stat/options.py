"""The options of `assay stat`, then the command with its arguments untouched, parsed without a library (imports cost time).

All mistakes are reported together. The command begins behind `--`, or at the first word that is no option.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from assay import records
from assay.cli.stat import commands
from assay.cli.stat.commands import Command
from assay.cli.stat.words import GATES, WHERE, StatWords, split
from assay.errors import InputErrors
from assay.laboratory.gate import Gate
from assay.records import Claim, Durability, Load, Regime, Server, ServerNode, Tier, Value

if TYPE_CHECKING:
    from assay.toml_document import Document

HELP = """\
Usage: assay stat [OPTIONS] -- COMMAND...

Run any command, and audit the figures that it reports.

The command keeps its arguments, its output and its exit status. Then a block on standard error shows the reported figures,
the bytes at each layer, the dirty data at exit, and the rules that failed.

Options:
  --claim PART=VALUE,...  The claim to audit: tier=device,durability=stable-media. Default for benchmarks of storage (dd, fio,
                          iozone ...): reads are of the device, writes are on stable media. Other commands are described.
  --reported REGEX        Find the figure in the output of a tool without a parser: first group of the last match.
  --unit UNIT             The unit of that figure: MB/s, MiB/s, Gbit/s, IOPS, ms ...
  --direction WHICH       read, write, send, receive or request, for --reported. Default: the direction with more observed bytes.
  --observe NAME,...      Add observers (assay catalogue): tracepoints attributes flushes and pages to processes. Adds their cost.
  --server PART=VALUE,...  The local server of which the command is a client: pid_file=FILE or cgroup=GROUP, and its data=DIR,
                          address=IP. Its page cache, CPUs and network are audited too.
  --json=FILE             Write JSON to FILE (docs/stat-json.md).
  --save[=LAB]            Keep the run in a notebook: as a repeat of its command, or as another variant.
  --lab DIR               The notebook of --save. Default: $ASSAY_LAB, else ./lab.
  --repeat N              Run the command N times; show the mean and its confidence interval first.
  --vs 'OTHER COMMAND'    Run both in changing order (5 times each, or --repeat N); show the ratio. May be repeated.
  --parameter-scan NAME=VALUE,...  Run the command with each value (or FROM..TO) in place of {NAME}; the first is the baseline.
  --prepare 'COMMAND'     Run this in a shell before each run; it is not measured.
  --warmup N              Run each command N times before the runs that count.
  --export FILE           Write the means, intervals and ratios of all commands to FILE.csv or FILE.md.
  --gate[=strict|worse]   Exit 3 on a TAINTED or INVALID figure (strict: UNVERIFIED too), if the command's status is 0. Needs a
                          claim, by --claim or of the tool by default. worse: exit 4 if a command of --vs is shown to be
                          more than 5 % worse than the first one, whatever noise there was.
  -h, --help              Show this.

Exit status: the command's own, 128+N after signal N; 125 if assay itself failed, 126 if the command cannot be executed, 127 if
it does not exist.
"""
LAB = "lab"
DIRECTIONS = ("read", "write", "send", "receive", "request")
CLAIM_PARTS: dict[str, type[StrEnum]] = {
    "tier": Tier,
    "durability": Durability,
    "load": Load,
    "regime": Regime,
    "path": records.Path,
}
SERVER_PARTS = ("pid_file", "cgroup", "data", "address")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked for."""

    argv: tuple[str, ...]
    claim: Claim | None = None
    knobs: Mapping[str, Value] | None = None
    """Those of the workload `command` that say how the figure is found in the output; None: by the tool's parser."""
    direction: str | None = None
    observe: tuple[str, ...] = ()
    """Observers beyond the usual ones."""
    server: Server | None = None
    json_to: str | None = None
    lab: Path | None = None
    """The notebook in which the runs are kept."""
    repeat: int = 1
    warmup: int = 0
    """How often each command runs before its runs count."""
    commands: tuple[Command, ...] = ()
    """All commands, the baseline first."""
    export: Path | None = None
    """The file for the table of all commands."""
    gate: Gate = Gate.OFF
    help: bool = False


def read(words: Sequence[str], usual: Mapping[str, str] | None = None) -> Request:
    """Parse the words of a call; `usual` are the user's defaults of options. Raises InputErrors with every mistake."""
    typed = split(words)
    if "help" in typed.options:
        return Request(argv=(), help=True)
    if not typed.command:
        typed.wrong("no command", "one behind `--`: assay stat -- dd if=FILE of=/dev/null bs=1M")
    request = Request(
        argv=typed.command,
        claim=claim(typed),
        knobs=knobs(typed),
        direction=typed.options.get("direction"),
        observe=observers(typed),
        server=server(typed),
        json_to=json_file(typed),
        lab=lab(typed, (usual or {}).get(LAB, LAB)),
        repeat=commands.repeats(typed),
        warmup=commands.warmups(typed),
        commands=commands.commands(typed),
        export=commands.export_file(typed),
        gate=GATES.get(typed.options.get("gate", "off"), Gate.OFF),
    )
    nothing_to_gate(typed, request)
    if typed.mistakes:
        raise InputErrors(dict.fromkeys(typed.mistakes))
    return request


def nothing_to_gate(typed: StatWords, request: Request) -> None:
    """Note a gate on figures of which nothing is claimed: before the command starts."""
    if request.gate is Gate.WORSE:
        if len(request.commands) < 2:
            typed.wrong("--gate=worse without another command", "--vs 'OTHER COMMAND' with it")
        return
    if request.gate is Gate.OFF or "claim" in typed.options:
        return
    from assay.watch.reports import presumed

    for command in request.commands:
        if command.argv and presumed(command.argv) is None:
            typed.wrong(
                f"--gate without a claim ({command.argv[0]} has none by default)", "--claim tier=device,durability=stable-media"
            )


def claim(typed: StatWords) -> Claim | None:
    """Return the claim of the call."""
    text = typed.options.get("claim")
    if text is None:
        return None
    from assay.toml_document import Document

    return claimed(Document(file=WHERE, values={}, places={}, mistakes=typed.mistakes), text)


def claimed(document: Document, text: str) -> Claim:
    """Return the claim that a text makes; note in the document what is wrong in it."""
    from assay.toml_document import one_of

    values: dict[str, StrEnum] = {}
    for word in text.split(","):
        part, equals, value = (piece.strip() for piece in word.partition("="))
        if not equals or part not in CLAIM_PARTS:
            document.wrong((), f"{word.strip()!r} in --claim", f"PART=VALUE, PART {one_of(CLAIM_PARTS, part)}")
        elif part in values:
            document.wrong((), f"{part!r} twice in --claim", "each part once")
        elif value not in list(CLAIM_PARTS[part]):
            document.wrong((), f"{value!r} for {part!r} in --claim", one_of([str(one) for one in CLAIM_PARTS[part]], value))
        else:
            values[part] = CLAIM_PARTS[part](value)
    return Claim(**values)  # type: ignore[arg-type]  # each part has its own type, as CLAIM_PARTS says


def knobs(typed: StatWords) -> Mapping[str, Value] | None:
    """Return the knobs that find the figure in the output, where the caller gives them."""
    pattern, unit, direction = (typed.options.get(name) for name in ("reported", "unit", "direction"))
    if direction is not None and direction not in DIRECTIONS:
        typed.wrong(f"--direction {direction}", f"one of {', '.join(DIRECTIONS)}")
    if pattern is None:
        for name, value in (("unit", unit), ("direction", direction)):
            if value is not None:
                typed.wrong(f"--{name} without --reported", "--reported REGEX, which finds the figure")
        return None
    if unit is None:
        typed.wrong("--reported without --unit", "--unit with the unit of the figure: MB/s, IOPS, ms ...")
    found: dict[str, Value] = {"argv": typed.command or ("",), "parse": "regex", "pattern": pattern, "unit": unit or ""}
    from assay import catalogue

    check = catalogue.find("workloads", "command").check
    for mistake in check(found) if check is not None else ():
        problem, _, expected = mistake.removeprefix("found ").partition("; expected ")
        if not problem.startswith("{"):  # braces of the command's own are no placeholders here
            typed.wrong(problem, expected)
    return found


def observers(typed: StatWords) -> tuple[str, ...]:
    """Return the additional observers."""
    wanted = tuple(name for name in typed.options.get("observe", "").split(",") if name)
    if not wanted and "observe" not in typed.options:
        return ()
    from assay import catalogue

    known = catalogue.names("observers")
    for name in wanted or ("",):
        if name not in known:
            typed.wrong(f"--observe {name}", f"one or more of {', '.join(known)}")
    return wanted


def server(typed: StatWords) -> Server | None:
    """Return the server of which the command is a client."""
    text = typed.options.get("server")
    if text is None:
        return None
    pairs = [part.partition("=")[::2] for part in text.split(",")]
    for name, value in pairs:
        if name not in SERVER_PARTS or not value:
            typed.wrong(f"--server {name}={value}", f"parts {'=..., '.join(SERVER_PARTS)}=...")
    found = dict(pairs)
    if not found.get("pid_file") and not found.get("cgroup"):
        typed.wrong("--server without processes", "pid_file=FILE or cgroup=GROUP")
    data = tuple(str(Path(value).absolute()) for name, value in pairs if name == "data" and value)
    node = ServerNode(pid_file=found.get("pid_file"), cgroup=found.get("cgroup"), data=data, address=found.get("address"))
    return Server(nodes=(node,))


def json_file(typed: StatWords) -> str | None:
    """Return the file for JSON: standard output belongs to the command."""
    path = typed.options.get("json")
    if path in ("", "-"):
        typed.wrong("--json without a file", "--json=FILE: standard output belongs to the command")
    elif path is not None and not Path(path).absolute().parent.is_dir():
        typed.wrong(f"no directory for --json {path}", "one that exists")
    return path


def lab(typed: StatWords, usual: str) -> Path | None:
    """Return the notebook in which to keep the runs: the named one, else the notebook of every other verb."""
    if "save" not in typed.options:
        if "lab" in typed.options:
            typed.wrong("--lab without --save", "both, or neither")
        return None
    found = Path(typed.options["save"] or typed.options.get("lab") or os.environ.get("ASSAY_LAB") or usual).absolute()
    if found.exists() and not found.is_dir():
        typed.wrong(f"--save={found}, which is no directory", "a directory, or a free name")
    elif not found.parent.is_dir():
        typed.wrong(f"no directory for --save={found}", "one that exists")
    return found
