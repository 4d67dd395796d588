"""Finds a cache of entries or records in the server: one key repeated is answered faster than all keys in turn.

A second workload of the same trial repeats the first one with a single key and names it:

```toml
[workloads.search]
kind = "command"
argv = ["./search", "--keys", "{variables.keys}"]
variables = { keys = "all" }

[workloads.same]
kind = "command"
argv = ["./search", "--keys", "{variables.keys}"]
variables = { keys = "one", same_key_of = "search" }
```

- At most `same` times as fast: pass. A cache had no part in it, or answered everything.
- Up to `faster` times: unverified. One run cannot separate that from a busy neighbour (1.56 was measured without any cache).
- More: it qualifies tier = device and is a note under any other claim.

Without such a workload the rule is unverified for tier = device on a server, and n/a elsewhere.
A cache that holds all keys makes both runs alike. T02 measures the server's page cache.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import served
from assay.measures import Better
from assay.records import Direction, Finding, Measure, Scope, Severity, State, Tier
from assay.rulekit.findings import found, knob

KNOB = "variables.same_key_of"


def applies(case: TrialCase) -> str | None:
    """Reads and searches that are repeated with one key, or that claim a server's storage."""
    if case.direction not in (Direction.READ, Direction.METADATA):
        return "neither a read nor a search"
    if knob(case, KNOB) is not None:
        return "the repetition with one key itself"
    is_claimed = served.server(case.run) is not None and case.claim.tier is Tier.DEVICE
    return None if is_claimed or repetition(case) else "no workload repeats it with one key"


def repetition(case: TrialCase) -> str | None:
    """The workload that does the same with one key; None where there is none."""
    names = (spec.name for spec in case.experiment.workloads)
    return next((name for name in names if knob(case, KNOB, name) == case.measure.workload), None)


def check(case: TrialCase) -> Finding:
    """How many times as fast one key was answered."""
    other = repetition(case)
    times = None if other is None else faster(case, other)
    if times is None:
        second = f'a second workload with {KNOB} = "{case.measure.workload}" and a single key'
        lacking = second if other is None else f"the same figure of {other}"
        return found(RULE, case, State.UNVERIFIED, f"Server cache unknown: add {lacking}.")
    observed = {"times_as_fast": times}
    ratio = f"One key was {times:.2f} times as fast as all keys"
    if times <= case.thresholds["same"]:
        tail = f"no sign of an entry cache (limit {case.thresholds['same']:g}; T02 covers the page cache)"
        return found(RULE, case, State.PASS, f"{ratio}: {tail}.", observed=observed)
    if times <= case.thresholds["faster"]:
        text = f"{ratio}: too little for one run (limit {case.thresholds['faster']:g}). Repeat and compare."
        return found(RULE, case, State.UNVERIFIED, text, observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        f"{ratio} (limit {case.thresholds['faster']:g}): the server caches answers, so the figure depends on these keys.",
        severity=Severity.QUALIFIES if case.claim.tier is Tier.DEVICE else Severity.NOTES,
        observed=observed,
        relabel="answers with a server cache involved",
        detail=f"one key was {times:.1f} times as fast",
    )


def faster(case: TrialCase, other: str) -> float | None:
    """The figure of the repetition over the measure's own, so that more is faster; None where it is not known."""
    kind = measures.figure_kind(case.measure.figure)
    wanted = Measure(workload=other, operation=case.measure.operation, figure=case.measure.figure)
    figure = measures.value(case.run, case.observations, wanted)
    if kind is None or figure is None or not figure.value or not case.value:
        return None
    ratio = figure.value / case.value
    return ratio if kind.better is Better.HIGHER else 1 / ratio


RULE = Rule(
    id="T10",
    name="application-cache",
    scope=Scope.TRIAL,
    severity=Severity.QUALIFIES,
    part="tier",
    applies=applies,
    check=check,
    about=About.ALL_LOAD_HOSTS,
    reads=("L0.read",),
    wrong="A directory server answers 1,000 hot entries 50,000 times a second and is bought for a million entries. The figure "
    "described its entry cache.",
    alternatives=(
        "The repeated key is a cheap one (a small entry, a short path in the tree). Take another key, or several in turn.",
        "All clients wait for one lock at one key, which hides a cache. Check the pages that came into memory (T02).",
        "The CPU caches are warmer with one key. That explains tens of per cent at most.",
    ),
    advice="Report the number of keys, the number of different keys requested, and how often each was requested. Measure cold "
    "and warm, and with more data than the server's memory.",
    sources=("MLPerf Inference audit TEST04: the same sample must not be more than 10 % faster", "TEST05: another seed"),
)
