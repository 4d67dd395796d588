"""`assay check "CLAIM"`: a published number judged by arithmetic alone; nothing is run."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence

from assay import plain
from assay.audit import limits
from assay.audit.verdicts import state_of
from assay.cli import pasted
from assay.errors import UsageError
from assay.laboratory.gate import BAD_VERDICT, Gate
from assay.published import arithmetic, reading
from assay.published.claim import RULES, Case, in_other_words, label
from assay.published.statement import PrintedFigure, Statement
from assay.records import Experiment, Finding, Severity, State, VerdictState
from assay.terminal.output import at_most, deliver

WIDTH = 120
TITLE_WIDTH = 16
MOST_LETTERS = 4000
"""A claim is a sentence or a few."""
UNIT_BEHIND = re.compile(r"(?<=[0-9]) (?=[%A-Za-z])")
EXAMPLE = '"1 GB/s read, 512 MB in 0.6 s, 12 GB RAM, 2 x 2GFC"'


def check(words: Sequence[str], *, json_to: str | None, gate: Gate) -> int:
    """Read the claim, judge it, show it; the exit status. Raises UsageError where it has no figure that is understood."""
    text = " ".join(words)
    claims = pasted.claims_of(text)
    if not claims and len(text) > MOST_LETTERS:
        raise UsageError(f"found a claim of {len(text):,} letters; expected at most {MOST_LETTERS:,}")
    each = [judged(reading.read(claim)) for claim in claims.values() or [text]]
    if not any(statement.figures for statement, *_ in each):
        raise UsageError("\n".join([f"found no figure in {text!r}; expected a claim such as {EXAMPLE}", *quoted(each[0][0])]))
    deliver(
        json_to,
        "check",
        lambda: (
            {"operations": dict(zip(claims, (as_plain(*one) for one in each), strict=True))} if claims else as_plain(*each[0])
        ),
        lambda: "\n".join(
            line for name, one in zip(claims or [""], each, strict=True) for line in (*operation(name), *lines(*one))
        ),
    )
    return BAD_VERDICT if gate is Gate.STRICT or any(state in gate.bad for *_, state in each) else 0  # strict: verifies nothing


def operation(name: str) -> list[str]:
    """The line before the claims of an operation; none where the claim is in words."""
    return titled("operation", name) if name else []


def judged(statement: Statement) -> tuple[Statement, Sequence[Finding], VerdictState]:
    """A statement with what the rules find in it, and its verdict."""
    thresholds = {rule.id: limits.thresholds(rule.id) for rule in RULES}
    findings = arithmetic.check(Case(statement=statement, thresholds=thresholds, matters=Experiment.matters_share))
    return statement, findings, state_without_run(findings)


def state_without_run(findings: Sequence[Finding]) -> VerdictState:
    """The verdict; where nothing is wrong UNVERIFIED, for figures without a run prove nothing."""
    state = state_of(findings, required=())
    return VerdictState.UNVERIFIED if state is VerdictState.SOUND else state


def summary(statement: Statement, findings: Sequence[Finding]) -> str:
    """What the number is, in one line."""
    unread = [one.text for one in statement.quoted if any(letter.isdigit() for letter in one.text)]
    left_out = f"; not judged: {', '.join(map(repr, unread))}" if unread and findings else ""
    return label(findings, tuple(in_other_words(statement))) + left_out


# --------------------------------------------------------------------------------------------------- for people


def lines(statement: Statement, findings: Sequence[Finding], state: VerdictState) -> Iterator[str]:
    """The verdict, what was understood and what was not, then each finding; failures first."""
    yield from wrapped(f"{state}: {summary(statement, findings)}", "", "  ")
    yield from titled("understood", ", ".join(understood(statement)))
    for one in quoted(statement):
        yield from titled("not understood", one)
    for title, lines in (("assumed", statement.assumed), ("in other words", tuple(in_other_words(statement)))):
        for line in lines:
            yield from titled(title, line)
    ranked = sorted(findings, key=lambda one: (one.state is not State.FAIL, list(Severity).index(one.severity)))
    for finding in ranked:
        yield from titled(f"{finding.rule} {outcome_text(finding)}", finding.statement)
    advice = next((f"{one.rule}: {one.advice}" for one in ranked if one.advice and one.severity is not Severity.NOTES), None)
    if advice is not None:
        yield from titled("what to do", advice)


def outcome_text(finding: Finding) -> str:
    """`fails`, `passes`; `note` for a failure without consequence."""
    if finding.state is State.PASS:
        return "passes"
    return "note" if finding.severity is Severity.NOTES else "fails"


def understood(statement: Statement) -> Iterator[str]:
    """Each part with its kind: `rate 1 GB/s (read)`, `link 2 x 2GFC`."""
    yield from (f"{figure.kind} {figure.description}" for figure in statement.figures)
    yield from (f"link {wire.name}" for wire in statement.wires)


def quoted(statement: Statement) -> Iterator[str]:
    """What was not understood, with its columns: pieces that are wrong in the same way on one line."""
    for reason in dict.fromkeys(one.reason for one in statement.quoted):
        pieces = [f"column {one.column} {one.text!r}" for one in statement.quoted if one.reason == reason]
        yield f"{', '.join(pieces)}: {reason}"


def titled(title: str, text: str) -> list[str]:
    """A line with its title in front, its continuations below its text."""
    return wrapped(f"{title:<{TITLE_WIDTH}}{text}", "", " " * TITLE_WIDTH)


def wrapped(text: str, first: str, further: str) -> list[str]:
    """Lines of the width of a page; a figure stays on one line with its unit."""
    glued = UNIT_BEHIND.sub("\N{NO-BREAK SPACE}", text)
    lines = textwrap.wrap(glued, at_most(WIDTH), initial_indent=first, subsequent_indent=further, break_long_words=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in lines]


# ------------------------------------------------------------------------------------------------- for programs


def as_plain(statement: Statement, findings: Sequence[Finding], state: VerdictState) -> dict[str, object]:
    """Everything as one object; numbers in base units, null where an interval has no end."""
    return {
        "claim": statement.text,
        "state": str(state),
        "label": summary(statement, findings),
        "understood": [figure_as_plain(figure) for figure in statement.figures],
        "links": [
            {"name": wire.name, "payload_bytes_per_s": wire.link.payload_bytes_per_s, "source": wire.link.source}
            for wire in statement.wires
        ],
        "assumed": list(statement.assumed),
        "in_other_words": list(in_other_words(statement)),
        "not_understood": [{"column": one.column, "text": one.text, "reason": one.reason} for one in statement.quoted],
        "findings": [plain.to_plain(finding) for finding in findings],
    }


def figure_as_plain(figure: PrintedFigure) -> dict[str, object]:
    """One figure with what it can have been."""
    low, high = figure.interval.low, figure.interval.high
    return {
        "kind": str(figure.kind),
        "text": figure.text,
        "column": figure.start + 1,
        "value": float(figure.value),
        "low": float(low),
        "high": None if high is None else float(high),
        "unit": figure.base,
        "roles": sorted(role.value for role in figure.roles),
    }
