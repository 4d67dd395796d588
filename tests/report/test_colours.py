"""Colours are legible on light and dark paper, and told apart by those who do not see all of them."""

import itertools
import math
import re

from assay.report import picture
from assay.report.charts import theme

AA_TEXT, AA_GRAPHICS = 4.5, 3.0
"""Least contrast of text and of what has to be seen to understand a picture (WCAG 2.2, 1.4.3 and 1.4.11)."""
APART = 11.0
"""Least distance of two series colours in CIE Lab; neighbours of 2.3 can just be told apart side by side."""
TEXTS = ("ink", "muted", "link", "gold-deep", "sound", "bounded", "tainted", "invalid", "unverified", "alarm")
SERIES = tuple(f"s{index}" for index in range(theme.SERIES))
SEEN_BY = {
    "all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopes": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopes": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
"""Linear RGB as people with one kind of cone missing see it (Machado, Oliveira and Fernandes 2009, severity 1)."""


def papers():
    """The variables of the style sheet on light and on dark paper."""
    text = (picture.HERE / "style.css").read_text()
    first, _, rest = text.partition("@media screen and (prefers-color-scheme: dark)")
    light = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", first))
    return {"light": light, "dark": light | dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", rest))}


def linear(colour):
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(colour):
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def lab(colour, matrix):
    red, green, blue = (min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear(colour), strict=True)))) for row in matrix)
    white = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883,
    )
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in white)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def test_colours_are_legible_and_those_of_files_are_the_pages(subtests):
    for paper in ["light", "dark"]:
        with subtests.test(paper=paper):
            colours = papers()[paper]
            assert {name for name in (*TEXTS, *SERIES) if contrast(colours[name], colours["paper"]) < AA_TEXT} == set()
            on_the_stream = ("ink", "muted", "gold-deep", "invalid")
            assert {name for name in on_the_stream if contrast(colours[name], colours["stream"]) < AA_TEXT} == set()
            assert contrast(colours["gold"], colours["paper"]) >= AA_GRAPHICS
    light = papers()["light"]
    assert {name: colour for name, colour in theme.LIGHT.items() if light.get(name[2:]) != colour} == {}


def test_series_are_told_apart(subtests):
    for paper in ["light", "dark"]:
        for eyes, matrix in SEEN_BY.items():
            with subtests.test(paper=paper, eyes=eyes):
                seen = {name: lab(papers()[paper][name], matrix) for name in SERIES}
                close = {(a, b): math.dist(seen[a], seen[b]) for a, b in itertools.combinations(SERIES, 2)}
                assert {pair: round(far, 1) for pair, far in close.items() if far < APART} == {}
