"""How every chart looks: colours are CSS variables, so that light, dark and print need no redrawing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

Spec = dict[str, object]

SERIES = 6
"""Number of series colours; more levels share them and are told apart by their labels."""

LIGHT: Mapping[str, str] = {
    "--ink": "#22211f",
    "--muted": "#68645c",
    "--grid": "#e7e3da",
    "--axis": "#b3ada0",
    "--paper": "#fffefb",
    "--alarm": "#b02a1c",
    "--s0": "#2b6a9e",
    "--s1": "#c2571a",
    "--s2": "#2f8a6b",
    "--s3": "#8a5aa8",
    "--s4": "#7c6a16",
    "--s5": "#5d6470",
}
"""The values of the variables where there is no style sheet: pictures exported to files."""

_FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif"

CONFIG: Spec = {
    "background": "transparent",
    "font": _FONT,
    "view": {"stroke": None},
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
        "titleY": -10,
        "titleBaseline": "bottom",
    },
    "text": {"fontSize": 11.5},
    "locale": {"number": {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""]}},
}


def colour(index: int) -> str:
    """The colour of the series with this index, as a CSS variable."""
    return f"var(--s{index % SERIES})"


def series_colours(field: str = "s") -> Spec:
    """The channel that colours by the index of the series, without a legend: series are labelled directly."""
    names = [str(index) for index in range(SERIES)]
    return {
        "field": field,
        "type": "nominal",
        "legend": None,
        "scale": {"domain": names, "range": [colour(index) for index in range(SERIES)]},
    }


def label_room(names: Iterable[str]) -> int:
    """Pixels on the right for labels at the ends of lines."""
    return min(140, 14 + 8 * max((len(name) for name in names), default=0))


def end_text(rows: list[Spec], y: Spec) -> Spec:
    """Labels (`n`) at the right end of the plot at height `v`, in the colour of series `s`."""
    return {
        "data": {"values": rows},
        "mark": {"type": "text", "align": "left", "x": {"expr": "width"}, "dx": 5, "fontWeight": 600, "fontSize": 12},
        "encoding": {"y": {**y, "field": "v"}, "color": series_colours(), "text": {"field": "n"}},
    }


def frame(height: int, layers: list[Spec], right: int = 12) -> Spec:
    """A chart as wide as its place on the page, with room on the right for labels at the ends of lines (pixels)."""
    return {
        "width": "container",
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "padding": {"left": 4, "top": 18, "right": right, "bottom": 4},
        "layer": layers,
    }


def without_variables(text: str) -> str:
    """The text (a specification or SVG) with every CSS variable replaced by its light colour."""
    return re.sub(r"var\((--[a-z0-9]+)\)", lambda match: LIGHT[match[1]], text)
