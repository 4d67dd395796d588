"""Tells how much of a processor the lab's own observers took while the clock ran: a lab that looks hard changes what it sees.

Evidence: the processor time that every look took, and that of a program that runs beside the phase (bpftrace), as the lab keeps
it. It tells what looking took, not what a probe in the kernel costs whoever comes by: `assay selftest --observers` runs the same
load in pairs, with and without observers, and says the ratio with its interval.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import Case, Rule, TrialCase
from assay.evidence import ladder
from assay.records import ABSOLUTE, Finding, Scope, Severity, State
from assay.rulekit.findings import found
from assay.units import Unit

LAYER, METRIC = "lab", "cpu_ns"


def applies(case: Case) -> str | None:
    """Every phase that took time."""
    assert isinstance(case, TrialCase)
    return None if case.phase.end_ns > case.phase.start_ns else "the phase took no time"


def check(case: Case) -> Finding:
    """The processor time of all observers over the time of the clock."""
    assert isinstance(case, TrialCase)
    spent = spent_ns(case)
    lasted_ns, whole = case.phase.end_ns - case.phase.start_ns, sum(spent.values())
    share, limit = whole / lasted_ns, case.thresholds["cpu_share"]
    took, lasted = (measures.with_unit(value, Unit.NANOSECONDS) for value in (whole, lasted_ns))
    said = f"Looking took {measures.percent(share)} of one processor while the clock ran ({took} in {lasted})"
    beside = ", ".join(name.partition(":")[2] for name, value in spent.items() if name != ABSOLUTE and value)
    if beside:
        said += f", {beside} beside it included"
    observed: dict[str, float | str | None] = {"cpu_share": share, "cpu_ns": whole}
    if share <= limit:
        return found(RULE, case, State.PASS, f"{said}.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{said}: the load did not have that time, and what it did to the figure nobody knows.",
        observed=observed,
        threshold={"cpu_share": limit},
        relabel=f"measured by observers that took {measures.percent(share)} of a processor",
    )


def spent_ns(case: TrialCase) -> dict[str, float]:
    """Subject -> processor time while the clock ran: looks that ended in it, and programs from edge to edge."""
    start_ns, end_ns = case.phase.start_ns, case.phase.end_ns
    spent: dict[str, float] = {}
    for series in case.observations.over_time(case.phase.name, LAYER, METRIC):
        looks = (ladder.value_at(series, end_ns) or 0.0) - (ladder.value_at(series, start_ns) or 0.0)
        spent[series.subject] = looks if series.subject == ABSOLUTE else ladder.rise(series, start_ns, end_ns)
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
    alternatives=(
        "Many clients, files or devices make every look longer: see what a look costs with `assay selftest`.",
        "A machine without a free processor makes the looks themselves slow, but not dear: their waiting is not counted.",
    ),
    advice="Look less often (leave `look_every` at its default), name fewer `observers`, leave tracepoints out, or leave a"
    " processor free for the lab (knob `cpus`); what observing changes in the figure `assay selftest --observers all` says.",
    sources=(
        "Gregg: Systems Performance, 2nd edition, 2020: measure the overhead of the tool itself",
        "Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987: two one-sided tests, for the pairs",
    ),
)
