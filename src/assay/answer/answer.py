"""The answer of an experiment as one record of values, which the terminal, the page, Markdown and JSON render."""

from __future__ import annotations

from dataclasses import dataclass

from assay.answer.doubts import Doubt, Losses, Required, counts, doubts, losses, requirements
from assay.answer.first_line import Decision, Lead, decisions, leads
from assay.answer.headlines import Headline, headlines
from assay.records import Experiment, PlanNote, Results, VerdictState

__all__ = ["Answer", "Required", "answer"]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What an experiment says, in the order in which it is told."""

    experiment: Experiment
    leads: tuple[Lead, ...]
    """The opening first; empty where no run gave a figure."""
    decisions: tuple[Decision, ...]
    headlines: tuple[Headline, ...]
    requirements: tuple[Required, ...]
    counts: tuple[tuple[VerdictState, int], ...]
    """How many figures have each verdict, from best to worst."""
    doubts: tuple[Doubt, ...]
    """What to distrust, the gravest first."""
    losses: Losses
    apart: int
    """So many comparisons are of arms that were not interleaved."""
    notes: tuple[PlanNote, ...]


def answer(results: Results) -> Answer:
    """Make the answer from the results."""
    found = leads(results)
    return Answer(
        experiment=results.experiment,
        leads=found,
        decisions=() if not found or results.sensitivity else tuple(decisions(results, found[-1].measure)),
        headlines=headlines(results),
        requirements=requirements(results),
        counts=counts(results),
        doubts=doubts(results),
        losses=losses(results),
        apart=sum(not one.interleaved for one in results.comparisons),
        notes=results.plan.notes,
    )
