"""The environment: the facts of the runs that were looked at, those that differ between them first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.records import Judged, Observations, When
from assay.report import words

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
    missing = {key: why for _, seen in observed for key, why in seen.missing.items()}
    return {
        "facts": tuple(row for _, row in sorted(rows, key=lambda pair: (not pair[0], _rank(pair[1].key)))),
        "compared": len(observed),
        "differing": sum(differs for differs, _ in rows),
        "facts_of": f"{words.count(len(observed), 'run')} ({', '.join(judged.id for judged, _ in observed)})",
        "missing": tuple(sorted(missing.items())),
    }


def _rank(key: str) -> int:
    """The place of a fact among those that a reader asks for first; behind them all others."""
    return next((place for place, first in enumerate(FIRST) if key == first or key.endswith(first)), len(FIRST))


def _value(found: dict[str, list[str]]) -> str:
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{value} ({', '.join(runs)})" for value, runs in found.items())
