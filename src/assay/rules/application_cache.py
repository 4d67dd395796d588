"""Finds a cache of entries or records in the server: one key asked again and again is answered faster than all keys in turn.

The test needs no counter: a second workload of the same trial does the same with one key only, and says so
(`variables.same_key_of = "search"`). What a cache of the server has no part in, the choice of keys has none in either.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import Case, Rule, TrialCase
from assay.evidence import served
from assay.measures import Better
from assay.records import Direction, Finding, Measure, Scope, Severity, State, Tier
from assay.rulekit.findings import found, knob, told_rate

KNOB = "variables.same_key_of"


def applies(case: Case) -> str | None:
    """Reads and searches that are repeated with one key, or that claim a server's storage."""
    assert isinstance(case, TrialCase)
    if case.phase.directions.get(case.measure.operation) not in (Direction.READ, Direction.METADATA):
        return "neither a read nor a search"
    if knob(case, KNOB) is not None:
        return "it is itself the repetition with one key"
    asked = served.server(case.run) is not None and case.claim.tier is Tier.DEVICE
    return None if asked or repetition(case) else "no workload repeats it with one key"


def repetition(case: TrialCase) -> str | None:
    """The workload that does the same with one key; None where there is none."""
    names = (spec.name for spec in case.experiment.workloads)
    return next((name for name in names if knob(case, KNOB, name) == case.measure.workload), None)


def check(case: Case) -> Finding:
    """How many times as fast one key was answered."""
    assert isinstance(case, TrialCase)
    other = repetition(case)
    times = None if other is None else faster(case, other)
    if times is None:
        lacking = (
            f'a second workload with {KNOB} = "{case.measure.workload}" that does the same with one key'
            if other is None
            else f"the same figure of {other}"
        )
        said = f"Whether the server answers from a cache of its own is not known: it needs {lacking}."
        return found(RULE, case, State.UNVERIFIED, said)
    observed = {"times_as_fast": times}
    said = f"One key was answered {times:.2f} times as fast as all of them"
    if times <= case.thresholds["same"]:
        tail = "a cache of entries, if there is one, had nothing or everything to do with it (T02 tells the page cache's part)"
        return found(RULE, case, State.PASS, f"{said}: {tail}.", observed=observed)
    if times <= case.thresholds["faster"]:
        said = f"{said}, which is too little to tell in one run: repeat it, and compare the two."
        return found(RULE, case, State.UNVERIFIED, said, observed=observed)
    return cached(case, said, observed)


def faster(case: TrialCase, other: str) -> float | None:
    """The figure of the repetition over the measure's own, so that more is faster; None where it is not known."""
    kind = measures.figure_kind(case.measure.figure)
    wanted = Measure(workload=other, operation=case.measure.operation, figure=case.measure.figure)
    figure = measures.value(case.run, case.observations, wanted)
    if kind is None or figure is None or not figure.value or not case.value:
        return None
    ratio = figure.value / case.value
    return ratio if kind.better is Better.HIGHER else 1 / ratio


def cached(case: TrialCase, said: str, observed: dict[str, float]) -> Finding:
    """The failure: the figure depends on which keys are asked for."""
    return found(
        RULE,
        case,
        State.FAIL,
        f"{said}: the server keeps what it has answered, so the figure is one of these keys and of a cache of that size.",
        severity=Severity.QUALIFIES if case.claim.tier is Tier.DEVICE else Severity.NOTES,
        observed={**observed},
        threshold={"faster": case.thresholds["faster"]},
        relabel=f"answers{told_rate(case)} in which a cache of the server has a part: one key is answered"
        f" {observed['times_as_fast']:.1f} times as fast",
    )


RULE = Rule(
    id="T10",
    name="application-cache",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="tier",
    needs=(),
    applies=applies,
    check=check,
    reads=("L0.read",),
    wrong="A directory server answers 1,000 hot entries 50,000 times a second and is bought for a million entries. The "
    "figure was one of its entry cache.",
    alternatives=(
        "The one key is a cheap one (a small entry, a short way down the tree): take another, or several in turn.",
        "All clients at one key wait for one lock, which hides a cache: look at the pages that came into memory (T02).",
        "The processor's own caches are warmer with one key: that is tens of per cent and not more.",
    ),
    advice="Say how many keys there are, how many different ones are asked for and how often each; measure cold and warm, and"
    " with more data than the server's memory.",
    sources=("MLPerf Inference audit TEST04: the same sample must not be more than 10 % faster", "TEST05: another seed"),
)
