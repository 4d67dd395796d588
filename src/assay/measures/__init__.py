"""From raw data to figures: the one place where a rate, a latency, a curve or a rung of the ladder is computed."""

from assay.measures.cost import costs, work_of
from assay.measures.curves import CurvePoint, curve
from assay.measures.figures import (
    AMOUNTS,
    CONCURRENCY,
    FIGURES,
    Better,
    Figure,
    FigureKind,
    client_operations,
    figure_kind,
    host_and_key,
    phase_of,
    unit_of,
    value,
)
from assay.measures.text import difference, digits, in_bytes, with_unit
from assay.measures.windows import (
    Window,
    common_window,
    in_parts,
    outermost,
    overlap_share,
    points_inside,
    steady_edges,
    whole_window,
)
from assay.units import percent

__all__ = [
    "AMOUNTS",
    "CONCURRENCY",
    "FIGURES",
    "Better",
    "CurvePoint",
    "Figure",
    "FigureKind",
    "Window",
    "client_operations",
    "common_window",
    "costs",
    "curve",
    "difference",
    "digits",
    "figure_kind",
    "host_and_key",
    "in_bytes",
    "in_parts",
    "outermost",
    "overlap_share",
    "percent",
    "phase_of",
    "points_inside",
    "steady_edges",
    "unit_of",
    "value",
    "whole_window",
    "with_unit",
    "work_of",
]
