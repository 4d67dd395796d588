"""What `assay selftest --same N` says: the answer, each false alarm, counts by kind and by rule; assay.selftest-same/1."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from assay.answer.wording import comparison as sentence
from assay.plain import to_plain
from assay.records import Comparison, Conclusion, Experiment, VerdictState
from assay.rulekit.contrasts import differs
from assay.selftest.lies_report import head, interval, of, percent
from assay.statistics.intervals import Proportion, proportion
from assay.terminal.table import Row, table

VERB = "selftest-same"
PROMISED = 0.05
"""So many comparisons of equals at most may leave out 1 from their 95 % interval."""
HEADER = ("kind", "false alarms", "95 % interval", "without 1", "95 % interval", "equivalent", "undecided", "spread")


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One comparison of the same with itself."""

    kind: str
    number: int
    failed: str | None = None
    """Why it has no interval: then it is not counted."""
    comparison: Comparison | None = None
    experiment: Experiment | None = None
    state: VerdictState = VerdictState.UNVERIFIED
    rules: frozenset[str] = frozenset()
    """The rules of comparisons that hold something against it."""
    arms: tuple[Mapping[str, float], ...] = ()
    """Run (`0007/1`) -> figure of each of the two arms."""


@dataclass(frozen=True, kw_only=True)
class SameResults:
    """All comparisons in their order."""

    compared: tuple[Compared, ...]
    blocks: int
    complete: bool = True
    """Whether it came to its end without an interrupt."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds in their order."""
        return tuple(dict.fromkeys(one.kind for one in self.compared))


def counted(compared: Iterable[Compared]) -> list[Comparison]:
    """The comparisons that have an interval."""
    return [one.comparison for one in compared if one.failed is None and one.comparison is not None]


def mattering(compared: Iterable[Compared]) -> Proportion:
    """How many are said to differ and to matter."""
    found = counted(compared)
    return proportion(sum(one.conclusion is Conclusion.MATTERS for one in found), len(found))


def leaving_out_one(compared: Iterable[Compared]) -> Proportion:
    """How many have an interval that leaves out 1, whatever is concluded from it."""
    found = counted(compared)
    return proportion(sum(differs(one) for one in found), len(found))


def concluding(compared: Iterable[Compared], conclusion: Conclusion) -> int:
    """How many come to this conclusion."""
    return sum(one.conclusion is conclusion for one in counted(compared))


def spread(compared: Iterable[Compared]) -> float | None:
    """The median over all arms of the largest over the smallest figure, less 1: the noise floor; None where there is none."""
    arms = [list(arm.values()) for one in compared if one.failed is None for arm in one.arms]
    found = [max(values) / min(values) - 1 for values in arms if values and min(values) > 0]
    return median(found) if found else None


def of_kind(results: SameResults, kind: str) -> tuple[Compared, ...]:
    """The comparisons of one kind."""
    return tuple(one for one in results.compared if one.kind == kind)


def answer(results: SameResults) -> str:
    """`0 of 100 comparisons of the same with itself said to differ and to matter ...` in one sentence."""
    matter, without = mattering(results.compared), leaving_out_one(results.compared)
    end = [] if results.complete else ["interrupted; counts so far"]
    if not matter.of:
        return "; ".join(["no comparison finished", *end])
    said = (
        f"false alarms: {matter.happened} of {matter.of} comparisons (95 % CI {interval(matter)});"
        f" intervals without 1: {without.happened} of {without.of} (95 % CI {interval(without)});"
        f" limit of both {percent(PROMISED)}: {limit_state(matter, without)}"
    )
    return "; ".join([said, *end])


def limit_state(*shares: Proportion) -> str:
    """Return whether the limit is exceeded, as far as the count can show."""
    if any((one.low or 0.0) > PROMISED for one in shares):
        return "exceeded"
    return "not shown to be exceeded" if any((one.high or 1.0) > PROMISED for one in shares) else "met"


