"""What `assay selftest --audit --sound N` says: the answer, each accusation, counts by kind and rule; assay.selftest-sound/1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.selftest.lies_report import head, interval, of, percent
from assay.statistics.intervals import Proportion, proportion
from assay.terminal.table import Row, table

VERB = "selftest-sound"
BY_KIND = ("kind", "accused", "95 % interval")
BY_RULE = ("rule", "accused", "95 % interval")


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One sound trial and what the rules made of it."""

    kind: str
    failed: str | None = None
    """Why there is no verdict: then it is not counted."""
    spoke: frozenset[str] = frozenset()
    """The rules that passed or failed one of its measures."""
    accused: Mapping[str, str] = field(default_factory=dict)
    """Rule -> what it said, of those that called a measure invalid."""
    noise: frozenset[str] = frozenset()
    """Rules of noise that say that the machine spoiled it; these speak of the platform and accuse nobody."""


@dataclass(frozen=True, kw_only=True)
class SoundResults:
    """All trials in their order, and the kinds that could not be run."""

    tried: tuple[Tried, ...]
    skipped: Mapping[str, str]
    """Kind -> why this user or machine cannot run it."""
    complete: bool = True
    """Whether it came to its end without an interrupt."""

    @property
    def judged(self) -> tuple[Tried, ...]:
        """Those with verdicts."""
        return tuple(one for one in self.tried if one.failed is None)

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that spoke of any of them."""
        return tuple(sorted({rule for one in self.judged for rule in one.spoke}))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those that were tried, in their order."""
        return tuple(dict.fromkeys(one.kind for one in self.tried))


def share(trials: Iterable[Tried], rule: str | None = None) -> Proportion:
    """How many of these trials any rule accused, or this one, of those that it spoke of."""
    counted = [one for one in trials if one.failed is None and (rule is None or rule in one.spoke)]
    return proportion(sum(bool(one.accused) if rule is None else rule in one.accused for one in counted), len(counted))


def of_kind(results: SoundResults, kind: str) -> tuple[Tried, ...]:
    """The trials of one kind."""
    return tuple(one for one in results.tried if one.kind == kind)


def answer(results: SoundResults) -> str:
    """`0 of 200 sound trials accused; ...` in one sentence."""
    whole = share(results.tried)
    parts = [f"false alarms: {whole.happened} of {whole.of} sound trials" if whole.of else "no trial was judged"]
    if whole.of and whole.high is not None:
        parts.append(f"upper limit of the 95 % CI {percent(whole.high)}")
    if not results.complete:
        parts.append("interrupted; counts so far")
    return "; ".join(parts)


def text(results: SoundResults) -> str:
    """For people."""
    kinds = table(BY_KIND, [*kind_rows(results), sums(results)], (1, 2))
    rules = table(BY_RULE, list(rule_rows(results)), (1, 2)) if results.rules else ""
    return "\n\n".join(part for part in (answer(results), "\n".join(remarks(results)), kinds, rules) if part)


def remarks(results: SoundResults) -> Iterator[str]:
    """Every accusation, then why trials have no verdict, each different sentence once with how often."""
    said = [f"{one.kind}: {rule}: {statement}" for one in results.judged for rule, statement in one.accused.items()]
    said += [f"{one.kind}: not judged: {one.failed}" for one in results.tried if one.failed is not None]
    for sentence in dict.fromkeys(said):
        times = said.count(sentence)
        yield sentence if times == 1 else f"{sentence} ({times} times)"


def kind_rows(results: SoundResults) -> Iterator[Row]:
    """A line a kind, those that could not be run last."""
    for kind in results.kinds:
        yield row(kind, share(of_kind(results, kind)), note(of_kind(results, kind)))
    for kind, why in results.skipped.items():
        yield Row(cells=(kind, "-", ""), note=f"skipped: {why}")


def rule_rows(results: SoundResults) -> Iterator[Row]:
    """A line a rule: accused, of the trials that it spoke of."""
    for rule in results.rules:
        noisy = sum(rule in one.noise for one in results.judged)
        yield row(rule, share(results.judged, rule), f"noise in {noisy}" if noisy else "")


def sums(results: SoundResults) -> Row:
    """The last line of the kinds."""
    skipped = f"{len(results.skipped)} kinds skipped" if results.skipped else ""
    return row("sum", share(results.tried), "; ".join(part for part in (skipped, note(results.tried)) if part))


def row(name: str, found: Proportion, said: str) -> Row:
    """One line."""
    return Row(cells=(name, of(found), interval(found)), note=said)


def note(trials: Iterable[Tried]) -> str:
    """Trials that noise spoiled by its own rules' word, and those without a verdict."""
    trials = tuple(trials)
    noisy, failed = sum(bool(one.noise) for one in trials), sum(one.failed is not None for one in trials)
    return ", ".join(part for part in (f"noise in {noisy}" if noisy else "", f"{failed} not judged" if failed else "") if part)


def plain(results: SoundResults) -> dict[str, Any]:
    """The object of the schema; limits are null where nothing was judged."""
    return {
        **head(answer(results), complete=results.complete),
        **counts(share(results.tried)),
        "not_judged": len(results.tried) - len(results.judged),
        "kinds": [
            {"kind": kind, "skipped": None, **counts(share(of_kind(results, kind))), "note": note(of_kind(results, kind))}
            for kind in results.kinds
        ]
        + [{"kind": kind, "skipped": why, **counts(share(())), "note": ""} for kind, why in results.skipped.items()],
        "rules": [{"rule": rule, **counts(share(results.judged, rule))} for rule in results.rules],
        "remarks": list(remarks(results)),
    }


def counts(found: Proportion) -> dict[str, Any]:
    """A share as plain values."""
    return {"trials": found.of, "accused": found.happened, "accused_low": found.low, "accused_high": found.high}
