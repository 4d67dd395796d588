"""Cases to which counts of tracepoints are added, for the rules that may use them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from assay.catalogue import TrialCase
from audit.case_builder import SECOND, gauge


def traced(case: TrialCase, counts: Mapping[tuple[str, str], float], lost: float = 0) -> TrialCase:
    """The case with {(metric, subject): rise while the clock ran}."""
    seconds = case.phase.end_ns / SECOND
    rows = {**counts, ("lost_events", ""): lost}
    series = [gauge("tracepoints", subject, metric, (0, value), seconds) for (metric, subject), value in rows.items()]
    observations = dataclasses.replace(case.observations, series=(*case.observations.series, *series))
    return dataclasses.replace(case, observations=observations)
