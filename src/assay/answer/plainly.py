"""Results as plain values for JSON: what the analysis found, each answer with its sentence beside its values."""

from __future__ import annotations

from typing import Any

from assay.answer.answer import Answer, answer
from assay.answer.wording import comparison, effects, layers, scaling, summary, time_spent
from assay.measures import directory
from assay.plain import to_plain
from assay.records import Results


def plainly(results: Results) -> dict[str, Any]:
    """Give all results as plain values."""
    found, plain = answer(results), to_plain(results)
    del plain["times"]
    return {**plain, **answers(results, found), **spent(results), **directories(results), **below_clients(found)}


def spent(results: Results) -> dict[str, Any]:
    """Give where the time went with what the limit was in words; nothing where nobody looked at threads."""
    found = [{**to_plain(one), "statement": time_spent.of_runs(one)} for one in results.times]
    return {"times": found} if found else {}


def directories(results: Results) -> dict[str, Any]:
    """Give what directory servers answered, for each run with a load on one; nothing without such a run."""
    found = {judged.id: directory.counted(judged.run) for judged in results.runs}
    known = {name: to_plain(one) for name, one in found.items() if one is not None}
    return {"directory": known} if known else {}


def below_clients(found: Answer) -> dict[str, Any]:
    """Give the rates of clients with what was measured below them; nothing without such a workload."""
    rates = [{**to_plain(one), "statement": layers.statement(found.experiment, one)} for one in found.layers]
    return {"layers": rates} if rates else {}


def answers(results: Results, found: Answer) -> dict[str, Any]:
    """Give what was concluded: values, and `statement` in words."""
    experiment = results.experiment
    return {
        "answer": {
            "measures": [one.name for one in found.measures],
            "state": found.state.value if found.state else None,
            "statement": summary.opening(found),
            "more": list(summary.following(found)),
        },
        "comparisons": [
            {**to_plain(one), "id": one.id, "statement": comparison.statement(experiment, one)} for one in results.comparisons
        ],
        "dips": [{**to_plain(one), "statement": comparison.dip(experiment, one)} for one in results.dips],
        "scaling": [{**to_plain(one), "statement": scaling.statement(experiment, one)} for one in results.scaling],
        "sensitivity": [
            {
                **to_plain(one),
                "effects": [{**to_plain(each), "statement": effects.effect(experiment, each)} for each in one.effects],
                "statement": effects.statement(experiment, one),
            }
            for one in results.sensitivity
        ],
    }
