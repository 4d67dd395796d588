"""The environment: the facts of the runs that were looked at, those that differ between them first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.records import Judged, Observations, When
from assay.report import words


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
        "facts": tuple(row for _, row in sorted(rows, key=lambda pair: not pair[0])),
        "differing": sum(differs for differs, _ in rows),
        "facts_of": f"{words.count(len(observed), 'run')} ({', '.join(judged.id for judged, _ in observed)})",
        "missing": tuple(sorted(missing.items())),
    }


def _value(found: dict[str, list[str]]) -> str:
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{value} ({', '.join(runs)})" for value, runs in found.items())
