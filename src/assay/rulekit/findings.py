"""How a rule words what it found: a finding with the rule's own name, part, alternatives and advice filled in.

`found(RULE, case, State.PASS, "...")` inside a rule's `check` may name the RULE constant that ends the module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypedDict, Unpack

from assay import measures
from assay.catalogue import Case, Rule, TrialCase
from assay.evidence import sources
from assay.records import Bound, Direction, Finding, Limiter, Severity, State, Value
from assay.units import Unit

RATES = (Unit.BYTES_PER_S, Unit.PER_S)

Figures = Mapping[str, float | str | None]


class Details(TypedDict, total=False):
    """Optional fields of a finding; `records.Finding` documents them."""

    severity: Severity
    part: str
    observed: Figures
    threshold: Figures
    """Where the limit is another than those of the rule in limits.toml, which a failed or unverified finding names by itself."""
    bound: Bound | None
    relabel: str | None
    detail: str | None
    evidence: tuple[str, ...]
    limiter: Limiter | None
    lacking: tuple[str, ...]
    """Evidence keys that would decide, if different from those that the rule reads."""
    advice: str
    """What to do in this very case, where that is other than what the rule advises."""
    short: str


MOST_LETTERS = 60
"""Longer values are cut in statements."""


def found(rule: Rule, case: Case, state: State, statement: str, **details: Unpack[Details]) -> Finding:
    """One finding about the case's subject; a failure carries alternative causes and advice."""
    failed, doubtful = state is State.FAIL, state in (State.FAIL, State.UNVERIFIED)
    named = witnesses(rule, case, state)
    missing = lacking(case, state, details.get("lacking") or rule.reads or rule.needs)
    return Finding(
        subject=case.subject,
        phase=case.phase.name if isinstance(case, TrialCase) else None,
        rule=rule.id,
        name=rule.name,
        state=state,
        severity=details.get("severity", rule.severity),
        part=details.get("part", rule.part),
        statement=statement,
        observed=details.get("observed", {}),
        threshold=details.get("threshold", case.thresholds if doubtful else {}),
        bound=details.get("bound"),
        relabel=details.get("relabel"),
        detail=details.get("detail"),
        limiter=details.get("limiter"),
        evidence=(*named, *(one for one in details.get("evidence", ()) if one not in named)),
        alternatives=rule.alternatives if failed else (),
        advice=details.get("advice", rule.advice) if failed else details.get("advice") or to_get(case, missing),
        observers=tuple(dict.fromkeys(name for key in missing for name in sources.on_request(key))),
        host=case.host if isinstance(case, TrialCase) else None,
        role=case.role if isinstance(case, TrialCase) else None,
        short=(details.get("short") or rule.short or rule.name.replace("-", " ")) if doubtful else "",
        meaning=rule.meaning,
    )


def held_back(case: TrialCase, own_share: float | None = None) -> Bound | None:
    """The bound of a load that something held back: a rate is at least, a time at most the measured value.

    `own_share` of the time is certainly the load's own, if known, and limits the other side.
    """
    kind = measures.figure_kind(case.measure.figure)
    if case.value is None or kind is None:
        return None
    if kind.better is measures.Better.HIGHER:
        return Bound(low=case.value, high=None if own_share is None else case.value / own_share, unit=kind.unit)
    return Bound(low=None if own_share is None else case.value * own_share, high=case.value, unit=kind.unit)


def flattered(case: TrialCase, value: float | None = None) -> Bound | None:
    """The bound of a figure that leaves work out: a rate is at most, a time at least the measured value, or this one."""
    kind, value = measures.figure_kind(case.measure.figure), case.value if value is None else value
    if value is None or kind is None:
        return None
    higher = kind.better is measures.Better.HIGHER
    return Bound(low=None if higher else value, high=value if higher else None, unit=kind.unit)


def witnesses(rule: Rule, case: Case, state: State) -> tuple[str, ...]:
    """The sources of the evidence that a rule used, each in words."""
    if state is State.NOT_APPLICABLE or not isinstance(case, TrialCase):
        return ()
    return sources.named(case.phase, case.observations, concerning(case, rule.reads))


