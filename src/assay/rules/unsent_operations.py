"""Finds directory operations that a load counts and that never passed the wire.

The rule compares three counts, each from arming to the last operation: clients, wire (observer wire) and server (observer
directory_monitor). Assay's own requests to the server's monitor are taken off.
- More at the clients than on the wire: a contradiction, unless the server confirms them.
- More at both ends than on the wire: the capture lost frames, and the rule is unverified. It is unverified as well if the
  capture itself reports drops or holes and no server has counted more.
- More at the server than on the wire: other clients came another way, such as a local socket (ldapi).
- More on the wire than from the clients: other clients, named by their addresses.

The last two are notes. Encrypted connections (TLS, StartTLS, SASL) leave the rule unverified. Without the observer wire it does
not apply.
"""

from __future__ import annotations

from collections.abc import Iterator

from assay.catalogue import About, Rule, TrialCase
from assay.evidence import operations
from assay.evidence.operations import KINDS, WIRE, OperationGap, OperationLadder, OperationStep, amount
from assay.records import Finding, Scope, Severity, State
from assay.rulekit.findings import Figures, found


def applies(case: TrialCase) -> str | None:
    """Loads on a directory server whose wire was captured, or was to be."""
    asked = case.observations.why_missing(f"{WIRE}.search") or any(
        True for _ in case.observations.over_time(case.phase.name, WIRE, "search")
    )
    if not operations.client_counts(case.phase):
        return "no operations on a directory server"
    return None if asked else "the wire was not captured (observer wire)"


def check(case: TrialCase) -> Finding:
    """The three counts of the measure's kind; of all kinds what came from others."""
    ladder = operations.operations(case.run, case.phase, case.observations)
    if ladder is None or not ladder.captured:
        encrypted = ladder.encrypted_bytes if ladder else 0
        statement = f"Encrypted: {encrypted:,} bytes that nobody can read." if encrypted else "Operations on the wire unknown."
        return found(RULE, case, State.UNVERIFIED, statement, lacking=() if encrypted else (f"{WIRE}.search",))
    mine = [step for step in ladder.steps if step.operation in kinds(case)]
    unsent = [(step, step.gaps[OperationGap.UNSENT]) for step in mine if OperationGap.UNSENT in step.gaps]
    observed = figures(ladder)
    if unsent:
        statement = " ".join(f"The load counts {counts(step)}." for step, _ in unsent)
        return found(RULE, case, State.FAIL, statement, observed=observed, relabel="operations that were never sent")
    if lost := [step for step in mine if OperationGap.LOST in step.gaps]:
        text = ", ".join(amount(step.operation, step.gaps[OperationGap.LOST]) for step in lost)
        return found(RULE, case, State.UNVERIFIED, f"The capture lacks at least {text}.", observed=observed)
    strange = [*others(ladder)]
    if not strange:
        return found(RULE, case, State.PASS, f"{agreed(mine, ladder)}.", observed=observed)
    return found(
        RULE,
        case,
        State.FAIL,
        " ".join(strange),
        severity=Severity.NOTES,
        observed=observed,
        relabel="the server worked for other clients, too",
        advice="Find out who else uses the server, or measure when nobody does.",
    )


def kinds(case: TrialCase) -> tuple[str, ...]:
    """The kind that the measure is about; all kinds of a measure of no operation."""
    name = case.phase.within.get(case.measure.operation, case.measure.operation)
    return (name,) if name in KINDS else tuple(KINDS)


def counts(step: OperationStep) -> str:
    """`15,000 searches, 14,900 passed the wire, the server counts 14,900`."""
    server = "" if step.server is None else f", the server counts {step.server:,}"
    return f"{amount(step.operation, step.client or 0)}, {step.wire or 0:,} passed the wire{server}"


def others(ladder: OperationLadder) -> Iterator[str]:
    """Who else asked the server, by kind."""
    for step, count in ladder.gap(OperationGap.ELSEWHERE):
        more = amount(step.operation, count)
        yield f"The server counts {more} more than passed the wire: other clients came another way (ldapi)."
    for step, count in ladder.gap(OperationGap.OTHERS):
        if step.client is not None:
            origin = ", ".join(f"{address} ({number:,})" for address, number in step.others.items())
            yield f"{amount(step.operation, count)} on the wire came from other clients{f': {origin}' if origin else ''}."


def agreed(mine: list[OperationStep], ladder: OperationLadder) -> str:
    """What agrees, and about how many."""
    ends = "Client, wire and server" if ladder.monitored else "Client and wire"
    return f"{ends} agree: {', '.join(amount(step.operation, step.wire or 0) for step in mine)}"


def figures(ladder: OperationLadder) -> Figures:
    """The counts by kind and by who counted."""
    made: dict[str, float | str | None] = {"lacking": float(ladder.lacking)}
    for step in ladder.steps:
        for name in ("client", "wire", "server"):
            made[f"{step.operation}_{name}"] = getattr(step, name)
    return made


RULE = Rule(
    id="E12",
    name="unsent-operations",
    scope=Scope.TRIAL,
    severity=Severity.INVALIDATES,
    part="evidence",
    short="operations that were never sent",
    reads=("wire.search", "directory.search"),
    applies=applies,
    check=check,
    about=About.ALL_HOSTS,
    wrong="A load generator counts requests when it makes them, counts retries twice, or answers from a cache of its own. Its "
    "rate has searches in it that no server ever saw. Or another program asks the same server, and its work is missed in both "
    "the rate and the reason for it.",
    alternatives=(
        "The clients use another interface or port than the one that was captured: a proxy, a second address.",
        "The capture dropped frames without telling it. Repeat the run: a loss differs from run to run.",
    ),
    at_shell="Compare with a second tool: a command that counts what it never sent is not to be believed.",
    advice="Compare with a second tool, and find the first place at which operations vanish (`assay show RUN`).",
    sources=("RFC 4511: each request has a message of its own", "RFC 1761, pcapng: what a capture can tell of its own drops"),
)