def text(results: SameResults) -> str:
    """For people."""
    rows = [*(kind_row(kind, of_kind(results, kind)) for kind in results.kinds), kind_row("sum", results.compared)]
    rows_text = table(HEADER, rows, range(1, len(HEADER)))
    return "\n\n".join(
        part for part in (answer(results), "\n".join(remarks(results)), rows_text, accused(results.compared)) if part
    )


def kind_row(name: str, compared: Sequence[Compared]) -> Row:
    """A line of one kind, or of all."""
    matter, without, noise = mattering(compared), leaving_out_one(compared), spread(compared)
    cells = (name, of(matter), interval(matter), of(without), interval(without))
    equal, open_ = (str(concluding(compared, one)) for one in (Conclusion.EQUIVALENT, Conclusion.UNDECIDED))
    failed = sum(one.failed is not None for one in compared)
    return Row(
        cells=(*cells, equal, open_, "-" if noise is None else f"+{noise:.0%}"),
        note=f"{failed} not compared" if failed else "",
    )


def remarks(results: SameResults) -> Iterator[str]:
    """Every comparison whose interval leaves out 1, then why some were not compared, each different reason once."""
    for one in results.compared:
        if one.failed is None and one.comparison is not None and one.experiment and differs(one.comparison):
            rules = f", {', '.join(sorted(one.rules))}" if one.rules else ""
            text = sentence.statement(one.experiment, one.comparison)
            yield f"{one.kind}, number {one.number}: {text} [{one.state.value}{rules}]"
    for why, times in Counter(f"{one.kind}: not compared: {one.failed}" for one in results.compared if one.failed).items():
        yield why if times == 1 else f"{why} ({times} times)"


def accused(compared: Iterable[Compared]) -> str:
    """What rules of comparisons held against these, most frequent first; empty where nothing."""
    compared = [one for one in compared if one.failed is None]
    found = Counter(rule for one in compared for rule in one.rules)
    said = ", ".join(f"{rule} {times}" for rule, times in found.most_common())
    return f"failed rules in {len(compared)} comparisons: {said}" if said else ""


def plain(results: SameResults) -> dict[str, Any]:
    """The object of the schema; limits are null where nothing was compared."""
    return {
        **head(answer(results), complete=results.complete),
        "promised": PROMISED,
        "blocks": results.blocks,
        **counts(results.compared),
        "kinds": [{"kind": kind, **counts(of_kind(results, kind))} for kind in results.kinds],
        "rules": dict(Counter(rule for one in results.compared if one.failed is None for rule in one.rules)),
        "each": [each(one) for one in results.compared],
        "remarks": list(remarks(results)),
    }


def counts(compared: Sequence[Compared]) -> dict[str, Any]:
    """The counts of some comparisons as plain values."""
    matter, without = mattering(compared), leaving_out_one(compared)
    return {
        "compared": matter.of,
        "not_compared": len(compared) - matter.of,
        "matters": matter.happened,
        "matters_low": matter.low,
        "matters_high": matter.high,
        "without_one": without.happened,
        "without_one_low": without.low,
        "without_one_high": without.high,
        "equivalent": concluding(compared, Conclusion.EQUIVALENT),
        "undecided": concluding(compared, Conclusion.UNDECIDED),
        "spread": spread(compared),
    }


def each(one: Compared) -> dict[str, Any]:
    """One comparison as plain values, with the figures that it stands on."""
    ratio = one.comparison.ratio if one.comparison else None
    return {
        "kind": one.kind,
        "number": one.number,
        "failed": one.failed,
        "ratio": to_plain(ratio) if ratio else None,
        "p_value": one.comparison.p_value if one.comparison else None,
        "conclusion": one.comparison.conclusion.value if one.comparison else None,
        "state": one.state.value,
        "rules": sorted(one.rules),
        "arms": [dict(arm) for arm in one.arms],
    }
