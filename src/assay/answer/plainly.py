"""Results as plain values for JSON: what the analysis found, each answer with its sentence beside its values."""

from __future__ import annotations

from typing import Any

from assay.answer.answer import answer
from assay.answer.wording import comparison, effects, first_line, scaling
from assay.plain import to_plain
from assay.records import Results


def plainly(results: Results) -> dict[str, Any]:
    """Give all results as plain values."""
    return {**to_plain(results), **answers(results)}


def answers(results: Results) -> dict[str, Any]:
    """Give what was concluded: values, and `statement` in words."""
    asked, found = results.experiment, answer(results)
    return {
        "answer": {
            "measures": [one.measure.name for one in found.leads],
            "state": found.leads[0].state.value if found.leads else None,
            "statement": first_line.opening(found),
            "more": list(first_line.following(found)),
        },
        "comparisons": [
            {**to_plain(one), "id": one.id, "statement": comparison.statement(asked, one)} for one in results.comparisons
        ],
        "dips": [{**to_plain(one), "statement": comparison.dip(asked, one)} for one in results.dips],
        "scaling": [{**to_plain(one), "statement": scaling.statement(asked, one)} for one in results.scaling],
        "sensitivity": [
            {
                **to_plain(one),
                "effects": [{**to_plain(each), "statement": effects.effect(asked, each)} for each in one.effects],
                "statement": effects.statement(asked, one),
            }
            for one in results.sensitivity
        ],
    }
