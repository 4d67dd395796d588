"""Refuses comparisons of runs that ended by time with runs that ended by work.

The engine records for each client the event that ended it; that counts, not the configuration. An external command ends by work.
Phases with `until_steady` are one kind. Clients that ended in another way than the rest fail the rule.
A comparison of rates, times or amounts is invalid, one of latencies qualified.
If all ended alike, the finding gives the tail after the first client's end (above `tail_share`). `duration`, `ops`,
`until_steady` or `schedule` as factor are n/a.
"""

from __future__ import annotations

from collections import Counter

from assay import measures
from assay.catalogue import ComparisonCase, Rule, Runs
from assay.records import Finding, Phase, Scope, Severity, State, StopRule
from assay.rulekit.findings import found

ENDS = frozenset({"duration", "ops", "until_steady", "schedule", "round"})
"""Last parts of the paths of factors that are the end of the work itself."""
WORDS = {StopRule.WORK: "by work", StopRule.TIME: "by time", StopRule.STEADY: "by steady state"}


def applies(case: ComparisonCase) -> str | None:
    """None for comparisons in which the end of the work is not the factor."""
    is_end = case.comparison.factor.rpartition(".")[2] in ENDS
    return f"the end of the work is the factor ({case.comparison.factor})" if is_end else None


def check(case: ComparisonCase) -> Finding:
    """Fail where not all clients of all runs that count were ended in the same way."""
    arms = [phases(case, runs) for runs in case.arms]
    if not all(arms):
        return found(RULE, case, State.UNVERIFIED, "End of the runs unknown: one arm has no valid run.")
    ended = [Counter(stop for phase in arm for stop in ends(phase)) for arm in arms]
    tails = [max(tail_share(phase) for phase in arm) for arm in arms]
    both = zip(("baseline", "candidate"), ended, strict=True)
    observed = {f"{arm}_{stop}": float(count[stop]) for arm, count in both for stop in count} | {"longest_tail_share": max(tails)}
    kinds = {stop for count in ended for stop in count}
    if len(kinds) == 1:
        text = f"All clients of both arms ended {WORDS[kinds.pop()]}{tail(case, max(tails))}."
        return found(RULE, case, State.PASS, text, observed=observed)
    names = (f"{case.comparison.baseline}: {in_words(ended[0])}", f"{case.comparison.candidate}: {in_words(ended[1])}")
    return found(
        RULE,
        case,
        State.FAIL,
        f"Clients ended in different ways: {'; '.join(names)}. Only one arm's figure includes the tail of its slowest part.",
        severity=severity(case),
        observed=observed,
        relabel="comparison of fixed time with fixed work",
        evidence=("L0 engine: what stopped each client",),
    )


def phases(case: ComparisonCase, runs: Runs) -> list[Phase]:
    """The phase of the measure in each run of an arm that counts."""
    counted = [run for run, _ in runs if run.id not in case.comparison.excluded]
    seen = (measures.phase_of(run, case.measure) for run in counted)
    return [phase for phase in seen if phase is not None and phase.clients]


def ends(phase: Phase) -> list[StopRule]:
    """What ended each client; a phase that was to be steady is one of a kind, whether or not it came to be."""
    if phase.stop is StopRule.STEADY:
        return [StopRule.STEADY] * len(phase.clients)
    return [StopRule.TIME if client.stopped_by == "time" else StopRule.WORK for client in phase.clients]


def tail_share(phase: Phase) -> float:
    """The share of a phase's time after its first client had ended."""
    length = phase.lasted_ns
    first = min(client.until_ns for client in phase.clients)
    return max(0.0, (phase.end_ns - first) / length) if length > 0 else 0.0


def tail(case: ComparisonCase, share: float) -> str:
    """What is to be known of the tail of fixed work, with its leading semicolon; empty where it is short."""
    if share <= case.thresholds["tail_share"]:
        return ""
    return f"; the first client ended up to {measures.percent(share)} of a run before the last"


def in_words(ended: Counter[StopRule]) -> str:
    """`6 when their time was over and 2 when their work was done`."""
    return " and ".join(f"{ended[stop]} {WORDS[stop]}" for stop in WORDS if ended[stop])


def severity(case: ComparisonCase) -> Severity:
    """Latencies are of operations, whose kind the end changes little; rates, times and amounts are of the whole run."""
    return Severity.QUALIFIES if case.measure.figure.startswith("latency_") else Severity.INVALIDATES


RULE = Rule(
    id="W05",
    name="stop-rules",
    scope=Scope.COMPARISON,
    severity=Severity.INVALIDATES,
    part="window",
    short="fixed time against fixed work",
    applies=applies,
    check=check,
    wrong="A run of fixed work includes the tail of its slowest client and files; a run of fixed time is cut off before. A "
    "rate of the one against the other compares two stop rules. It happens by itself with both a time and an amount: the fast "
    "system ends by amount, the slow one by time. One system was reported to IO500 with 860 GiB in 355 s and with 7153 GiB in "
    "1897 s.",
    alternatives=(
        "Both a time and an amount were set, and the time was a safety limit. Make it long enough for every arm.",
        "One run was stopped from outside: its outcome shows it (E01).",
    ),
    advice="End both arms alike: by time (`duration` without `ops`) to compare rates, by work to compare the time of a job. "
    "With several clients compare rates in the common window (W04).",
    sources=(
        "IO500 and IOR: stonewalling, and the wear-out after it",
        "IO500, issue 68: one system with 860 GiB in 355 s and with 7153 GiB in 1897 s",
    ),
)
