"""`assay stat -- COMMAND...`: any command, watched while it runs; then what its number really measured.

Standard output and the exit status are the command's own: what Assay says goes to standard error. What fails here ends with 125,
126 or 127, as with env(1).
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from stat import S_ISFIFO, S_ISSOCK

from assay.cli import stat_words
from assay.cli.folded import say
from assay.cli.gate import BAD_VERDICT, Gate
from assay.cli.stat_words import Request
from assay.errors import AssayError, MissingError, RefusedError
from assay.fleet.told import Foreign
from assay.frozen import dataclass
from assay.records import Value, Verdict, VerdictState, Watched, worst

FAILED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127
SIGNALLED = 128
BAD = frozenset({VerdictState.TAINTED, VerdictState.INVALID})


@dataclass(frozen=True, kw_only=True)
class Told:
    """One execution that is over: what was seen, what it amounts to, what the audit says."""

    watched: Watched
    foreign: Foreign
    verdicts: tuple[Verdict, ...]
    unread: str | None
    """Why the figures of a tool that was recognised could not be read."""

    @property
    def state(self) -> VerdictState:
        """The worst verdict; UNVERIFIED where there is no figure that anything could be said of."""
        return worst(verdict.state for verdict in self.verdicts) if self.verdicts else VerdictState.UNVERIFIED


def stat(words: Sequence[str]) -> int:
    """Do what the words say; the exit status. Every known error is told in words."""
    try:
        request = stat_words.read(words)
        if request.help:
            print(stat_words.HELP, end="")
            return 0
        return conducted(request)
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


def complain(error: Exception, status: int) -> int:
    """Say what went wrong; each mistake in the words has its own line, which begins with the verb."""
    said = str(error)
    say(said if said.startswith(stat_words.WHERE) else f"assay: {said}", sys.stderr)
    return status


def conducted(request: Request) -> int:
    """One execution, or as many as are asked for."""
    if request.other is not None or request.repeat > 1:
        from assay.cli.stat_repeated import repeated

        return repeated(request)
    from assay.cli import stat_shown

    told = once(request, request.argv)
    say("\n".join(stat_shown.block(told)), sys.stderr)
    if request.json_to is not None:
        from assay.cli import stat_json

        stat_json.write(request.json_to, stat_json.plain(told))
    if request.lab is not None:
        keep(request.lab, (told,))
    return status(told, request.gate)


def keep(lab: Path, runs: Sequence[Told]) -> None:
    """Keep runs in a notebook and say where. Raises AssayError: the command did run, 126 and 127 would say that it did not."""
    from assay.cli import stat_saved

    try:
        print(f"assay: {stat_saved.save(lab, tuple(runs))}", file=sys.stderr)
    except AssayError as error:
        raise AssayError(str(error)) from error


def once(request: Request, argv: tuple[str, ...]) -> Told:
    """Run and judge a command. Raises MissingError where there is none, RefusedError where it cannot be executed."""
    from assay.fleet import extents, reported, told, watch
    from assay.fleet.hosts.kept import KeptOpen

    own = request.knobs is not None
    ask = watch.Ask(
        argv=argv,
        result_file=None if own else reported.result_file(argv),
        programs=frozenset() if own else reported.programs(argv),
        observers=watch.OBSERVERS if request.lab is None else watch.KEPT_OBSERVERS,
        more=request.observe,
        server=request.server,
    )
    with KeptOpen() as host:
        watched = watch.watch(host, ask)
    from assay.audit import judge  # only now: nothing of it is needed while the command runs

    found, unread = reported.reported(watched, how(request, watched))
    foreign = told.foreign(watched, found, request.claim, extents.late(host, watched), fed=fed())
    verdicts = judge.judge_run(foreign.experiment, foreign.run, foreign.observations)
    return Told(watched=watched, foreign=foreign, verdicts=verdicts, unread=unread)


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


def status(told: Told, gate: Gate) -> int:
    """The command's own status; a gate replaces only 0."""
    watched = told.watched
    own = SIGNALLED + watched.signal if watched.signal is not None else (watched.status or 0)
    bad = BAD | ({VerdictState.UNVERIFIED} if gate is Gate.STRICT else set())
    return BAD_VERDICT if own == 0 and gate is not Gate.OFF and told.state in bad else own
