"""`assay serve`: a notebook in the browser, read-only, for who has the token."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import NOTEBOOK, JsonOption, LabOption, finish
from assay.terminal.output import deliver

PORT = 8640


def serve(
    lab: LabOption = NOTEBOOK,
    bind: Annotated[
        str, typer.Option("--bind", metavar="ADDRESS", help="Listen here. Default: this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0 takes a free port.")] = PORT,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="Take the token from a private file.")
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the pages in the browser.")] = False,
    json_to: JsonOption = None,
) -> None:
    """Show the notebook in a browser, until Ctrl-C.

    Experiments, runs, verdicts, reports, a running trial, SQL, and metrics for Prometheus; changes nothing.
    Every page needs the token of the address that is printed."""
    finish(lambda: run(lab, (bind, port), token_file, json_to, open_it=open_it))


def run(lab: Path, place: tuple[str, int], token_file: Path | None, json_to: str | None, *, open_it: bool) -> int:
    """Serve until Ctrl-C. Gives 0. Raises UsageError where there is no notebook, MissingError, RefusedError."""
    from assay.errors import UsageError
    from assay.serve import server

    if not lab.is_dir():
        raise UsageError(f"found no notebook at {lab}; expected a directory that `assay run` or `assay quick` wrote (--lab)")

    def ready(opened: server.Opened) -> None:
        values = {"url": opened.url, "token": opened.token, "pid": os.getpid(), "lab": str(lab.resolve())}
        deliver(json_to, "serve", lambda: values, lambda: f"{opened.url}\nCtrl-C ends it.")
        sys.stdout.flush()
        if not opened.is_local:
            print(
                "assay: reachable from other machines, and not encrypted: who reads the network reads the token", file=sys.stderr
            )
        if not opened.is_counted:
            print("assay: no locks on this file system: a running experiment counts this as another program", file=sys.stderr)
        if not opened.is_confined:
            print("assay: no Landlock in this kernel: only Assay itself keeps the pages from files outside", file=sys.stderr)
        if open_it:
            import webbrowser

            webbrowser.open(opened.url)

    server.serve(lab, *place, token_file, ready)
    return 0
