"""What the planted lies and their twins came to, counted and in words: pure.

A side that did not come out while something spoiled its run (noise of the platform, a run that failed) is no evidence about
the rule: it is tried again, and not judged where that never ends. What a rule says in spite of noise counts.
The words are the answer, a line a control, and the sums; `plain` gives them as assay.selftest-audit/1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from assay.records import Finding, State
from assay.selftest.control import Heard
from assay.statistics.intervals import Proportion, proportion
from assay.terminal.output import Row, table

TRIES = 3
"""So often at most a control is run until both sides are judged."""
VERB = "selftest-audit"
HEADER = ("rule", "control", "caught", "95 % interval", "accused", "95 % interval", "not judged")
NS = 1e9


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
class ControlOutcome:
    """One control run once, with its repetitions for noise."""

    lie: Judgement
    twin: Judgement
    tries: int
    elapsed_ns: int


@dataclass(frozen=True, kw_only=True)
class NamedControl:
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
    by_another = [one for one in heard.false_alarms if one.rule != heard.control.rule]
    if heard.cleared and not by_another:
        return Judgement(side=Side.CLEARED)
    if heard.twin_spoiled:
        return Judgement(side=Side.NOT_JUDGED, why=heard.twin_spoiled[0])
    if heard.accusing:
        return Judgement(side=Side.ACCUSED, why=reason(heard.accusing))
    if by_another:
        return Judgement(side=Side.ACCUSED_BY_OTHERS, why=reason(by_another))
    return Judgement(side=Side.NOT_JUDGED, why=reason(one for one in heard.of_twin if one.state is not State.PASS))


def reason(findings: Iterable[Finding]) -> str:
    """The first of some findings in words."""
    found = next(iter(findings), None)
    return "no finding of the rule" if found is None else f"{found.rule} {found.state}: {found.statement}"


def tally(outcomes: Sequence[ControlOutcome]) -> Tally:
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


def remarks(outcomes: Sequence[ControlOutcome]) -> Iterator[str]:
    """What did not come out as it should, each different sentence once with how often."""
    return each_once(
        f"{what} {judgement.side}: {judgement.why}"
        for one in outcomes
        for what, judgement in (("fault", one.lie), ("control", one.twin))
        if judgement.side not in (Side.CAUGHT, Side.CLEARED)
    )


def each_once(sentences: Iterable[str]) -> Iterator[str]:
    """Each different sentence once with how often."""
    for sentence, times in Counter(sentences).items():
        yield sentence if times == 1 else f"{sentence} ({times} times)"


@dataclass(frozen=True, kw_only=True)
class ControlResults:
    """All controls that were asked for, with what came of each."""

    rows: tuple[tuple[NamedControl, tuple[ControlOutcome, ...]], ...]
    times: int
    complete: bool = True
    """Whether it came to its end without an interrupt."""

    @property
    def outcomes(self) -> tuple[ControlOutcome, ...]:
        """Of all controls together."""
        return tuple(one for _, outcomes in self.rows for one in outcomes)

    @property
    def skipped(self) -> tuple[NamedControl, ...]:
        """What this machine or user cannot run."""
        return tuple(subject for subject, _ in self.rows if subject.obstacle is not None)


def answer(results: ControlResults) -> str:
    """`28 of 28 faults caught, 0 of 28 controls accused; ...` in one sentence."""
    whole = tally(results.outcomes)
    lies, twins = whole.caught, whole.accused
    if not lies.of and not twins.of:
        return "nothing was judged" + ("" if results.complete else "; interrupted before the first pair finished")
    parts = [f"{lies.happened} of {lies.of} faults caught, {twins.happened} of {twins.of} controls accused"]
    if lies.low is not None and twins.high is not None:
        parts.append(f"95 % CI limits: at least {percent(lies.low)} caught, at most {percent(twins.high)} accused")
    if not results.complete:
        parts.append("interrupted; counts so far")
    return "; ".join(parts)


def text(results: ControlResults) -> str:
    """For people."""
    rows = [row(subject, outcomes) for subject, outcomes in results.rows]
    noted = [
        f"{subject.rule} {subject.name}: {remark}" for subject, outcomes in results.rows for remark in remarks(outcomes)
    ]  # below the table, for they are long
    rows_text = table(HEADER, [*rows, sums(results)], (2, 3, 4, 5, 6))
    return "\n\n".join(part for part in (answer(results), "\n".join(noted), rows_text) if part)


def row(subject: NamedControl, outcomes: tuple[ControlOutcome, ...]) -> Row:
    """One control."""
    if subject.obstacle is not None:
        return Row(cells=(subject.rule, subject.name, "-", "", "-", "", "-"), note=f"skipped: {subject.obstacle}")
    found = tally(outcomes)
    return Row(cells=(subject.rule, subject.name, *cells(found)), note=note(found))


def sums(results: ControlResults) -> Row:
    """The last line."""
    found = tally(results.outcomes)
    skipped = f"{len(results.skipped)} skipped" if results.skipped else ""
    took = f"{found.elapsed_ns / NS:.0f} s"
    return Row(
        cells=("sum", f"{len(results.rows)} controls", *cells(found)),
        note="; ".join(part for part in (skipped, note(found), took) if part),
    )


def cells(found: Tally) -> tuple[str, ...]:
    """The columns of counts."""
    lost = found.lies_not_judged + found.twins_not_judged
    return (of(found.caught), interval(found.caught), of(found.accused), interval(found.accused), str(lost))


def note(found: Tally) -> str:
    """What is not in the columns."""
    parts = (
        f"{found.by_others} accused by other rules only" if found.by_others else "",
        f"{found.repeated} {'try' if found.repeated == 1 else 'tries'} repeated after noise" if found.repeated else "",
    )
    return ", ".join(part for part in parts if part)


def of(share: Proportion) -> str:
    """`3 of 3`."""
    return f"{share.happened} of {share.of}" if share.of else "-"


def interval(share: Proportion) -> str:
    """`29.2 % to 100 %`."""
    return "" if share.low is None or share.high is None else f"{percent(share.low)} to {percent(share.high)}"


def percent(share: float) -> str:
    """`97.5 %`, `0 %`, `100 %`."""
    return f"{share * 100:.1f} %".replace(".0 %", " %")


def head(answer: str, *, complete: bool) -> dict[str, Any]:
    """How what was counted begins as JSON: every share in it has an exact interval of this confidence."""
    return {"answer": answer, "complete": complete, "confidence": 0.95}


def plain(results: ControlResults) -> dict[str, Any]:
    """The object of the schema."""
    return {
        **head(answer(results), complete=results.complete),
        "times": results.times,
        "controls": [
            {
                "rule": subject.rule,
                "control": subject.name,
                "skipped": subject.obstacle,
                **counts(tally(outcomes)),
                "remarks": list(remarks(outcomes)),
            }
            for subject, outcomes in results.rows
        ],
        "sum": {"controls": len(results.rows), "skipped": len(results.skipped), **counts(tally(results.outcomes))},
    }


def counts(found: Tally) -> dict[str, Any]:
    """A tally as plain values; limits are null where nothing was judged."""
    return {
        "lies": {
            "caught": found.caught.happened,
            "missed": found.caught.of - found.caught.happened,
            "not_judged": found.lies_not_judged,
            "caught_low": found.caught.low,
            "caught_high": found.caught.high,
        },
        "twins": {
            "accused": found.accused.happened,
            "accused_by_others_alone": found.by_others,
            "cleared": found.accused.of - found.accused.happened,
            "not_judged": found.twins_not_judged,
            "accused_low": found.accused.low,
            "accused_high": found.accused.high,
        },
        "repeated": found.repeated,
        "elapsed_s": found.elapsed_ns / NS,
    }
