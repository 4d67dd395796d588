"""What a number really is, as values: from its claim and its findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from assay.audit.verdicts import failures, notes, unverified
from assay.catalogue import About, TrialCase
from assay.evidence import ladder
from assay.measures import Figure
from assay.records import (
    Circumstance,
    Direction,
    Durability,
    Finding,
    Label,
    Meaning,
    Nature,
    Phase,
    Regime,
    Run,
    State,
    Tier,
    Verdict,
    VerdictState,
)
from assay.rulekit.findings import knob
from assay.rulekit.soundness import required_rules

NAMED = (Regime.COLD, Regime.WARM, Regime.STEADY)
"""Regimes that belong to the name of an operation's figure."""
WORTH_SAYING = 0.05
"""A drain that is a smaller share of the time is not named: by default a difference as small does not matter."""
MOST = 2
"""A label names at most so many failed findings."""


def label(case: TrialCase, figure: Figure | None, findings: Sequence[Finding], state: VerdictState | None = None) -> Label:
    """The label of a verdict: what failed findings make of the number, else what the claim turned out to be.

    A verdict that is UNVERIFIED has the rule as its reason that the claim needs, whatever bounds the figure besides.
    """
    operation, failed = case.measure.operation, failures(findings)
    disturbed = [finding.rule for finding in failed if finding.is_disturbance]
    if len(failed) > len(disturbed) and state is not VerdictState.UNVERIFIED:
        because = [finding.rule for finding in explained([one for one in failed if not one.is_disturbance])]
        course = min((one for one in notes(findings) if one.meaning in COURSES), key=rank, default=None)
        noted = course.rule if course else None
        return Label(nature=Nature.OTHER, operation=operation, because=tuple(because[:MOST]), noted=noted)
    regime = case.claim.regime if case.claim.regime in NAMED else None
    held = [one.rule for one in explained([one for one in failed if not one.is_disturbance])]
    disturbed_by = next(iter(disturbed), None)
    lacking = tuple(unverified(findings, required(case)))
    if lacking or is_as_is(case):
        as_seen = Label(
            nature=Nature.UNVERIFIED if lacking else Nature.AS_SEEN,
            operation=operation,
            regime=regime,
            circumstance=circumstance(case),
            because=tuple(held[:MOST]),
            noted=next((one.rule for one in sorted(explained(notes(findings)), key=rank) if one.relabel), None),
            lacking=lacking,
            limited_by=None if lacking else limiter(findings),
            disturbed_by=disturbed_by,
        )
        return with_flush(as_seen, figure)
    nature = confirmed(case)
    charged = figure if nature in WRITTEN and figure and figure.raw is not None and figure.drain_ns is not None else None
    flushed = nature in WRITTEN and is_flushed(case.phase, charged)
    told = None if flushed else charged
    return Label(
        nature=nature,
        operation=operation,
        regime=None if nature in WRITTEN else regime,
        circumstance=circumstance(case),
        device=below(case) if nature in (Nature.DEVICE_READ, Nature.DEVICE_WRITE) else None,
        flushed=flushed,
        drain_ns=told.drain_ns if told else None,
        flush_ns=told.flush_ns if told else 0.0,
        flushes=told.flushes if told else 0,
        undrained=told.raw if told else None,
        limited_by=limiter(findings),
        disturbed_by=disturbed_by,
    )


COURSES = (Meaning.UNEQUAL, Meaning.PAUSE)
"""What happened while the clock ran, the cause first: a starved stream's last operation ends late, or never."""


def rank(note: Finding) -> tuple[bool, int]:
    """The order of notes: a starved stream or a pause first, then what limited the figure, and the way of the bytes last."""
    return note.part == "path", COURSES.index(note.meaning) if note.meaning in COURSES else len(COURSES)


def with_flush(label: Label, figure: Figure | None) -> Label:
    """With the flush at the end that the figure counts."""
    if figure is None or figure.drain_ns is not None or not figure.flush_ns:
        return label
    return replace(label, flush_ns=figure.flush_ns, flushes=figure.flushes, undrained=figure.raw)


