"""One execution of a command under `assay stat`: run, judged, kept, and the status that it ends with."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from stat import S_ISFIFO, S_ISSOCK

from assay.catalogue import PATHS, find
from assay.cli.stat.commands import Command
from assay.cli.stat.options import Request
from assay.errors import AssayError
from assay.frozen import dataclass
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.records import Value, Verdict, VerdictState, Watched, worst
from assay.watch.as_run import External, ended

SIGNALLED, OUTPUT_LOST = 128, 125


@dataclass(frozen=True, kw_only=True)
class JudgedExecution:
    """One execution that is over: what was seen, what it amounts to, what the audit says."""

    watched: Watched
    external: External
    verdicts: tuple[Verdict, ...]
    unread: str | None
    """Why the figures of a tool that was recognised could not be read."""

    is_claimed: bool
    """Whether something is claimed of the figures, by the caller or of the tool by default."""
    unobserved: tuple[str, ...] = ()
    """Why observers that were asked for by name saw nothing."""

    @property
    def judged(self) -> tuple[Verdict, ...]:
        """The verdicts on what is claimed, the worst first."""
        order = list(VerdictState)
        mine = (verdict for verdict in self.verdicts if verdict.measure.split(".")[1] in self.external.judged)
        return tuple(sorted(mine, key=lambda verdict: order.index(verdict.state)))

    @property
    def state(self) -> VerdictState | None:
        """The worst verdict; UNVERIFIED where there is no figure to judge, None where nothing is claimed."""
        if not self.is_claimed:
            return None
        return worst(verdict.state for verdict in self.judged) if self.judged else VerdictState.UNVERIFIED


def keep(lab: Path, runs: Sequence[JudgedExecution]) -> None:
    """Keep runs in a notebook and say where. Raises AssayError: the command did run, 126 and 127 would say that it did not.

    The error names the command's own status, which that of the failure replaces.
    """
    from assay.cli.stat import saved

    try:
        print(f"assay: {saved.save(lab, tuple(runs))}", file=sys.stderr)
    except (AssayError, OSError) as error:
        refused = f"{lab}: not writable ({error.strerror}). Name another --save." if isinstance(error, OSError) else str(error)
        raise AssayError(f"{refused}\n{ended(runs[-1].watched) or 'the command ended with status 0'}") from error


def once(request: Request, of: Command) -> JudgedExecution:
    """Prepare, run and judge a command. Raises MissingError where there is none, RefusedError where it cannot be executed."""
    from assay.hosts.local import KeptOpen
    from assay.watch import as_run, command, files, reports

    argv = of.argv
    if of.prepare is not None:
        prepare(of.prepare)
    own = request.knobs is not None
    claims_path = request.claim is not None and request.claim.path is not None
    ask = command.WatchRequest(
        argv=argv,
        result_file=None if own else reports.result_file(argv),
        programs=frozenset() if own else reports.programs(argv),
        sockets=reports.counts_sockets(argv),
        http=reports.is_of_http(argv),
        kept=request.lab is not None,
        more=(*request.observe, *(PATHS if claims_path or reports.may_use_network(argv) else ())),
        server=request.server,
    )
    with KeptOpen() as host:
        watched = command.watch(host, ask)
    from assay.audit import judge  # only now: nothing of it is needed while the command runs

    found, unread = reports.reported(watched, how(request, watched))
    external = as_run.external(watched, found, request.claim, files.late_extents(host, watched), fed=fed())
    verdicts = judge.judge_run(external.experiment, external.run, external.observations)
    return JudgedExecution(
        watched=watched,
        external=external,
        verdicts=verdicts,
        unread=unread,
        is_claimed=request.claim is not None or external.by_default is not None,
        unobserved=tuple(unobserved(request, watched)),
    )


def prepare(text: str) -> None:
    """Run what prepares a command. Raises AssayError where it fails."""
    from assay.hosts.local import Local

    done = Local().run(("sh", "-c", text), check=False)
    if done.status != 0:
        raise AssayError(f"--prepare {text!r} ended with status {done.status}: {done.stderr.strip()}")


def unobserved(request: Request, watched: Watched) -> Iterator[str]:
    """Yield why observers that the caller names gave no evidence."""
    seen = {f"{one.layer}.{one.metric}" for one in watched.observations.series}
    for name in request.observe:
        keys = find("observers", name).gives
        reasons = (why for key in keys if (why := watched.observations.why_missing(key)) is not None)
        if seen.isdisjoint(keys) and (reason := next(reasons, None)) is not None:
            yield f"{name}: {reason}"


def how(request: Request, watched: Watched) -> Mapping[str, Value] | None:
    """How the figure is found, with the kind of bytes of which most were seen to move where the caller names none."""
    if request.knobs is None:
        return None
    from assay.watch import reports

    return {**request.knobs, "direction": request.direction or reports.busiest(watched, str(request.knobs["unit"]), fed=fed())}


def fed() -> bool:
    """Whether the command's standard input is a pipe or a device such as /dev/zero: what it reads from there is of no file."""
    from assay.watch import files

    with contextlib.suppress(OSError):
        found = os.fstat(0)
        return S_ISFIFO(found.st_mode) or S_ISSOCK(found.st_mode) or (files.is_source(found) and not os.isatty(0))
    return False


def status(execution: JudgedExecution, gate: Gate) -> int:
    """The command's own status; a gate, and an output that was lost, replace only 0."""
    watched = execution.watched
    own = SIGNALLED + watched.signal if watched.signal is not None else (watched.status or 0)
    if own == 0 and watched.stdout.refused:
        return OUTPUT_LOST
    return BAD_VERDICT if own == 0 and execution.state in gate.bad else own
