"""One execution of a command under `assay stat`: run, judged, kept, and the status that it ends with."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISFIFO, S_ISSOCK

from assay.cli.stat.options import Request
from assay.errors import AssayError
from assay.frozen import dataclass
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.records import Value, Verdict, VerdictState, Watched, worst
from assay.watch.as_run import External

SIGNALLED = 128


@dataclass(frozen=True, kw_only=True)
class Execution:
    """One execution that is over: what was seen, what it amounts to, what the audit says."""

    watched: Watched
    external: External
    verdicts: tuple[Verdict, ...]
    unread: str | None
    """Why the figures of a tool that was recognised could not be read."""

    @property
    def state(self) -> VerdictState:
        """The worst verdict; UNVERIFIED where there is no figure that anything could be said of."""
        return worst(verdict.state for verdict in self.verdicts) if self.verdicts else VerdictState.UNVERIFIED


def keep(lab: Path, runs: Sequence[Execution]) -> None:
    """Keep runs in a notebook and say where. Raises AssayError: the command did run, 126 and 127 would say that it did not."""
    from assay.cli.stat import saved

    try:
        print(f"assay: {saved.save(lab, tuple(runs))}", file=sys.stderr)
    except AssayError as error:
        raise AssayError(str(error)) from error


def once(request: Request, argv: tuple[str, ...]) -> Execution:
    """Run and judge a command. Raises MissingError where there is none, RefusedError where it cannot be executed."""
    from assay.hosts.local import KeptOpen
    from assay.watch import as_run, command, files, reports

    own = request.knobs is not None
    ask = command.WatchRequest(
        argv=argv,
        result_file=None if own else reports.result_file(argv),
        programs=frozenset() if own else reports.programs(argv),
        kept=request.lab is not None,
        more=request.observe,
        server=request.server,
    )
    with KeptOpen() as host:
        watched = command.watch(host, ask)
    from assay.audit import judge  # only now: nothing of it is needed while the command runs

    found, unread = reports.reported(watched, how(request, watched))
    external = as_run.external(watched, found, request.claim, files.late_extents(host, watched), fed=fed())
    verdicts = judge.judge_run(external.experiment, external.run, external.observations)
    return Execution(watched=watched, external=external, verdicts=verdicts, unread=unread)


def how(request: Request, watched: Watched) -> Mapping[str, Value] | None:
    """How the figure is found, with the direction in which more was seen to move where the caller names none."""
    if request.knobs is None:
        return None
    account = watched.account
    writes = account is not None and max(account.wchar, account.write_bytes) > max(account.rchar, account.read_bytes)
    return {**request.knobs, "direction": request.direction or ("write" if writes else "read")}


def fed() -> bool:
    """Whether the command's standard input is a pipe: what it reads from there is of no file."""
    with contextlib.suppress(OSError):
        mode = os.fstat(0).st_mode
        return S_ISFIFO(mode) or S_ISSOCK(mode)
    return False


def status(execution: Execution, gate: Gate) -> int:
    """The command's own status; a gate replaces only 0."""
    watched = execution.watched
    own = SIGNALLED + watched.signal if watched.signal is not None else (watched.status or 0)
    return BAD_VERDICT if own == 0 and execution.state in gate.bad else own
