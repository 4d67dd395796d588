"""One execution of a watched command: the request, what is known before the exec and after the end, and the record of it."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.catalogue import Evidence, Host, Observer
from assay.evidence.snapshots import Origin, Points, counter, gauge
from assay.frozen import dataclass
from assay.hosts.exits import CUT_BYTES
from assay.records import (
    Direction,
    Edge,
    FileGrowth,
    Gap,
    Observations,
    OpenedFile,
    Place,
    Reading,
    Rung,
    Series,
    Server,
    Subject,
    TreeAccount,
    Watched,
    missing_on,
)
from assay.sampler import Sampler, Seen
from assay.watch import files, own_files, process_tree, trees
from assay.watch.files import Drain
from assay.watch.groups import Groups
from assay.watch.own_files import OwnFiles
from assay.watch.process_tree import SOURCE, Recorded, Tree
from assay.watch.relay import StreamCopy
from assay.watch.reports import PHASE
from assay.watch.traces import TreeTracker

if TYPE_CHECKING:
    from assay.watch.http import AnswerLooks

QUIET_NS = 250_000_000
LINGER_NS = 5_000_000_000


@dataclass(frozen=True, kw_only=True)
class WatchRequest:
    """What is to be run and how it is to be watched."""

    argv: tuple[str, ...]
    directory: str = "."
    result_file: str | None = None
    """The file into which the tool writes its result; read after the command's end."""
    programs: frozenset[str] = frozenset()
    """Programs whose calls in the tree are to be known one by one."""
    sockets: bool = True
    """Whether bytes of sockets are to be counted, which costs each call on a socket 0.2 µs."""
    observers: tuple[str, ...] = ()
    """Their names; none: those that declare when they watch a command (`Observer.watch`)."""
    kept: bool = False
    """Whether the run is kept, to be compared with others."""
    more: tuple[str, ...] = ()
    """Observers that are asked for by name, whatever they cost."""
    http: bool = False
    """Whether answers of the server of HTTP that the words name are to be looked at."""
    server: Server | None = None
    """The server that the command is a client of, where it is a process of this machine."""
    pass_through: bool = True
    """Whether its output goes on to our own standard output and standard error."""
    quiet_ns: int = QUIET_NS
    """How long others are watched before the exec, for the rate at which they use the same devices."""
    linger_ns: int = LINGER_NS
    """How long processes that outlive the command are waited for; then their account is a lower bound."""


@dataclass(frozen=True, kw_only=True)
class Preparation:
    """What is known before the exec."""

    host: Host
    ask: WatchRequest
    directory: str
    was: tuple[files.Before, ...]
    places: tuple[Place, ...]
    observers: tuple[Observer, ...]
    tees: tuple[StreamCopy, StreamCopy]
    groups: Groups
    tree: Tree
    inherited: dict[str, bool]
    own: OwnFiles
    """The files of programs as they were before."""
    named: trees.Known
    """What arguments name, directories too."""
    result_was: files.Identity | None = None
    """The file into which the tool is to write its result, as it was before."""


@dataclasses.dataclass(kw_only=True)
class Execution:
    """What becomes known while the command runs."""

    pid: int
    tracker: TreeTracker
    started_utc: str = ""
    ended_utc: str = ""
    t0_ns: int = 0
    ended_ns: int = 0
    status: int | None = None
    """As wait4 gives it; None while the command runs."""
    looks: AnswerLooks | None = None
    hurried: bool = False
    """Whether we were told to end after the command had ended."""

    @property
    def elapsed_ns(self) -> int:
        """From exec to the end of the last process."""
        return self.ended_ns - self.t0_ns


PAGE_BYTES = 4096
"""The kernel counts whole pages: a byte at each end of a transfer may count for a page."""
RECORDS_SOURCE = "tree:taskstats"
OVER_TIME = ("read_bytes", "write_bytes", "cancelled_write_bytes")
MOST_POINTS = 4096


def account_readings(
    origin: Origin, pid: int, account: TreeAccount, elapsed_ns: int, records: Recorded | None
) -> Iterator[Reading]:
    """Yield what the tree asked for and what its own cache did not answer, from exec to the end of its last process.

    `records` are the exit records where they had to stand in for accounts that nobody has; they do not count calls exactly.
    """
    cut = CUT_BYTES * records.tasks if records is not None else 0
    wanted = (
        (Rung.SYSCALL, Direction.READ, account.rchar, account.syscr, 0),
        (Rung.SYSCALL, Direction.WRITE, account.wchar, account.syscw, 0),
        (Rung.CLIENT_CACHE, Direction.READ, account.read_bytes, None, PAGE_BYTES + account.doubtful_read_bytes),
        (Rung.CLIENT_CACHE, Direction.WRITE, account.write_bytes, None, PAGE_BYTES),
    )
    for rung, direction, amount, calls, uncertainty in wanted:
        yield Reading(
            phase=origin.phase,
            rung=rung,
            source=SOURCE if records is None else RECORDS_SOURCE,
            host=origin.host,
            subject=f"pid:{pid}",
            direction=direction,
            bytes=amount,
            operations=calls if records is None else None,
            from_ns=0,
            to_ns=elapsed_ns,
            uncertainty_bytes=uncertainty + cut,
        )


