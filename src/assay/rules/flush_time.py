"""Finds reads and writes of an external tool that waited for its own flushes: the rate is that of fsync.

The rule reads the tool's own rate of fsync, and how long the device of the file system was busy with flush requests
(/proc/diskstats). If the device completed more flushes than the tool reports, only the tool's part counts. An fsync also
writes data and a journal, so the share is the least that is certain.
- From `flush_share` of the time on: reads, and writes that do not claim stable media, are qualified. How fast they are without
  the flushes is not known. Writes that claim stable media have to be flushed: a note.
- No time of flushes was counted: unverified.

If a tool does not report its flushes, looks at its threads decide. They have to find several flushes, not one at the end.

Tools without a rate of fsync and without looks, and the fsyncs themselves, are n/a.
The lab's own engines time their flushes apart.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import ladder, time_ladder
from assay.evidence.device_idle import TICK_NS
from assay.evidence.time_ladder import TimeLadder
from assay.records import Direction, Durability, Finding, Scope, Series, Severity, State
from assay.rulekit.findings import Figures, found
from assay.units import Unit

FLUSHES = ("fsync", "fdatasync", "sync")
"""What parsers call the operations that flush."""


def applies(case: TrialCase) -> str | None:
    """Reads and writes of tools that tell how often they flushed, or whose threads were looked at."""
    if not case.phase.values:
        return "the lab's own engines time their flushes apart"
    if case.measure.operation in FLUSHES or case.direction not in (Direction.READ, Direction.WRITE):
        return "no reads or writes"
    known = flushes_per_s(case) or time_ladder.of_phase(case.phase, case.observations) is not None
    return None if known else "the tool reports no flushes, and there are too few looks at its threads"


def flushes_per_s(case: TrialCase) -> float:
    """The flushes a second by the tool's own account."""
    return sum(case.phase.values.get(f"{name}.ops_per_s", 0.0) for name in FLUSHES)


def check(case: TrialCase) -> Finding:
    """The time in flush requests over the time of the command."""
    looks = None if flushes_per_s(case) else time_ladder.of_phase(case.phase, case.observations)
    if looks is not None:
        return by_looks(case, looks)
    device = flushing(case)
    lasted_ns = case.phase.lasted_ns
    if device is None or lasted_ns <= 0:
        return found(RULE, case, State.UNVERIFIED, "Time of flush requests not counted.")
    ticks, count = (ladder.rise(one, case.phase.start_ns, case.phase.end_ns) for one in device)
    if ticks is None or count is None:
        return found(RULE, case, State.UNVERIFIED, "Time of flush requests not counted to the end.")
    own = flushes_per_s(case) * lasted_ns / 1e9
    part = min(1.0, own / count) if count else 0.0
    share = min(1.0, ticks * TICK_NS * part / lasted_ns)
    spent = measures.with_unit(ticks * TICK_NS * part, Unit.NANOSECONDS)
    name, observed = device[0].subject.partition(":")[2], {"flush_share": share, "flushes": own}
    text = f"{measures.percent(share)} of the time in fsync at least: {name} was busy with flushes for {spent}"
    if share < case.thresholds["flush_share"]:
        return found(RULE, case, State.PASS, f"{text}.", observed=observed)
    return waits(case, text, share, observed)


def by_looks(case: TrialCase, looks: TimeLadder) -> Finding:
    """The same by looks at the threads: the least share that their error leaves decides, where they found several flushes."""
    share, error, pieces = looks.share("flush"), looks.error("flush"), looks.pieces("flush")
    text = f"{measures.percent(share)} of the time in flushes (±{measures.percent(error)}, looks at the threads)"
    observed = {"flush_share": share, "flush_share_error": error, "pieces": pieces}
    if share and not pieces:
        return found(RULE, case, State.UNVERIFIED, f"{text}; how many flushes is unknown.", observed=observed)
    if share - error < case.thresholds["flush_share"] or pieces < case.thresholds["pieces"]:
        return found(RULE, case, State.PASS, f"{text}.", observed=observed)
    return waits(case, text, share, observed)


def waits(case: TrialCase, text: str, share: float, observed: Figures) -> Finding:
    """The failure; where stable media are claimed a note."""
    asked = case.direction is Direction.WRITE and case.claim.durability is Durability.STABLE_MEDIA
    return found(
        RULE,
        case,
        State.FAIL,
        f"{text} (limit {measures.percent(case.thresholds['flush_share'])}).",
        severity=Severity.NOTES if asked else Severity.QUALIFIES,
        observed=observed,
        relabel=f"{case.measure.operation.replace('_', ' ')} between flushes",
        detail=f"{measures.percent(share)} of the time in fsync",
    )


def flushing(case: TrialCase) -> tuple[Series, Series] | None:
    """Time and count of the flushes of the device that the file system is on; None where nobody counted them."""
    step = ladder.highest_device(case.phase, case.observations, Direction.FLUSH)
    if step is None:
        return None
    subject = step.subjects[0]
    known = [
        next(case.observations.over_time(case.phase.name, "block", name, subject), None) for name in ("flush_ticks", "flushes")
    ]
    return (known[0], known[1]) if known[0] is not None and known[1] is not None else None


RULE = Rule(
    id="L20",
    name="flush-time",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="waits for its own flushes",
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    reads=("block.flush_ticks", "block.flushes", "L8.flush", "L9.flush"),
    wrong="sysbench flushes all files after every hundred requests by default. A file system does 500 random reads and writes a "
    "second, another one twice as many, and the difference is their fsync. Both are called slow disks.",
    alternatives=(
        "The flushes are part of the work (a database). Then quote operations and flushes together.",
        "Another thread flushed while this one read. Then run the reads alone.",
    ),
    advice="Measure reads and writes without flushes, and flushes apart (sysbench --file-fsync-freq=0). Or state the flushes "
    "with the rate.",
    sources=(
        "sysbench, manual: --file-fsync-freq is 100 by default",
        "Linux: Documentation/admin-guide/iostats.rst, fields 16 and 17 (flush requests and their time)",
    ),
)
