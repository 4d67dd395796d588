"""Finds a queue depth that an external tool was given and did not keep.

The rule reads `iodepth` and `numjobs` in the arguments of fio, and rate and mean latency in its report. Their product is the
mean number of operations in flight (Little's law). Below `reached_share` of the depth the figure is one of another depth.
A synchronous engine keeps one operation in flight. So does libaio for buffered files: io_submit(2) waits for each operation,
and fio counts that wait into the latency of all that it submits. This is seen in the arguments alone.
Threads of any tool that share fewer connections keep fewer requests in flight than there are threads. Looks at threads show it.
Jobs with a rate or think time, and tools without a stated depth, are n/a. L07 judges the lab's own engines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import time_ladder, time_limit
from assay.records import Cause, Finding, Scope, Severity, State, TimeLimit
from assay.records.time_spent import MOST
from assay.rulekit.findings import found, knob

TOOL = "fio"
DEPTH = re.compile(r"(?:--)?iodepth[= ]([0-9]{1,6})")
JOBS = re.compile(r"(?:--)?numjobs[= ]([0-9]{1,6})")
LIBAIO = re.compile(r"(?:--)?ioengine[= ]libaio")
DIRECT = re.compile(r"(?:--)?(?:direct[= ](?!0)|direct$|direct(?= )(?! 0)|buffered[= ]0)")
PACED = re.compile(r"(?:--)?(?:rate|rate_iops|thinktime)[= ]")


def applies(case: TrialCase) -> str | None:
    """Loads of fio whose arguments state a depth, without a pace."""
    words = arguments(case)
    if stated(words) is None and not asks_another(case):
        return "no queue depth in the arguments of the tool, and no threads that ask another end"
    return "a paced load: idle by design" if PACED.search(words) else None


def arguments(case: TrialCase) -> str:
    """The words of the command that ran fio; empty where another one ran."""
    given = knob(case, "argv")
    words = [str(word) for word in given] if isinstance(given, list | tuple) else str(given or "").split()
    is_fio = any(PurePath(part).name == TOOL for word in words for part in word.split())
    return " ".join(words) if is_fio else ""


def stated(words: str) -> int | None:
    """The operations that all jobs together were asked to keep in flight; None where nothing is said, or one alone."""
    depths = [int(one) for one in DEPTH.findall(words)]
    jobs = [int(one) for one in JOBS.findall(words)]
    if len(depths) != 1 or len(jobs) > 1:
        return None
    whole = depths[0] * (jobs[0] if jobs else 1)
    return whole if depths[0] > 1 else None


def check(case: TrialCase) -> Finding:
    """Compare rate times latency with the stated depth."""
    depth = stated(arguments(case))
    if depth is None and asks_another(case):
        return of_pool(case, time_limit.of_phase(case.phase, case.observations))
    kept = list(in_flight(case))
    if depth is not None and LIBAIO.search(arguments(case)) and not DIRECT.search(arguments(case)):
        return buffered(case, depth)
    if depth is None or not kept:
        return found(RULE, case, State.UNVERIFIED, "Rate or mean latency of the report unknown.")
    mean, limit = sum(kept), case.thresholds["reached_share"]
    observed = {"in_flight": mean, "depth": float(depth)}
    words = f"Rate times latency: {mean:.3g} of {depth} operations in flight"
    if mean >= limit * depth:
        return found(RULE, case, State.PASS, f"{words}.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{words} (at least {measures.percent(limit)} expected): the stated depth was not kept.",
        observed=observed,
        threshold={"reached_share": limit},
        relabel="a figure of another queue depth",
        detail=f"{mean:.3g} of {depth} in flight",
    )


def asks_another(case: TrialCase) -> bool:
    """Whether threads of an external command waited for another end for most of the time."""
    looks = time_ladder.of_phase(case.phase, case.observations) if case.phase.values else None
    return looks is not None and looks.share(*time_limit.PEER) > MOST


def of_pool(case: TrialCase, shared: TimeLimit | None) -> Finding:
    """The finding of a pool of connections: whether it is smaller than what asks it."""
    looks = time_ladder.of_phase(case.phase, case.observations)
    if looks is None or not looks.threads(*time_limit.PEER):
        return found(RULE, case, State.UNVERIFIED, "How many threads had a request in flight is unknown.")
    if shared is None or shared.cause is not Cause.POOL:
        return found(RULE, case, State.PASS, "No threads wait for a connection of other threads.")
    kept, workers = shared.count or 0.0, shared.among or 0.0
    return found(
        RULE,
        case,
        State.FAIL,
        f"{kept:.2g} of {workers:.2g} working threads have a request in flight; the rest waits for a connection or a lock.",
        observed={"in_flight": kept, "depth": workers},
        relabel="a figure of another queue depth",
        detail=f"{kept:.2g} of {workers:.2g} in flight",
    )


def buffered(case: TrialCase, depth: int) -> Finding:
    """The finding of libaio without direct I/O."""
    statement = f"libaio without direct I/O waits in io_submit for each operation: one in flight, not {depth}."
    return found(RULE, case, State.FAIL, statement, observed={"depth": float(depth)}, relabel="a figure of another queue depth")


def in_flight(case: TrialCase) -> Iterator[float]:
    """The mean number in flight of each operation of the report that has both figures."""
    for operation in case.phase.operations:
        rate, latency = (case.phase.values.get(f"{operation}.{name}") for name in ("ops_per_s", "latency_mean_ns"))
        if rate and latency:
            yield rate * latency / 1e9


RULE = Rule(
    id="L19",
    name="stated-depth",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="load",
    short="stated depth not kept",
    applies=applies,
    check=check,
    wrong="fio runs with iodepth=32 and the default engine psync, which does one operation after the other. Depth 32 is no "
    "faster than depth 1, and the disk is blamed. libaio without direct I/O does the same: io_submit waits for each read.",
    alternatives=(
        "The job was so short that the queue was never full. Run it longer.",
        "The generator had no CPU time to fill the queue. Check N02 and G01.",
    ),
    advice="Use an asynchronous engine with direct I/O (--ioengine=libaio --direct=1, or io_uring), or state the depth that was "
    "kept.",
    sources=(
        "fio, HOWTO: iodepth has no effect on synchronous engines; libaio is asynchronous with direct I/O only",
        "Little, Operations Research 9 (1961): L = lambda W",
    ),
)
