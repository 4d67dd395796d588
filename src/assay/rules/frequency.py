"""Finds trials during which the CPU speed changed: throttled for heat, by a governor, or by a neighbour.

The observer `cpu_speed` times a fixed piece of work before and after the trial, in CPU time, so waiting for a CPU (N02)
is excluded.
A change counts in proportion to the load's time on a CPU. A 10 % slower CPU changes a load that computes for 10 % of its time by
1 %.
- An effect above `effect_share`: a note.
- A rising counter of thermal throttling: qualified if the load was on a CPU for more than `matters` of its time, else a note.
- A governor other than `performance`: a note.
- No timing at both ends: unverified.

On the target's host a change counts by the server's time on a CPU while the load waits, where its processes are observed.

Two samples of ten milliseconds show that the speed changes, not its course, so a timed change only is a note.
On a quiet virtual machine the samples were up to 30 % apart around four of five blocks of `assay quick`. The interval over
repeats covers that spread.
A change in the middle of a trial that ends before its end is missed. N01c compares the arms.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.records import Finding, HostRole, Scope, Severity, State, When
from assay.rulekit import noise
from assay.rulekit.findings import found
from assay.units import Unit

PIECE, THROTTLED, GOVERNOR = "speed.piece_ns", "speed.throttled.", "speed.governor"


@dataclass(frozen=True, kw_only=True)
class SpeedChange:
    """Time of the fixed work before and after, and the load's share of time on a CPU."""

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


def applies(case: TrialCase) -> str | None:
    """Load hosts, and the target's host where its server is observed and the same work was timed at both ends."""
    if case.role is HostRole.TARGET and change_of(case) is None and not any(throttled(case)):
        return "CPU speed of the target's host unknown"
    return noise.of_no_server(case)


def check(case: TrialCase) -> Finding:
    """Throttling that was counted, then a change of speed that the load must have felt; a governor is worth knowing."""
    change, hot = change_of(case), [*throttled(case)]
    observed: dict[str, float | str | None] = {"throttled": float(len(hot))}
    if change is not None:
        observed |= {"changed_share": change.share, "on_cpu_share": change.on_cpu, "effect_share": change.effect}
    parts = [f"thermal throttling ({'; '.join(hot)})"] if hot else []
    if change is not None and change.effect > case.thresholds["effect_share"]:
        parts.append(in_words(change, case))
    if parts:
        felt = noise.on_cpu_share(case) > case.experiment.matters_share
        return found(
            RULE,
            case,
            State.FAIL,
            f"CPU speed changed: {'; '.join(parts)}.",
            severity=Severity.QUALIFIES if hot and felt else Severity.NOTES,
            observed=observed,
            evidence=("cpu_speed: facts before and after the trial",),
        )
    if change is None:
        return found(RULE, case, State.UNVERIFIED, "CPU speed unknown: not timed before and after the trial.", observed=observed)
    if slow := governors(case):
        who = "a server" if case.role is HostRole.TARGET else "a load"
        text = f"The clock rate follows the load (governor {slow}): {who} that waits much runs on slower CPUs."
        return found(RULE, case, State.FAIL, text, severity=Severity.NOTES, observed=observed)
    return found(RULE, case, State.PASS, f"T{in_words(change, case)[1:]}.", observed=observed)


def in_words(change: SpeedChange, case: TrialCase) -> str:
    """What was timed, and what of it the load felt at most."""
    who = "server" if case.role is HostRole.TARGET else "load"
    before, after = (measures.with_unit(time, Unit.NANOSECONDS) for time in (change.before_ns, change.after_ns))
    share, on_cpu, effect = (measures.percent(one) for one in (change.share, change.on_cpu, change.effect))
    timed = f"the same work took {before} before the trial and {after} after it ({share} apart)"
    return f"{timed}; effect {effect} at most, with the {who} on a CPU for {on_cpu} of its time"


def change_of(case: TrialCase) -> SpeedChange | None:
    """What was timed on the hosts, the one that changed most; None where it was not timed at both ends."""
    hosts = dict.fromkeys((case.host,) if case.host else (client.host for client in case.phase.clients))
    changes: list[SpeedChange] = []
    for host in hosts:
        times = [case.observations.fact(PIECE, when, host) for when in (When.BEFORE, When.AFTER)]
        known = [float(time) for time in times if time is not None and float(time) > 0]
        if len(known) == len(times):
            changes.append(SpeedChange(before_ns=known[0], after_ns=known[1], on_cpu=noise.on_cpu_share(case)))
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
    applies=applies,
    check=check,
    about=About.EACH_HOST,
    wrong="Heat, the governor and busy neighbours change the CPU speed. The first run had a cool CPU. A load that waits much "
    "runs on a CPU that was clocked down. In a cloud another tenant uses half of the core. The difference between A and B then "
    "is a difference of clock rates.",
    alternatives=(
        "Fewer busy CPUs may run faster than many (turbo). Then the speed is real and belongs to this number of clients.",
        "In a virtual machine a neighbour on the other half of the core slows the work at the same clock rate.",
    ),
    advice="Fix the clock rate for a comparison (governor performance, turbo off), let the machine cool, and interleave the "
    "arms. For capacity leave it free and report it. In a cloud use an instance with dedicated cores.",
    sources=(
        "Georges et al., OOPSLA 2007: statistically rigorous performance evaluation",
        "pyperf, `system tune`: turbo, governor, affinity",
        "Linux: admin-guide/pm/cpufreq.rst",
    ),
)
