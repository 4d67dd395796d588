"""The verbs of live directory servers and of their traffic; each imports what it needs when it is called."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import (
    NOTEBOOK,
    CaptureArgument,
    DurationOption,
    GateOption,
    InterfaceOption,
    JsonOption,
    LabOption,
    LevelOption,
    LinkOption,
    LoadProfileOption,
    PageOption,
    PortOption,
    finish,
    json_file,
)
from assay.errors import RefusedError, refuse
from assay.laboratory.gate import Gate
from assay.terminal.output import STANDARD_OUTPUT, standard_output


def dsio(
    pid: Annotated[int | None, typer.Option("-P", "--pid", metavar="PID", help="The server; default: the only one.")] = None,
    codes: Annotated[bool, typer.Option("-l", "--ldap", help="Show result codes and entries, too.")] = False,
    reads: Annotated[bool, typer.Option("-r", "--reads", help="Show reads only.")] = False,
    writes: Annotated[bool, typer.Option("-w", "--writes", help="Show writes only.")] = False,
    interval: Annotated[
        str | None, typer.Option("--interval", metavar="T", help='Show each interval: "5 s". Default: the end alone.')
    ] = None,
    duration: Annotated[str | None, typer.Option("--duration", metavar="T", help='End after "60 s". Default: Ctrl-C.')] = None,
    csv_to: Annotated[
        str | None, typer.Option("--csv", metavar="[=FILE]", callback=json_file, help="Write CSV, as --json does.")
    ] = None,
    json_to: JsonOption = None,
) -> None:
    """Count the I/O of each operation of a live directory server.

    slapd or ns-slapd, traced until Ctrl-C: operations, times, reads, writes, flushes and requests to devices.
    Shows apart what belongs to no operation, such as the journal. Needs root and bpftrace."""
    from assay.cli import dsio as verb

    request = verb.DsioRequest(
        pid=pid,
        codes=codes,
        reads=reads,
        writes=writes,
        interval=interval,
        duration=duration,
        csv_to=csv_to,
        json_to=json_to,
    )
    finish(lambda: verb.dsio(request))


def dissect(
    files: CaptureArgument = None,
    interface: InterfaceOption = None,
    duration: DurationOption = None,
    port: PortOption = None,
    link: LinkOption = None,
    sla: LevelOption = None,
    html: PageOption = None,
    profile: LoadProfileOption = None,
    attributes: Annotated[bool, typer.Option("--attributes", help="Keep attribute names in the profile.")] = False,
    save: Annotated[bool, typer.Option("--save", help="Keep the result in the notebook, for `assay sql`.")] = False,
    lab: LabOption = NOTEBOOK,
    json_to: JsonOption = None,
    gate: GateOption = Gate.OFF,
) -> None:
    """Show the LDAP operations in a network capture.

    Operations, response times, result codes, filters, clients; in one pass and constant memory. Never keeps a password."""
    from assay.cli import dissect as verb

    words = verb.CaptureWords(files=files, interface=interface, duration=duration, ports=port, link=link, levels=sla)
    outputs = verb.CaptureOutputs(html=html, profile=profile, attributes=attributes, lab=lab if save else None, json_to=json_to)
    finish(lambda: verb.dissect(words, outputs, gate))


def ldif(
    entries: Annotated[
        str, typer.Option("--entries", metavar="N", help="Number of entries, besides suffix and units.")
    ] = "10000",
    template: Annotated[
        str, typer.Option("--template", metavar="NAME", help="person, or account with login and password.")
    ] = "person",
    seed: Annotated[str, typer.Option("--seed", metavar="N", help="The same bytes for the same seed.")] = "1",
    base: Annotated[str, typer.Option("--base", metavar="DN", help="The suffix of the directory.")] = "dc=example,dc=com",
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The file; `-` is standard output.")] = STANDARD_OUTPUT,
) -> None:
    """Write the entries of a directory as LDIF.

    A smaller population is the beginning of a larger one with the same seed. An entry is named uid=u00000000,ou=people,BASE and
    so on. The targets ldap_openldap and ldap_389ds are filled with the same entries."""
    words = {"--entries": entries, "--template": template, "--seed": seed, "--base": base}
    finish(lambda: _write_population(words, out))


def _write_population(words: dict[str, str], out: str) -> int:
    """Become the engine, which writes the population. Raises UsageError with every mistake, RefusedError for the file."""
    from assay.machine.engine_file import engine_path

    refuse([*_population_mistakes(words, out)])
    argv = [str(engine_path()), "ldif", *(text for pair in words.items() for text in pair)]
    if out != STANDARD_OUTPUT:
        try:
            descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        except OSError as error:
            raise RefusedError(f"{out}: not written ({error.strerror}). Check permissions and free space.") from error
        _past_the_cache(descriptor)
        os.dup2(descriptor, 1)
        argv += ["--output", out]
    with standard_output() as stream:
        os.write(stream.fileno(), b"")  # the engine takes a closed one for one that nobody reads
    os.execv(argv[0], argv)  # noqa: S606 - our own engine, with checked words


def _past_the_cache(descriptor: int) -> None:
    """Let a file be written past the page cache, where its file system has direct I/O; in a pipe that flag means packets."""
    import contextlib
    import fcntl
    import stat

    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_DIRECT)


def _population_mistakes(words: dict[str, str], out: str) -> Iterator[str]:
    """Yield what is wrong with the words of a call."""
    from assay.machine import population

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
