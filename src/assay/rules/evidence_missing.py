"""Names the evidence that a claim needs and does not have: unobserved is UNVERIFIED, never sound.

The table in [concepts](../concepts.md) lists the evidence for each part of a claim.
A key without a reading, a series or a fact is missing; the finding repeats the observers' reasons.
An unfinished run, or one that lost a client, is invalid. A measure without a value is unverified, and so is every figure of an
imported result (`assay import`), which nobody watched.
"""

from __future__ import annotations

from assay import measures
from assay.catalogue import About, Rule, TrialCase
from assay.evidence import sources, tapes
from assay.records import Direction, Finding, Meaning, Outcome, Scope, Severity, State
from assay.rulekit.findings import found
from assay.rulekit.soundness import SoundnessRow, rows_for

SYNCED = "synced_bytes_per_s"


def no_figure(case: TrialCase) -> str:
    """Why there is no figure."""
    if (of_host := measures.host_and_key(case.measure.figure)) is not None:
        host, key = of_host
        reason = (case.everywhere or case.observations).on(host).why_missing(key)
        return f"host {host} gave no {key}: {reason}" if reason else f"host {host} gave no {key} beside the operations"
    if case.measure.figure == "busy_ops_per_s" and measures.client_operations(case.phase, case.measure.operation):
        return "no busy time with several requests in flight or an offered rate"
    if case.measure.figure == SYNCED and case.phase.drain_ns is None:
        return unflushed(case)
    return "no operation completed, or none counted"


def unflushed(case: TrialCase) -> str:
    """Why no flush of both ends was timed, and what to ask for."""
    if case.direction is Direction.READ:
        return "reads leave nothing to flush. Ask for bytes_per_s"
    return (
        "no flush followed the last write, so its time is unknown. Assay flushes only files that it reaches, and no drill. "
        "Name the directory of the server's data in the target (`data` of s3_existing), or ask for bytes_per_s"
    )


def check(case: TrialCase) -> Finding:
    """Outcome of the run, a value, and the evidence that each part of the claim needs."""
    if case.run.outcome is not Outcome.FINISHED:
        reason = f": {case.run.error}" if case.run.error else ""
        statement = f"The run is {case.run.outcome}{reason}. Its rest does not measure the experiment."
        label = f"part of a {case.run.outcome} run"
        return found(RULE, case, State.FAIL, statement, relabel=label, advice=OF_A_RUN)
    if case.value is None:
        return found(RULE, case, State.UNVERIFIED, f"No {case.measure.figure} of {case.measure.operation}: {no_figure(case)}.")
    if (why := case.observations.why_missing(sources.WATCH)) is not None:
        statement = f"Nobody watched the run: {why}."
        return found(RULE, case, State.UNVERIFIED, statement, evidence=(sources.WATCH,), lacking=(sources.WATCH,))
    lacking = [row for row in rows_for(case.claim, case.direction) if lacks(case, row)]
    if not lacking:
        return found(RULE, case, State.PASS, "All evidence for the claim is present.")
    keys = tuple(dict.fromkeys(key for row in lacking for key in absent(case, row)))
    return found(
        RULE,
        case,
        State.UNVERIFIED,
        " ".join(in_words(case, row) for row in lacking),
        observed={key: case.observations.why_missing(key) or "no observer gave it" for key in keys},
        evidence=keys,
        lacking=keys,
    )


def asked(case: TrialCase, row: SoundnessRow) -> tuple[str, ...]:
    """The evidence that a row asks for: of a tape only where the load has one."""
    has_tape = bool(tapes.drives(case.run))
    return tuple(key for key in row.evidence if has_tape or not key.startswith(f"{tapes.LAYER}."))


def absent(case: TrialCase, row: SoundnessRow) -> tuple[str, ...]:
    """The evidence of a row that is not there."""
    return tuple(key for key in asked(case, row) if not sources.has(case.phase, case.observations, key))


def lacks(case: TrialCase, row: SoundnessRow) -> bool:
    """Whether fewer kinds of evidence are there than the row asks for."""
    return len(asked(case, row)) - len(absent(case, row)) < row.least


def in_words(case: TrialCase, row: SoundnessRow) -> str:
    """What is claimed, what it needs, what is not there and why."""
    missing, wanted = absent(case, row), asked(case, row)
    reasons = dict.fromkeys(filter(None, map(case.observations.why_missing, missing)))
    why = f" ({'; '.join(reasons)})" if reasons else ""
    needed = f"{row.least} of {', '.join(wanted)}" if row.least < len(wanted) else " and ".join(wanted)
    return f"{row.part} = {row.value} needs {needed}; missing: {', '.join(missing)}{why}."


OF_A_RUN = "Mend what ended the run, and repeat it."


RULE = Rule(
    id="E01",
    name="evidence-missing",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="evidence",
    short="evidence missing",
    meaning=Meaning.UNFINISHED,
    check=check,
    about=About.EACH_LOAD_HOST_WITH_TARGET,
    wrong="A check without evidence says nothing, and its silence is read as approval. A figure whose I/O no observer covers "
    "is then as good as one with evidence down to the disk.",
    alternatives=("The observer was switched off in the experiment file: check `observers`.",),
    advice="Run `assay doctor`: it lists the evidence that this machine allows, and how to get the rest (often: run as root).",
    sources=("An absent reading proves nothing: the audit's first rule",),
)
