"""Finds trials whose processors changed their speed meanwhile: slowed down for heat, by a governor, or by a neighbour.

Evidence: a fixed piece of work timed before and after the trial, in processor time, so that waiting for a processor (N02) is not
in it; the kernel's counters of throttling. A processor that is slower by a tenth makes a load that computes for a tenth of its
time slower by a hundredth: the change counts as far as the load was on a processor at all. Two looks of ten milliseconds say that
the speed changes, not what it was in between: what is only timed is a note, what the kernel counted qualifies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay import measures
from assay.catalogue import Case, Rule, TrialCase
from assay.measures import cost
from assay.records import Finding, Scope, Severity, State, When
from assay.rulekit.applicability import runs_only
from assay.rulekit.findings import found
from assay.units import Unit

PIECE, THROTTLED, GOVERNOR = "speed.piece_ns", "speed.throttled.", "speed.governor"


@dataclass(frozen=True, kw_only=True)
class Change:
    """How long the piece of work took before and after, and which part of its time the load was on a processor."""

    before_ns: float
    after_ns: float
    on_cpu: float

    @property
    def share(self) -> float:
        """By how much the slower took longer than the faster."""
        return max(self.before_ns, self.after_ns) / min(self.before_ns, self.after_ns) - 1

    @property
    def effect(self) -> float:
        """How much longer the load would take at the slower speed than at the faster."""
        return self.share * self.on_cpu


def check(case: Case) -> Finding:
    """Throttling that was counted, then a change of speed that the load must have felt; a governor is worth knowing."""
    assert isinstance(case, TrialCase)
    change, hot = change_of(case), [*throttled(case)]
    observed: dict[str, float | str | None] = {"throttled": float(len(hot))}
    if change is not None:
        observed |= {"changed_share": change.share, "on_cpu_share": change.on_cpu, "effect_share": change.effect}
    felt = change is not None and change.effect > case.thresholds["effect_share"]
    if hot or (felt and change is not None):
        said = [f"the processors were slowed down for heat ({'; '.join(hot)})"] if hot else []
        said += [in_words(change)] if felt and change is not None else []
        return found(
            RULE,
            case,
            State.FAIL,
            f"The processors did not keep their speed: {'; '.join(said)}.",
            severity=Severity.QUALIFIES if hot else Severity.NOTES,
            observed=observed,
            threshold={**case.thresholds},
            evidence=("cpu_speed: facts before and after the trial",),
        )
    if change is None:
        said_not = "How fast the processors were is not known: nobody timed them before and after the trial."
        return found(RULE, case, State.UNVERIFIED, said_not, observed=observed)
    if slow := governors(case):
        text = f"The clock rate follows the load (governor {slow}): a load that waits much runs on slower processors than others."
        return found(RULE, case, State.FAIL, text, severity=Severity.NOTES, observed=observed)
    return found(RULE, case, State.PASS, f"T{in_words(change)[1:]}.", observed=observed, threshold={**case.thresholds})


def in_words(change: Change) -> str:
    """What was timed, and what of it the load felt at most."""
    before, after = (measures.with_unit(time, Unit.NANOSECONDS) for time in (change.before_ns, change.after_ns))
    return (
        f"the same work took {before} before the trial, {after} after it ({measures.percent(change.share)} apart); the load was"
        f" on a processor for {measures.percent(change.on_cpu)} of its time, so it is {measures.percent(change.effect)} of the"
        " figure at most"
    )


def change_of(case: TrialCase) -> Change | None:
    """What was timed on the load's hosts, the one that changed most; None where it was not timed at both ends."""
    hosts = dict.fromkeys(client.host for client in case.phase.clients)
    changes: list[Change] = []
    for host in hosts:
        times = [case.observations.fact(PIECE, when, host) for when in (When.BEFORE, When.AFTER)]
        known = [float(time) for time in times if time is not None and float(time) > 0]
        if len(known) == len(times):
            changes.append(Change(before_ns=known[0], after_ns=known[1], on_cpu=cost.on_cpu_share(case.phase)))
    return max(changes, key=lambda change: change.share, default=None)


def throttled(case: TrialCase) -> Iterator[str]:
    """Counters of throttling that rose between the looks before and after the trial."""
    for fact in case.observations.facts:
        after = case.observations.fact(fact.key, When.AFTER, fact.host)
        if fact.when is When.BEFORE and fact.key.startswith(THROTTLED) and after is not None:
            more = int(after) - int(fact.value)
            if more > 0:
                yield f"{fact.key.removeprefix(THROTTLED)}: {more:,} times on host {fact.host}"


def governors(case: TrialCase) -> str | None:
    """Governors other than `performance`; None where there is no other."""
    names = (case.observations.fact(GOVERNOR) or "").split()
    return ", ".join(name for name in names if name != "performance") or None


RULE = Rule(
    id="N01",
    name="frequency",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="noise",
    needs=(),
    applies=runs_only,
    check=check,
    alternatives=(
        "Fewer busy processors may run faster than many (turbo): then the speed is real, and belongs to this number of clients.",
        "In a virtual machine a neighbour on the other half of the core slows it down: the clock is the same, the work is not.",
    ),
    advice="For a comparison fix the clock rate (governor performance, turbo off), let the machine cool, and interleave the arms;"
    " for capacity leave it free and say so. In a cloud take an instance with cores of its own.",
    sources=(
        "Georges et al., OOPSLA 2007: statistically rigorous performance evaluation",
        "pyperf, `system tune`: turbo, governor, affinity",
        "Linux: admin-guide/pm/cpufreq.rst",
    ),
)