REMOVALS = ("unlink",)
WRITTEN = (Nature.STABLE_MEDIA, Nature.DEVICE_WRITE)
"""What has a flush."""


def explained(findings: Sequence[Finding]) -> list[Finding]:
    """Without hits in memory where the files have holes: reads of zeros ask no device, and no cache answers them."""
    zeros = any(finding.meaning is Meaning.HOLES for finding in findings)
    return [finding for finding in findings if not (zeros and finding.meaning is Meaning.PAGE_CACHE)]


def circumstance(case: TrialCase) -> Circumstance | None:
    """Whether writes were to new files, and whether removed files gave their blocks back to the device."""
    operation = case.measure.operation
    if operation in REMOVALS and (knob(case, "file_bytes") or knob(case, "size_distribution")):
        (of_target,) = case.about(About.TARGET_HOST)
        options = of_target.observations.fact("target.mount.options")
        if options is None:
            return None
        return Circumstance.DISCARD if "discard" in options.split(",") else Circumstance.NO_DISCARD
    if case.direction is not Direction.WRITE or operation.endswith("rewrite"):
        return None
    new = {host.new_files for host in case.phase.hosts} - {None}
    if len(new) != 1:
        return None
    return Circumstance.NEW_FILE if True in new else Circumstance.OVERWRITE


def required(case: TrialCase) -> tuple[str, ...]:
    """The rules that the claim needs."""
    return required_rules(case.claim, case.direction)


def is_as_is(case: TrialCase) -> bool:
    """Whether nothing is claimed that a layer below the application could confirm."""
    return case.claim.tier is Tier.AS_IS and case.claim.durability in (None, Durability.NONE, Durability.ACKED)


def confirmed(case: TrialCase) -> Nature:
    """A claim that holds."""
    if case.claim.durability is Durability.STABLE_MEDIA:
        return Nature.STABLE_MEDIA
    if case.claim.tier is Tier.CLIENT_CACHE:
        return Nature.CLIENT_CACHE
    if case.claim.tier is Tier.SERVER_CACHE:
        return Nature.SERVER_CACHE
    return Nature.DEVICE_WRITE if case.direction is Direction.WRITE else Nature.DEVICE_READ


def below(case: TrialCase) -> str | None:
    """The name of the lowest device that moved bytes of this direction."""
    (of_target,) = case.about(About.TARGET_HOST)
    step = ladder.lowest_device(case.phase, of_target.observations, case.direction) if case.direction else None
    return step.device if step else None


def is_flushed(phase: Phase, charged: Figure | None) -> bool:
    """Whether the clock includes the flush, and no drain worth naming came after it."""
    seconds = charged.window.seconds if charged and charged.window else 0.0
    drained_s = (charged.drain_ns or 0) / 1e9 if charged else None
    return phase.flush_in_clock and (drained_s is None or drained_s < WORTH_SAYING * seconds)


def limiter(findings: Iterable[Finding]) -> str | None:
    """The rule that names a limiter by passing."""
    named = (one.rule for one in findings if one.meaning and one.meaning.is_limiter and one.state is State.PASS and one.relabel)
    return next(named, None)


def of_no_phase(run: Run, operation: str) -> Label:
    """A run that did not get as far as this operation."""
    return Label(nature=Nature.NO_FIGURE, operation=operation, outcome=run.outcome, error=run.error or None)


def of_comparison(own: VerdictState, runs: Iterable[Verdict], findings: Sequence[Finding]) -> Label:
    """What its rules hold against a comparison, and how its runs were judged."""
    counts = Counter(one.state for one in runs)
    held = [finding.rule for finding in failures(findings)] if own is not VerdictState.SOUND else []
    return Label(
        nature=Nature.COMPARISON,
        because=tuple(held[:MOST]),
        runs=tuple((state, counts[state]) for state in VerdictState if counts[state]),
    )
