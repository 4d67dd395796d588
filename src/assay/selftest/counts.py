"""What the planted lies and their twins came to, counted: pure.

A side that did not come out while something spoiled its run (noise of the platform, a run that failed) is no evidence about
the rule: it is tried again, and not judged where that never ends. What a rule says in spite of noise counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from assay.records import Finding, State
from assay.selftest.control import Heard
from assay.statistics.intervals import Proportion, proportion

TRIES = 3
"""So often at most a control is run until both sides are judged."""


class Side(StrEnum):
    """What a lie or a twin came to."""

    CAUGHT = "caught"
    MISSED = "missed"
    CLEARED = "cleared"
    ACCUSED = "accused"
    """By the rule under test."""
    ACCUSED_BY_OTHERS = "accused by other rules"
    """The rule under test cleared the twin, another one called it invalid."""
    NOT_JUDGED = "not judged"


TWINS = (Side.CLEARED, Side.ACCUSED, Side.ACCUSED_BY_OTHERS)


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """One side with the reason where it is not what it should be."""

    side: Side
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One control run once, with its repetitions for noise."""

    lie: Judgement
    twin: Judgement
    tries: int
    elapsed_ns: int


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A control by the name of its file, its rule, and why this machine cannot run it."""

    name: str
    rule: str
    obstacle: str | None = None


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The counts of one control or of all, with the exact 95 % intervals of their shares."""

    caught: Proportion
    accused: Proportion
    """Twins that any rule accused, of those that were judged."""
    by_others: int
    """Of these, accused by other rules alone."""
    lies_not_judged: int
    twins_not_judged: int
    repeated: int
    """Tries that were spoiled, or told nothing, and were followed by another."""
    elapsed_ns: int


def settled(heard: Sequence[Heard]) -> tuple[Judgement, Judgement] | None:
    """What lie and twin of one control came to after some tries; None while one of them must be tried (again)."""
    if not heard:
        return None
    lie, twin = first(of_lie, heard), first(of_twin, heard)
    open_side = Side.NOT_JUDGED in (lie.side, twin.side)
    return None if open_side and len(heard) < TRIES else (lie, twin)


def first(judge: Callable[[Heard], Judgement], heard: Sequence[Heard]) -> Judgement:
    """The first try that says something about the rule; else the last."""
    judgements = [judge(one) for one in heard]
    return next((one for one in judgements if one.side is not Side.NOT_JUDGED), judgements[-1])


def of_lie(heard: Heard) -> Judgement:
    """Whether the rule caught the lie."""
    if heard.caught:
        return Judgement(side=Side.CAUGHT)
    if heard.lie_spoiled:
        return Judgement(side=Side.NOT_JUDGED, why=heard.lie_spoiled[0])
    return Judgement(side=Side.MISSED, why=reason(one for one in heard.of_lie if one.state != heard.control.says))


def of_twin(heard: Heard) -> Judgement:
    """Whether the rule, or another one, accused the twin; a twin of which the rule cannot tell is not judged."""
    accusing = [one for one in heard.of_twin if one.state in (State.FAIL, heard.control.says)]
    others = [one for one in heard.false_alarms if one.rule != heard.control.rule]
    if heard.cleared and not others:
        return Judgement(side=Side.CLEARED)
    if heard.twin_spoiled:
        return Judgement(side=Side.NOT_JUDGED, why=heard.twin_spoiled[0])
    if accusing:
        return Judgement(side=Side.ACCUSED, why=reason(accusing))
    if others:
        return Judgement(side=Side.ACCUSED_BY_OTHERS, why=reason(others))
    return Judgement(side=Side.NOT_JUDGED, why=reason(one for one in heard.of_twin if one.state is not State.PASS))


def reason(findings: Iterable[Finding]) -> str:
    """The first of some findings in words."""
    found = next(iter(findings), None)
    return "no finding of the rule" if found is None else f"{found.rule} {found.state}: {found.statement}"


def tally(outcomes: Sequence[Outcome]) -> Tally:
    """Count."""
    lies, twins = [one.lie.side for one in outcomes], [one.twin.side for one in outcomes]
    judged = sum(map(twins.count, TWINS))
    return Tally(
        caught=proportion(lies.count(Side.CAUGHT), lies.count(Side.CAUGHT) + lies.count(Side.MISSED)),
        accused=proportion(judged - twins.count(Side.CLEARED), judged),
        by_others=twins.count(Side.ACCUSED_BY_OTHERS),
        lies_not_judged=lies.count(Side.NOT_JUDGED),
        twins_not_judged=twins.count(Side.NOT_JUDGED),
        repeated=sum(one.tries - 1 for one in outcomes),
        elapsed_ns=sum(one.elapsed_ns for one in outcomes),
    )


def remarks(outcomes: Sequence[Outcome]) -> Iterator[str]:
    """What did not come out as it should, each different sentence once with how often."""
    sentences = [
        f"{what} {judgement.side}: {judgement.why}"
        for one in outcomes
        for what, judgement in (("lie", one.lie), ("twin", one.twin))
        if judgement.side not in (Side.CAUGHT, Side.CLEARED)
    ]
    for sentence in dict.fromkeys(sentences):
        times = sentences.count(sentence)
        yield sentence if times == 1 else f"{sentence} ({times} times)"
