"""Finds latencies of an open load that were taken by a closed loop, which omits the operations that had to wait.

In an open load an operation is due at its own time, even if the previous one has not ended. A closed loop sends nothing during
a stall.
The lab's engines with `rate` or `schedule` count each latency from the due time: the claim load = open passes.
Without a rate the claim fails. The finding estimates the omitted operations by Tene's correction (floor(L / interval) - 1
behind each latency L).

**External tools.** fio with `--rate_iops` starts a late operation late and times it from there.
- Longest latency below the interval: nothing was omitted, pass.
- The longest latency alone omits more operations than lie beyond the percentile: fail.
- Between the two: unverified.
- fio without a rate, dd, hdparm, iozone, bonnie++, ior, mdtest and fs_mark have only a closed loop: fail. Other tools:
  unverified.

An open latency would be at least the measured one. Without a claimed load, a paced tool with a long latency gets a note.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.measures import figures, latency
from assay.records import Finding, Load, Scope, Severity, State
from assay.rulekit.findings import flattered, found, knob, rate_of
from assay.units import Unit

PACED = "--rate_iops="
"""fio: operations a second of each job, begun no sooner; a late one is begun late, and timed from then."""
CLOSED = ("bonnie++", "dd", "fio", "fs_mark", "hdparm", "ior", "iozone", "mdtest")
"""Tools with a closed loop only; fio can pace its loop."""


def applies(case: TrialCase) -> str | None:
    """Claims of an open load, and latencies of a tool with a given rate."""
    paced = is_latency(case) and interval_ns(case) is not None and case.claim.load is None
    return None if case.claim.load is Load.OPEN or paced else "load = open is not claimed"


def check(case: TrialCase) -> Finding:
    """Whether the load was open, or its operations all ended before the next was due."""
    clients = case.phase.clients
    if clients and all(client.load is not None for client in clients):
        return found(RULE, case, State.PASS, "Latencies count from the due time; none omitted.")
    return external(case) if case.phase.values else closed(case)


def closed(case: TrialCase) -> Finding:
    """Our own engine without a rate: each worker began when it had its answer."""
    interval, missing = omitted(case)
    each = measures.with_unit(interval, Unit.NANOSECONDS) if interval else ""
    more = f" One operation every {each} in each place; {measures.percent(missing)} more would have waited." if missing else ""
    statement = f"Closed loop under an open-load claim: every operation waited for the previous one.{more}"
    return omission(case, statement, {"interval_ns": interval, "missing_share": missing})


def external(case: TrialCase) -> Finding:
    """A tool's loop: not known, closed, or paced with a longest latency that says whether anything was left out."""
    interval = interval_ns(case)
    longest = case.phase.values.get(f"{case.measure.operation}.latency_max_ns")
    if interval is None and tool(case) not in CLOSED:
        statement = f"Unknown whether {tool(case) or 'the tool'} times an operation from its due time. Check its manual."
        return found(RULE, case, State.UNVERIFIED, statement)
    if interval is None:
        return omission(case, f"Closed loop under an open-load claim: {tool(case)} starts an operation after its answer.", {})
    if longest is None:
        return found(RULE, case, State.UNVERIFIED, f"{tool(case)} reports no longest latency, which may hide omitted operations.")
    missing = max(0.0, longest // interval - 1)
    observed = {"interval_ns": interval, "longest_ns": longest, "missing_operations": missing}
    took, each = (measures.with_unit(figure, Unit.NANOSECONDS) for figure in (longest, interval))
    if longest <= interval:
        return found(RULE, case, State.PASS, f"Longest operation {took} (interval {each}): none omitted.", observed=observed)
    count = case.phase.values.get(f"{case.measure.operation}.count", 0.0)
    beyond = 1 - figures.PERCENTILES.get(case.measure.figure, 1.0)  # the share of the operations beyond the percentile
    if beyond > 0 and missing <= beyond * count:
        statement = f"An operation took {took} (interval {each}); further omissions unknown."
        return found(RULE, case, State.UNVERIFIED, statement, observed=observed)
    statement = f"An operation took {took} (interval {each}): at least {missing:,.0f} due operations were not started."
    return omission(case, statement, observed)


def omission(case: TrialCase, statement: str, observed: Mapping[str, float | None]) -> Finding:
    """The failure: of an open load latencies are at least what was measured."""
    timed = is_latency(case) or rate_of(case) is not None
    claimed = case.claim.load is Load.OPEN
    return found(
        RULE,
        case,
        State.FAIL,
        statement,
        severity=Severity.INVALIDATES if timed and claimed else Severity.NOTES,
        observed=observed,
        bound=flattered(case) if claimed and is_latency(case) else None,
        relabel="closed loop: waiting operations omitted" if claimed else None,
    )


def omitted(case: TrialCase) -> tuple[float | None, float]:
    """Time from one operation of a worker (of a place in the queue) to the next, in ns; the share that would have waited besides.

    By Tene's correction: behind an operation of the latency L wait floor(L / interval) - 1.
    """
    window = measures.whole_window(case.phase, case.measure.operation)
    buckets = latency.merged(case.observations, case.phase.name, case.measure.operation)
    done = sum(count for _, count in buckets)
    places = sum(client.places for client in case.phase.clients)
    if window is None or not done or window.to_ns <= window.from_ns:
        return None, 0.0
    interval = (window.to_ns - window.from_ns) * places / done
    return interval, sum(max(0.0, upper // interval - 1) * count for upper, count in buckets) / done


def interval_ns(case: TrialCase) -> float | None:
    """The given rate of a job of the tool; None without one."""
    given = [word.removeprefix(PACED) for word in arguments(case) if word.startswith(PACED)] if tool(case) == "fio" else []
    return 1e9 / int(given[-1]) if given and given[-1].isdigit() and int(given[-1]) else None


def tool(case: TrialCase) -> str:
    """The name of the program; empty where none was started."""
    words = arguments(case)
    return posixpath.basename(words[0]) if words else ""


def arguments(case: TrialCase) -> tuple[str, ...]:
    """The command's words."""
    argv = knob(case, "argv")
    return tuple(map(str, argv)) if isinstance(argv, tuple) else ()


def is_latency(case: TrialCase) -> bool:
    """Whether the figure is a latency."""
    return case.measure.figure.startswith("latency_")


RULE = Rule(
    id="G01",
    name="coordinated-omission",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="load",
    short="closed loop claimed as open",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    wrong="Independent users do not stop coming while the system stalls. A closed loop does: a stall of 2 s is one operation "
    "with a latency of 2 s. At 1,000 operations per second 2,000 would have waited, 1 s on average. Simulated with 0.5 ms of "
    "service and one such stall in 60 s, the closed loop gives p99 = 0.5 ms, the open load 1,700 ms.",
    alternatives=("The users do wait for their answers (terminals, a copy, a synchronous client). Claim load = closed.",),
    advice="Offer a rate (`rate` or `schedule` of the workload), so that latencies count from the due time. Or claim load = "
    "closed and report the number of workers.",
    sources=(
        "Tene: How NOT to measure latency; HdrHistogram, recordValueWithExpectedInterval",
        "Schroeder, Wierman and Harchol-Balter, NSDI 2006: open versus closed, a cautionary tale",
    ),
)
