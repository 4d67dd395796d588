"""What a watched command comes to: its status, its output, its account, the files it touched, all evidence together."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.catalogue import Evidence
from assay.evidence.snapshots import Origin
from assay.observing.sampler import Seen
from assay.records import Gap, Observations, Stream, TreeAccount, Watched, missing_on
from assay.watch import account as accounted
from assay.watch import files, process_tree
from assay.watch.aftermath import Aftermath
from assay.watch.request import PHASE, Life, Stage

MOST_RESULT_BYTES = 4 << 20
"""A larger file is no result of a tool: `dd if=data > copy` sends its data there."""
NO_ACCOUNT = "this kernel keeps no /proc/PID/io (CONFIG_TASK_IO_ACCOUNTING)"


def concluded(stage: Stage, life: Life, after: Aftermath, seen: tuple[Seen, Sequence[Evidence]], began_cpu_ns: int) -> Watched:
    """The record of one execution; `seen` is what the observers saw, and the facts with what is missing."""
    account = stage.tree.account(life.trail.recorded()) if Path("/proc/self/io").exists() else None
    look, others = seen
    stdout, stderr = said(stage)
    made = [look.evidence, *after.evidence(PHASE, life.t0_ns), *others]
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
        result=result(stage),
        account=account,
        account_missing=None if account is not None else NO_ACCOUNT,
        files=after.files,
        files_missing=files_missing(life, account, after),
        drain_ns=after.drain.took_ns if after.drain else None,
        drained_bytes=after.drained_bytes,
        places=stage.places,
        observations=together(stage.host.name, made, look.gaps),
        lived=life.trail.meeting.lived(life.t0_ns, life.ended_ns) if life.trail.meeting else (),
        own_cpu_ns=time.process_time_ns() - began_cpu_ns,
    )


def said(stage: Stage) -> tuple[Stream, Stream]:
    """What came out of standard output and standard error."""
    first, second = (tee.finish(held=bool(stage.tree.lost.get(process_tree.STILL_RUNS))) for tee in stage.tees)
    return first, second


def result(stage: Stage) -> str | None:
    """The text of the file into which the tool wrote its result; None where it wrote none (what an earlier call left there does
    not count), or data instead.
    """
    if stage.ask.result_file is not None:
        path = Path(stage.directory, stage.ask.result_file)
        with contextlib.suppress(OSError):
            written = files.identity(str(path)) != stage.result_was
            return stage.host.read(str(path)) if written and path.stat().st_size <= MOST_RESULT_BYTES else None
    return None


def account_evidence(stage: Stage, life: Life, account: TreeAccount) -> Evidence:
    """Rungs L1 and L2 of the tree, and its bytes over time."""
    origin = Origin(host=stage.host.name, phase=PHASE, source=process_tree.SOURCE, layer="process")
    recorded = life.trail.recorded()
    used = recorded if recorded is not None and process_tree.exceeds(stage.tree.io, recorded) else None
    points = [(at - life.t0_ns, found) for at, found in life.trail.points if life.t0_ns < at < life.ended_ns]
    return Evidence(
        readings=tuple(accounted.readings(origin, life.pid, account, life.elapsed_ns, used)),
        series=tuple(accounted.series(origin, life.pid, account, (life.elapsed_ns, points))),
    )


def together(host: str, made: Sequence[Evidence], gaps: Mapping[str, int]) -> Observations:
    """All evidence; what one source has is not missing because another one lacks it."""
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


def files_missing(life: Life, account: TreeAccount | None, after: Aftermath) -> str | None:
    """Why not every file that was written may be known; None where the known ones hold all that was dirtied."""
    rest = None if account is None else files.unknown_bytes(account, after.files)
    proved = account is not None and rest == 0 and not account.lost
    reasons = [] if proved else list(life.trail.gaps())
    if reasons and rest:
        reasons.append(f"{rest} bytes were dirtied in files that are not known")
    mounted, refused = life.trail.mounted(all_known=proved), after.drain.refused if after.drain else ()
    return "; ".join((*reasons, *((mounted,) if mounted else ()), *refused)) or None
