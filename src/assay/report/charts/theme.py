"""How every chart looks: colours are CSS variables, so that light, dark and print need no redrawing."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

Spec = dict[str, object]
Row = dict[str, float | str]
"""One row of a chart's data."""

RATIOS = (1.01, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 8.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
"""Where an axis of ratios may have labels."""
APART, INSIDE = 0.14, 0.04
"""Shares of the axis: between two of its labels, so that they do not touch on a narrow page, and from its ends."""
SERIES = 6
"""Number of series colours; more levels share them and are told apart by their labels."""

LIGHT: Mapping[str, str] = {
    "--ink": "#22211f",
    "--muted": "#68645c",
    "--grid": "#e7e3da",
    "--axis": "#b3ada0",
    "--paper": "#fffefb",
    "--alarm": "#b02a1c",
    "--gold": "#b5830f",
    "--gold-deep": "#7a580c",
    "--s0": "#2b6a9e",
    "--s1": "#b94f15",
    "--s2": "#1e5e48",
    "--s3": "#451d59",
    "--s4": "#4b3800",
    "--s5": "#33302c",
    "--h0": "#e6eef4",
    "--h1": "#c9dcea",
    "--h2": "#a6c6dd",
    "--h3": "#7facce",
    "--h4": "#558fba",
    "--h5": "#31709f",
    "--h6": "#174f7b",
    "--t0": "#22211f",
    "--t1": "#0d0e10",
    "--t2": "#fffefb",
    "--sound": "#256b4a",
    "--bounded": "#1f6a7a",
    "--tainted": "#9a5a00",
    "--invalid": "#b02a1c",
    "--unverified": "#5f5b66",
}
"""The values of the variables where there is no style sheet: pictures exported to files."""

_FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"

CONFIG: Spec = {
    "background": "transparent",
    "font": _FONT,
    "view": {"stroke": None},
    "padding": 4,
    "autosize": {"type": "fit", "contains": "padding"},
    "range": {"category": [f"var(--s{index})" for index in range(SERIES)]},
    "axis": {
        "domain": False,
        "ticks": False,
        "gridColor": "var(--grid)",
        "labelColor": "var(--muted)",
        "titleColor": "var(--muted)",
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelPadding": 6,
        "tickCount": 4,
    },
    "axisX": {
        "grid": False,
        "domain": True,
        "domainColor": "var(--axis)",
        "ticks": True,
        "tickColor": "var(--axis)",
        "tickSize": 4,
    },
    "axisY": {
        "titleAlign": "left",
        "titleAngle": 0,
        "titleAnchor": "end",
        "titleX": 0,
        "titleY": -9,
        "titleBaseline": "bottom",
    },
    "text": {"fontSize": 11.5},
    "locale": {"number": {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""]}},
}


def series_colours(field: str = "s") -> Spec:
    """The channel that colours by the index of the series, without a legend: series are labelled directly."""
    domain = [str(index) for index in range(SERIES)]
    return {"field": field, "type": "nominal", "legend": None, "scale": {"domain": domain}}


TINTS: Mapping[str, str] = {
    "application": "var(--ink)",
    "device": "var(--gold-deep)",
    "files": "var(--s0)",
    "sent": "var(--s2)",
    "received": "var(--s4)",
    "dirty": "var(--s3)",
    "writeback": "var(--s5)",
    "user": "var(--s2)",
    "system": "var(--s3)",
    "iowait": "var(--s5)",
    "steal": "var(--alarm)",
}
"""What a line of a timeline stands for -> its colour: the application's in ink, the devices' in the gold of the ladder."""


def tints(field: str = "k") -> Spec:
    """The channel that colours by what a line stands for."""
    scale = {"domain": list(TINTS), "range": list(TINTS.values())}
    return {"field": field, "type": "nominal", "legend": None, "scale": scale}


