"""Refuses comparisons of which some runs ended when their time was over and others when their work was done.

A run of fixed work has the slowest client's tail in it, a run of fixed time stops before it; and a system that is stopped by
the clock never comes to the part of the work that is slow. What counts is what really ended each client, not what was asked:
where both a time and an amount are set, the faster system ends by the one and the slower by the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from assay import measures
from assay.catalogue import Case, ComparisonCase, Rule
from assay.records import Finding, Observations, Phase, Run, Scope, Severity, State, StopRule
from assay.rulekit.findings import found

ENDS = frozenset({"duration", "ops", "until_steady", "schedule", "round"})
"""Last parts of the paths of factors that are the end of the work itself."""
WORDS = {
    StopRule.TIME: "when their time was over",
    StopRule.WORK: "when their work was done",
    StopRule.STEADY: "when they were steady",
}
ORDER = (StopRule.WORK, StopRule.TIME, StopRule.STEADY)
Runs = Sequence[tuple[Run, Observations]]


def applies(case: Case) -> str | None:
    """None for comparisons in which the end of the work is not the factor."""
    if not isinstance(case, ComparisonCase):
        return "it judges comparisons"
    if case.comparison.factor.rpartition(".")[2] in ENDS:
        return f"the end of the work is the factor ({case.comparison.factor})"
    return None


def check(case: Case) -> Finding:
    """Fail where not all clients of all runs that count were ended in the same way."""
    assert isinstance(case, ComparisonCase)
    arms = [phases(case, runs) for runs in (case.baseline, case.candidate)]
    if not all(arms):
        return found(RULE, case, State.UNVERIFIED, "What ended the runs is not known: one arm has no run that counts.")
    ended = [Counter(stop for phase in arm for stop in ends(phase)) for arm in arms]
    tails = [max(tail_share(phase) for phase in arm) for arm in arms]
    observed = {
        **{
            f"{arm}_{stop}": float(count[stop])
            for arm, count in zip(("baseline", "candidate"), ended, strict=True)
            for stop in count
        },
        "longest_tail_share": max(tails),
    }
    kinds = {stop for count in ended for stop in count}
    if len(kinds) == 1:
        said = f"All clients of both arms ended {WORDS[kinds.pop()]}{tail(case, max(tails))}."
        return found(RULE, case, State.PASS, said, observed=observed)
    names = (f"of {case.comparison.baseline} {in_words(ended[0])}", f"of {case.comparison.candidate} {in_words(ended[1])}")
    return found(
        RULE,
        case,
        State.FAIL,
        f"Not all clients ended in the same way: {'; '.join(names)}. One arm has the tail of its slowest part in its figure,"
        " the other was stopped before.",
        severity=severity(case),
        observed=observed,
        threshold={"ways_to_end": 1.0},
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
    length = phase.end_ns - phase.start_ns
    first = min(client.last_ns for client in phase.clients)
    return max(0.0, (phase.end_ns - first) / length) if length > 0 else 0.0


def tail(case: ComparisonCase, share: float) -> str:
    """What is to be known of the tail of fixed work, with its leading semicolon; empty where it is short."""
    if share <= case.thresholds["tail_share"]:
        return ""
    return f"; for up to {measures.percent(share)} of a run the first of them had ended already"


def in_words(ended: Counter[StopRule]) -> str:
    """`6 when their time was over and 2 when their work was done`."""
    return " and ".join(f"{ended[stop]} {WORDS[stop]}" for stop in ORDER if ended[stop])


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
    needs=(),
    applies=applies,
    check=check,
    wrong="A run of fixed work has the tail of its slowest client and its slowest files in its figure; a run of fixed time "
    "is cut off before. A rate of the one against a rate of the other compares two rules for stopping. It happens by "
    "itself where a time and an amount are both set: the fast system ends by the amount, the slow one by the time. "
    "One system was reported to IO500 with 860 GiB in 355 s and with 7153 GiB in 1897 s.",
    alternatives=(
        "Both a time and an amount were set, and the time was meant to be a mere safety: make it long enough for every arm.",
        "One run was stopped from outside: its outcome says so (E01).",
    ),
    advice="End both arms alike: by time (`duration` without `ops`) to compare rates, by work to compare how long a job takes."
    " With several clients compare rates in the window in which all ran (W04).",
    sources=(
        "IO500 and IOR: stonewalling, and the wear-out after it",
        "IO500, issue 68: one system with 860 GiB in 355 s and with 7153 GiB in 1897 s",
    ),
)
