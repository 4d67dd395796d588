"""What `assay selftest --audit` says: the answer, a line a control, the sums; also as assay.selftest-audit/1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assay.selftest.counts import Outcome, Subject, Tally, remarks, tally
from assay.statistics.intervals import Proportion
from assay.terminal.table import Row, table

VERB = "selftest-audit"
HEADER = ("rule", "control", "caught", "95 % interval", "accused", "95 % interval", "not judged")
NS = 1e9


@dataclass(frozen=True, kw_only=True)
class ControlResults:
    """All controls that were asked for, with what came of each."""

    rows: tuple[tuple[Subject, tuple[Outcome, ...]], ...]
    times: int
    complete: bool = True
    """Whether it came to its end without an interrupt."""

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Of all controls together."""
        return tuple(one for _, outcomes in self.rows for one in outcomes)

    @property
    def skipped(self) -> tuple[Subject, ...]:
        """What this machine or user cannot run."""
        return tuple(subject for subject, _ in self.rows if subject.obstacle is not None)


def answer(results: ControlResults) -> str:
    """`28 of 28 lies caught, 0 of 28 twins accused; ...` in one sentence."""
    whole = tally(results.outcomes)
    lies, twins = whole.caught, whole.accused
    if not lies.of and not twins.of:
        return "no control was judged" + ("" if results.complete else "; interrupted before the first control finished")
    parts = [f"{lies.happened} of {lies.of} lies caught, {twins.happened} of {twins.of} twins accused"]
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


def row(subject: Subject, outcomes: tuple[Outcome, ...]) -> Row:
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
