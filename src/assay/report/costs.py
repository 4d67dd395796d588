"""What the load itself cost: one row a workload phase of the runs that were looked at. It lays out what measures say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay import measures
from assay.answer import marks
from assay.answer.scales import show
from assay.measures.cost import UNITS
from assay.records import Experiment, Judged, Observations, Phase

COLUMNS = {
    "user_instructions_per_op": "user instructions",
    "kernel_instructions_per_op": "kernel instructions",
    "user_cycles_per_op": "user cycles",
    "kernel_cycles_per_op": "kernel cycles",
    "cpu_ns_per_op": "processor time",
    "voluntary_switches": "voluntary switches",
    "involuntary_switches": "involuntary switches",
    "faults": "page faults",
}
"""Figure -> head of its column; the first five are per operation."""
UNKNOWN = "not known"


@dataclass(frozen=True, kw_only=True)
class CostRow:
    """One phase of one run, its figures in the order of COLUMNS."""

    run: str
    levels: str
    phase: str
    figures: tuple[str, ...]


def costs(experiment: Experiment, observed: Sequence[tuple[Judged, Observations]]) -> dict[str, object]:
    """The rows and heads of the table, without the columns of which nothing is known, and what those are called."""
    phases = [(judged, phase) for judged, _ in observed for phase in judged.run.phases if phase.measured]
    known = [name for name in COLUMNS if any(measures.costs(phase)[name] is not None for _, phase in phases)]
    return {
        "costs": tuple(_rows(experiment, phases, known)),
        "cost_columns": tuple(COLUMNS[name] for name in known),
        "cost_unknown": ", ".join(COLUMNS[name] for name in COLUMNS if name not in known),
    }


def _rows(experiment: Experiment, phases: Sequence[tuple[Judged, Phase]], known: Sequence[str]) -> Iterator[CostRow]:
    for judged, phase in phases if known else ():
        found = measures.costs(phase)
        yield CostRow(
            run=judged.id,
            levels=marks.levels(experiment, judged.run.trial.levels),
            phase=phase.name,
            figures=tuple(UNKNOWN if (value := found[name]) is None else show(value, UNITS[name]) for name in known),
        )
