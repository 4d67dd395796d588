"""The environment: how the arms of each comparison differ, and the facts of the runs that were looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.answer import marks
from assay.records import Comparison, Experiment, Finding, Judged, Meaning, Observations, Results, Verdict, When

FIRST = (
    "kernel.release",
    "cpu.model",
    "cpu.online",
    "memory.total",
    "host.system",
    "mount.target.fstype",
    "mount.target.source",
    "mount.target.options",
    "0.name",
    "0.queue.scheduler",
    "0.queue.write_cache",
    "0.queue.read_ahead_kb",
)
"""Keys, or the ends of keys, of the facts that stand on top."""


@dataclass(frozen=True, kw_only=True)
class FactRow:
    """One fact with its values over the runs."""

    key: str
    host: str
    value: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class Arms:
    """How the two arms of one or more comparisons differ, as the audit found it (C01)."""

    title: str
    """`disk: ext4 against xfs`."""
    compared: int
    """How many facts were held against each other."""
    beside: tuple[str, ...]
    """What differs and does not follow from the factor."""
    changed: tuple[str, ...]
    """What changed during a run."""
    implied: tuple[str, ...]
    """What differs because the factor does."""

    @property
    def said(self) -> str:
        """In one sentence, also where nothing differs."""
        follow = f" From it follow {marks.count(len(self.implied), 'fact')}." if self.implied else ""
        changed = f" {marks.count(len(self.changed), 'fact')} changed during a run." if self.changed else ""
        besides = marks.count(len(self.beside), "thing") if self.beside else "nothing"
        return f"The arms differ in {besides} besides the factor ({self.compared} facts compared).{changed}{follow}"


CHANGED, IMPLIED = "changed during a run: ", "implied: "
"""How C01 begins those pieces of its evidence that are no difference beside the factor."""


def arms(results: Results) -> tuple[Arms, ...]:
    """How the arms differ, once for all comparisons of the same arms of which the same was found."""
    judged = ((one, results.comparison_verdicts.get(one.id)) for one in results.comparisons)
    rows = (_arms(results.experiment, one, finding) for one, verdict in judged for finding in _fingerprint(verdict))
    return tuple(dict.fromkeys(rows))


def _fingerprint(verdict: Verdict | None) -> Sequence[Finding]:
    """What C01 said, where it could compare."""
    return (
        [one for one in verdict.findings if one.meaning is Meaning.DIFFERENCES and "differing" in one.observed] if verdict else []
    )


def _arms(experiment: Experiment, one: Comparison, finding: Finding) -> Arms:
    changed = [text.removeprefix(CHANGED) for text in finding.evidence if text.startswith(CHANGED)]
    implied = [text.removeprefix(IMPLIED) for text in finding.evidence if text.startswith(IMPLIED)]
    compared = finding.observed.get("compared")
    levels = [marks.level(experiment, one.factor, level) for level in (one.baseline, one.candidate)]
    return Arms(
        title=f"{one.factor}: {levels[0]} against {levels[1]}",
        compared=int(compared) if isinstance(compared, int | float) else 0,
        beside=tuple(text for text in finding.evidence if not text.startswith((CHANGED, IMPLIED))),
        changed=tuple(changed),
        implied=tuple(implied),
    )


def facts(observed: Sequence[tuple[Judged, Observations]]) -> dict[str, object]:
    """The rows, how many differ, whose they are, and the evidence that could not be had."""
    values: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for judged, seen in observed:
        for fact in seen.facts:
            if fact.when is When.BEFORE:
                here = values.setdefault((fact.key, fact.host, fact.fact_class.value), {})
                here.setdefault(fact.value, []).append(judged.id)
    rows = [
        (len(found) > 1, FactRow(key=key, host=host, value=_value(found), kind=kind))
        for (key, host, kind), found in sorted(values.items())
    ]
    missing = {one.key: one.reason for _, seen in observed for one in seen.missing}
    return {
        "facts": tuple(row for _, row in sorted(rows, key=lambda pair: (not pair[0], _rank(pair[1].key)))),
        "compared": len(observed),
        "differing": sum(differs for differs, _ in rows),
        "facts_of": f"{marks.count(len(observed), 'run')} ({', '.join(judged.id for judged, _ in observed)})",
        "missing": tuple(sorted(missing.items())),
    }


def _rank(key: str) -> int:
    """The place of a fact among those that a reader asks for first; behind them all others."""
    return next((place for place, first in enumerate(FIRST) if key == first or key.endswith(first)), len(FIRST))


def _value(found: dict[str, list[str]]) -> str:
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{value} ({', '.join(runs)})" for value, runs in found.items())
