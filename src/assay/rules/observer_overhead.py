"""Gives the CPU time of the lab's own observers during the clock: heavy observation changes the result.

The lab records the CPU time of every sample, of the commands that it runs, and of a program that runs beside the phase
(bpftrace). More than `cpu_share` of one CPU qualifies.
One CPU counts, however many there are: a thread of the load that shares its CPU with the lab loses that share.
This is the cost of observing, not its effect. A kernel probe (0.1 to 1 µs per event) is charged to the load itself.
`assay selftest --observers all` measures the effect: paired trials with and without observers, with the ratio and its interval.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import Rule, TrialCase
from assay.evidence import ladder
from assay.records import ABSOLUTE, Finding, Scope, Severity, State
from assay.rulekit.findings import found
from assay.units import Unit

LAYER, METRIC = "lab", "cpu_ns"


def applies(case: TrialCase) -> str | None:
    """Every phase that took time."""
    return None if case.phase.end_ns > case.phase.start_ns else "a phase without duration"


def check(case: TrialCase) -> Finding:
    """The CPU time of all observers over the time of the clock."""
    spent = spent_ns(case)
    lasted_ns, whole = case.phase.lasted_ns, sum(spent.values())
    share, limit = whole / lasted_ns, case.thresholds["cpu_share"]
    took, lasted = (measures.with_unit(value, Unit.NANOSECONDS) for value in (whole, lasted_ns))
    usage = f"Observers used {measures.percent(share)} of one CPU (limit {measures.percent(limit)}): {took} in {lasted}"
    beside = ", ".join(name.partition(":")[2] for name, value in spent.items() if name != ABSOLUTE and value)
    if beside:
        usage += f", {beside} included"
    observed = {"cpu_share": share, "cpu_ns": whole}
    if share <= limit:
        return found(RULE, case, State.PASS, f"{usage}.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{usage}: the load lost that time, with an unknown effect on the figure.",
        observed=observed,
        relabel="with heavy observers",
        detail=f"observers used {measures.percent(share)} of a CPU",
    )


def spent_ns(case: TrialCase) -> dict[str, float]:
    """Subject -> CPU time during the clock: samples that ended in it, and programs from edge to edge."""
    start_ns, end_ns = case.phase.start_ns, case.phase.end_ns
    spent: dict[str, float] = {}
    for series in case.observations.over_time(case.phase.name, LAYER, METRIC):
        looks = (ladder.latest_sample(series, end_ns) or 0.0) - (ladder.latest_sample(series, start_ns) or 0.0)
        spent[series.subject] = looks if series.subject == ABSOLUTE else ladder.known_rise(series, start_ns, end_ns)
    return spent


RULE = Rule(
    id="E04",
    name="observer-overhead",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="evidence",
    needs=(f"{LAYER}.{METRIC}",),
    applies=applies,
    check=check,
    wrong="Finer curves are wanted, so the observers sample every two milliseconds or trace every operation. The load shares "
    "its CPUs with the lab, its caches are emptied, its threads are moved. The figure describes load and lab together. An "
    'unpaired trial shows nothing: on a busy machine tracing once came out "2.4 times as fast".',
    alternatives=(
        "Many clients, files or devices make every sample longer. `assay selftest` gives the cost of a sample.",
        "A machine without a free CPU makes the samples slow but not expensive: waiting does not count.",
    ),
    advice="Sample less often (leave `look_every` at its default), list fewer `observers`, omit tracepoints, or leave a CPU "
    "free for the lab (knob `cpus`). `assay selftest --observers all` measures the effect.",
    at_shell="Omit `--observe` of costly observers, or leave a CPU free for Assay.",
    sources=(
        "Gregg: Systems Performance, 2nd edition, 2020: measure the overhead of the tool itself",
        "Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987: two one-sided tests, for the pairs",
    ),
)