def rows_of(rows: Sequence[Row]) -> Spec:
    """Inline data as comma-separated text, which is a third of the same rows as JSON objects; numbers stay numbers."""
    if not rows:
        return {"values": []}
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)
    parse = {name: "string" if isinstance(value, str) else "number" for name, value in rows[0].items()}
    return {"values": text.getvalue(), "format": {"type": "csv", "parse": parse}}


def _short(value: float | str) -> float | str:
    """Whole numbers without a point."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def end_text(rows: Sequence[Row], y: Spec, colours: Spec | None = None) -> Spec:
    """Labels (`n`) at the right end of the plot at height `v`, in the colour of series `s` where no other is given."""
    return {
        "data": rows_of(rows),
        "mark": {"type": "text", "align": "left", "x": {"expr": "width"}, "dx": 5, "fontWeight": 600, "fontSize": 12},
        "encoding": {"y": {**y, "field": "v"}, "color": colours or series_colours(), "text": {"field": "n"}},
    }


def ticks(values: Sequence[float]) -> dict[str, Any]:
    """An axis with exactly these ticks: Vega thins named ticks down to the count unless the count is theirs."""
    return {"values": list(values), "tickCount": len(values)}


def axis_over(domain: Sequence[float], field: str | None = None, /, *, zero: bool | None = None, **axis: object) -> Spec:
    """Give the channel of a number whose axis ends exactly where the domain does."""
    scale = {"domain": domain, "nice": False, **({} if zero is None else {"zero": zero})}
    return {**({"field": field} if field else {}), "type": "quantitative", "scale": scale, "axis": axis}


def downward(domain: Sequence[float], field: str | None = None, /, **axis: object) -> Spec:
    """Give the channel of rows, the first on top."""
    scale = {"domain": domain, "reverse": True, "nice": False, "zero": False}
    return {**({"field": field} if field else {}), "type": "quantitative", "scale": scale, "axis": axis}


def round_ratios(low: float, high: float) -> list[float]:
    """Give one, and round ratios between two ends, the outermost first, with room for their labels."""
    every = sorted((*RATIOS, *(1 / step for step in RATIOS)), key=lambda step: -abs(math.log(step)))
    width = math.log(high / low)
    kept = [1.0]
    for step in every:
        at = math.log(step / low) / width
        if INSIDE <= at <= 1 - INSIDE and all(abs(math.log(step / other)) / width >= APART for other in kept):
            kept.append(step)
    return sorted(kept)


def round_times(low: float, high: float, span: float) -> list[float]:
    """Give round times on a logarithmic axis: one, two and five of each power of ten, only ones beyond a factor of `span`."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if high / low < span else (1,)
    return [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]


def name_ticks(names: Sequence[str | Sequence[str]]) -> Spec:
    """An axis of rows that have names (of one line or several) in the place of numbers, the first at 0."""
    return {
        **ticks(range(len(names))),
        "labelExpr": f"{json.dumps(list(names))}[datum.value]",
        "title": None,
        "grid": False,
        "labelFontSize": 12,
        "labelColor": "var(--ink)",
    }


def room(longest: str) -> Spec:
    """An unseen label that keeps as much room on the right as the longest label, so that panels in a column align."""
    return {
        "data": {"values": [{}]},
        "mark": {
            "type": "text",
            "align": "left",
            "x": {"expr": "width"},
            "y": 0,
            "dx": 5,
            "fontWeight": 600,
            "fontSize": 12,
            "opacity": 0,
            "text": longest,
        },
    }


def frame(height: int, layers: list[Spec]) -> Spec:
    """A chart as wide as its place on the page and `height` pixels high, labels and titles included."""
    return {"width": "container", "height": height, "layer": layers}


def without_variables(text: str) -> str:
    """The text (a specification or SVG) with every CSS variable replaced by its light colour."""
    return re.sub(r"var\((--[a-z0-9-]+)\)", lambda match: LIGHT[match[1]], text)