def lacking(case: Case, state: State, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the evidence keys that an unverified finding lacks."""
    if state is not State.UNVERIFIED or not isinstance(case, TrialCase):
        return ()
    return tuple(sources.missing(case.phase, case.observations, concerning(case, keys)))


def to_get(case: Case, missing: tuple[str, ...]) -> str | None:
    """The missing evidence, why it is missing, and what it needs; None where nothing is missing."""
    if not missing or not isinstance(case, TrialCase):
        return None
    ways: dict[str, str] = {}
    for key in missing:
        ways.setdefault(sources.words(key), sources.way(case.observations, key))
    return f"Missing evidence: {'; '.join(ways.values())}."


def concerning(case: TrialCase, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The evidence keys of the case's direction: those of reads for reads, of writes for writes."""
    other = {Direction.READ: ".write", Direction.WRITE: ".read"}.get(
        case.phase.directions.get(case.measure.operation, Direction.FLUSH)
    )
    return tuple(key for key in keys if other is None or not key.endswith(other))


def rate_of(case: TrialCase) -> tuple[float, Unit] | None:
    """The case's value with its unit where it is a rate (bytes/s or 1/s), else None."""
    kind = measures.figure_kind(case.measure.figure)
    return (case.value, kind.unit) if case.value is not None and kind is not None and kind.unit in RATES else None


def at_most(case: TrialCase, share: float) -> Bound | None:
    """The upper bound of a rate of which at most this share is as claimed; None if the value is no rate."""
    rate = rate_of(case)
    return Bound(low=None, high=rate[0] * share, unit=rate[1]) if rate else None


def at_least(case: TrialCase, share: float) -> Bound | None:
    """The lower bound of a rate of which this share is certain; None if the value is no rate."""
    rate = rate_of(case)
    return Bound(low=rate[0] * share, high=rate[0], unit=rate[1]) if rate else None


def in_words(bound: Bound | None) -> str:
    """`at most 82.0 MB/s`, `between 80 MB/s and 98 MB/s`; empty where nothing is known."""
    if bound is None or (bound.low is None and bound.high is None):
        return ""
    low, high = (None if edge is None else measures.with_unit(edge, bound.unit) for edge in (bound.low, bound.high))
    if low is None or high is None:
        return f"at least {low}" if high is None else f"at most {high}"
    return f"between {low} and {high}"


def knob(case: TrialCase, name: str, workload: str | None = None) -> Value:
    """What a knob of a workload (the measure's own by default) was in this trial; None where it was not set."""
    owner = workload or case.measure.workload
    if f"{owner}.{name}" in case.run.trial.levels:
        return case.run.trial.levels[f"{owner}.{name}"]
    return next((spec.knobs.get(name) for spec in case.experiment.workloads if spec.name == owner), None)


VARIABLE = re.compile(r"\{(variables\.[a-z0-9_]{1,60})\}")


def argv_of(case: TrialCase) -> tuple[str, ...]:
    """The words of an external command, with the variables of the trial in them; none of another workload."""
    words = knob(case, "argv")
    if not isinstance(words, tuple):
        return ()
    return tuple(VARIABLE.sub(lambda match: str(knob(case, match[1])), str(word)) for word in words)


def shortened(value: str) -> str:
    """A value with at most MOST_LETTERS letters."""
    return value if len(value) <= MOST_LETTERS else f"{value[: MOST_LETTERS - 1]}\u2026"


def change(was: str, now: str) -> str:
    """What a fact was and became; of long lists of words those that came and went."""
    if max(len(was), len(now)) <= MOST_LETTERS:
        return f"{was} -> {now}"
    before, after = was.split(), now.split()
    came, went = ([word for word in one if word not in other] for one, other in ((after, before), (before, after)))
    parts = [f"{sign} {' '.join(words)}" for sign, words in (("with", came), ("without", went)) if words]
    listed = len(before) > 2 and parts and len(came) + len(went) < len(before)
    return shortened(f"now {', '.join(parts)}") if listed else f"{shortened(was)} -> {shortened(now)}"
