"""The verbs of live directory servers and of their traffic; each imports what it needs when it is called."""

from __future__ import annotations

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
from assay.laboratory.gate import Gate


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
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="The file; `-` is standard output.")] = "-",
) -> None:
    """Write the entries of a directory as LDIF.

    A smaller population is the beginning of a larger one with the same seed. An entry is named uid=u00000000,ou=people,BASE and
    so on. The targets ldap_openldap and ldap_389ds are filled with the same entries."""
    from assay.cli.ldif import write

    words = {"--entries": entries, "--template": template, "--seed": seed, "--base": base}
    finish(lambda: write(words, out))