def account_series(
    origin: Origin, pid: int, account: TreeAccount, seen: tuple[int, Sequence[tuple[int, Mapping[str, int]]]]
) -> Iterator[Series]:
    """Yield the tree's bytes over time: nothing at exec, the account at the end (ns), what was seen between (ns, counters)."""
    elapsed_ns, points = seen
    every = max(1, -(-len(points) // MOST_POINTS))
    for metric in OVER_TIME:
        between = [(at, found[metric]) for at, found in points[::every]]
        whole = [(0, 0), *between, (elapsed_ns, getattr(account, metric))]
        yield counter(origin, f"pid:{pid}", metric, "bytes", rising(whole))


def rising(points: Points) -> Points:
    """Return a counter that does not fall: a child's I/O is missing while its account goes to its parent."""
    last = points[-1][1]  # the whole account
    highest = 0.0
    found = []
    for at, value in points:
        highest = min(last, max(highest, value))
        found.append((at, highest))
    return found


LATE_FILES = 64
"""Of the files that were not known beforehand, so many are looked at by the observer of the page cache, large ones first."""
LATE_AT_ONCE = 16
"""As many as that observer looks at in one phase."""


@dataclass(frozen=True, kw_only=True)
class Aftermath:
    """What was found and done between the end of the last process and the look after the drain."""

    files: tuple[OpenedFile, ...]
    drain: Drain | None
    drained_bytes: int | None
    late: tuple[Sampler, ...]
    """What looked at the files that were not known beforehand."""
    grown: tuple[FileGrowth, ...] = ()

    def evidence(self, phase: str, t0_ns: int) -> Iterator[Evidence]:
        """Yield what the late looks saw, without what those looks cost."""
        for sampler in self.late:
            yield sampler.seen(phase, t0_ns).evidence


def settle(
    host: Host, sampler: Sampler, was: Sequence[files.Before], used: Mapping[str, bool], observers: Sequence[Observer]
) -> Aftermath:
    """Look, flush what was written, look again. `used` maps each touched path to whether it was written."""
    found = files.after(host, was, used)
    late = tuple(Sampler(host, observers, Subject(paths=paths)) for paths in unknown(was, found))
    written = [one.path for one in found if one.written]
    _look((sampler, *late), Edge.LAST)
    drain = files.drain(host, written)
    _look((sampler, *late), Edge.DRAINED)
    return Aftermath(files=found, drain=drain, drained_bytes=_drained(host, found) if drain else None, late=late)


def unknown(was: Sequence[files.Before], found: Sequence[OpenedFile]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of which nobody knew before the exec, in groups that one observer can look at."""
    known = {one.path for one in was if one.identity is not None}
    paths = iter([one.path for one in found if one.path not in known and files.regular(one.path)][:LATE_FILES])
    while group := tuple(itertools.islice(paths, LATE_AT_ONCE)):
        yield group


def _look(samplers: Sequence[Sampler], edge: Edge) -> None:
    for sampler in samplers:
        sampler.edge(edge)


def _drained(host: Host, found: Sequence[OpenedFile]) -> int | None:
    """Return bytes that were dirty at the end and are not any more; None where that is not known of every written file."""
    pairs = [(one.dirty_bytes, files.dirty(files.pages(host, one.path))) for one in found if one.written]
    known = [(before, now) for before, now in pairs if before is not None and now is not None]
    return sum(max(0, before - now) for before, now in known) if len(known) == len(pairs) else None


MOST_RESULT_BYTES = 4 << 20
"""A larger file is no result of a tool: `dd if=data > copy` sends its data there."""
NO_ACCOUNT = "this kernel keeps no /proc/PID/io (CONFIG_TASK_IO_ACCOUNTING)"


def concluded(
    stage: Preparation, life: Execution, after: Aftermath, seen: tuple[Seen, Sequence[Evidence]], began_cpu_ns: int
) -> Watched:
    """Return the record of one execution; `seen` is what the observers saw, and the facts with what is missing."""
    tracker = life.tracker
    account = account_of(stage, life, after) if Path("/proc/self/io").exists() else None
    look, facts = seen
    held = bool(stage.tree.lost.get(process_tree.STILL_RUNS))
    stdout, stderr = (tee.finish(held=held) for tee in stage.tees)
    made = [look.evidence, *after.evidence(PHASE, life.t0_ns), *facts]
    if account is not None:
        made.append(account_evidence(stage, life, account))
    status = life.status if life.status is not None else 0
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return Watched(
        argv=stage.ask.argv,
        directory=stage.directory,
        status=None if killed is not None else os.WEXITSTATUS(status),
        signal=killed,
        started_utc=life.started_utc,
        ended_utc=life.ended_utc,
        t0_mono_ns=life.t0_ns,
        elapsed_ns=life.elapsed_ns,
        stdout=stdout,
        stderr=stderr,
        result=result_text(stage),
        account=account,
        account_missing=None if account is not None else NO_ACCOUNT,
        files=after.files,
        grown=after.grown,
        files_missing=files_missing(life, account, after),
        drain_ns=after.drain.took_ns if after.drain else None,
        drained_bytes=after.drained_bytes,
        places=stage.places,
        observations=together(stage.host.name, made, look.gaps),
        lived=tracker.call_tracker.lived(life.t0_ns, life.ended_ns) if tracker.call_tracker else (),
        is_connected=tracker.is_connected,
        holds_socket=tracker.holds_socket,
        http=life.looks.seen() if life.looks else None,
        own_cpu_ns=time.process_time_ns() - began_cpu_ns,
    )


def account_of(stage: Preparation, life: Execution, after: Aftermath) -> TreeAccount:
    """Return what the tree used, without what its programs made storage read of themselves."""
    account = stage.tree.account(life.tracker.recorded(), life.tracker.of_no_file())
    data = [one.path for one in after.files if not one.written]
    own = own_files.read(stage.host, stage.own, life.tracker.opened_files(), data, account)
    return dataclasses.replace(
        account,
        read_bytes=account.read_bytes - own.sure_bytes,
        own_read_bytes=own.sure_bytes,
        doubtful_read_bytes=own.doubtful_bytes,
        beside_data_read_bytes=own.beside_data_bytes,
    )


def result_text(stage: Preparation) -> str | None:
    """The text of the file into which the tool wrote its result; None where it wrote none (what an earlier call left there does
    not count), or data instead.
    """
    if stage.ask.result_file is not None:
        path = Path(stage.directory, stage.ask.result_file)
        with contextlib.suppress(OSError):
            written = files.identity(str(path)) != stage.result_was
            return stage.host.read(str(path)) if written and path.stat().st_size <= MOST_RESULT_BYTES else None
    return None


def account_evidence(stage: Preparation, life: Execution, account: TreeAccount) -> Evidence:
    """Rungs L1 and L2 of the tree, and its bytes over time."""
    origin = Origin(host=stage.host.name, phase=PHASE, source=process_tree.SOURCE, layer="process")
    recorded = life.tracker.recorded()
    used = recorded if recorded is not None and process_tree.exceeds(stage.tree.io, recorded) else None
    points = [(at - life.t0_ns, found) for at, found in life.tracker.points if life.t0_ns < at < life.ended_ns]
    gauges = {"cpus_allowed": len(stage.groups.cpus), "other_network": int(stage.groups.other_network)}
    if (files_open := stage.groups.open_files) is not None:
        gauges |= {"open_files": files_open.open, "open_files_limit": files_open.limit}
    return Evidence(
        readings=tuple(account_readings(origin, life.pid, account, life.elapsed_ns, used)),
        series=(
            *account_series(origin, life.pid, account, (life.elapsed_ns, points)),
            *(gauge(origin, f"pid:{life.pid}", name, "count", [(0, value)]) for name, value in gauges.items()),
        ),
    )


def together(host: str, made: Sequence[Evidence], gaps: Mapping[str, int]) -> Observations:
    """Return all evidence; what one source has is not missing because another one lacks it."""
    series = tuple(one for evidence in made for one in evidence.series)
    readings = tuple(one for evidence in made for one in evidence.readings)
    there = {f"{one.layer}.{one.metric}" for one in series} | {f"{one.rung}.{one.direction}" for one in readings}
    reasons = {key: reason for evidence in made for key, reason in evidence.missing.items() if key not in there}
    return Observations(
        readings=readings,
        series=series,
        facts=tuple(one for evidence in made for one in evidence.facts),
        missing=missing_on(host, PHASE, reasons),
        gaps=tuple(Gap(host=host, phase=PHASE, observer=name, thousandths=gap) for name, gap in gaps.items()),
    )


def files_missing(life: Execution, account: TreeAccount | None, after: Aftermath) -> str | None:
    """Return why not every file that was written may be known; None where the known ones hold all that was dirtied."""
    rest = None if account is None else files.unknown_bytes(account, after.files)
    proved = account is not None and rest == 0 and not account.lost
    reasons = [] if proved else list(life.tracker.gaps())
    if reasons and rest:
        reasons.append(f"{rest} bytes dirtied in unknown files")
    mounted, refused = life.tracker.mounted(all_known=proved), after.drain.refused if after.drain else ()
    return "; ".join((*reasons, *((mounted,) if mounted else ()), *refused)) or None
