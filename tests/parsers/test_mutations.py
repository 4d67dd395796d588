"""Damaged results of all tools: a refusal or figures, never a traceback, never a number that is not finite or not in the text.

A figure that the whole recording prints, in some unit, is also printed in the damaged one. Sums, means and quotients, which the
page of each parser names, are known by it: the whole recording does not print them either.
"""

import math
import random
import re

import pytest

from assay.catalogue import console
from assay.errors import EvidenceError
from assay.measures import FIGURES
from assay.watch import imported
from stage.parser_cases import OUTPUT
from stage.sizes import few_and_many

TEXTS = {
    path.name: console.decoded(path.read_bytes())
    for folder in ("output", "published")
    for path in (OUTPUT.parent / folder).iterdir()
}
NAMES = sorted(TEXTS)
NUMBER = re.compile(r"\d+(?:[.,]\d+)?(?:[eE][+-]?\d{1,3})?", re.ASCII)
UNITS = {
    base * small for base in (1.0, 8.0, 1 / 8, 60.0, 1 / 60, 3600.0) for small in (10.0**power for power in range(-9, 19, 1))
}
UNITS |= {2.0 ** (10 * power) / parts for power in range(1, 6) for parts in (1, 8)}
JUNK = (
    "",
    "-",
    "0",
    "9" * 45,
    "1e999",
    "nan",
    "inf",
    "-1",
    "%",
    "٣",
    "\n",
    "\r",
    ";",
    ",",
    "\t",
    "{",
    '"',
    "x",
    "KB/s",
    " 12 ",
    "\0",
)
KINDS = {*FIGURES, "doubtful", "answered"}
SUMS = frozenset({"errors", "attempts", "count", "bytes", "answered"})
"""Amounts of which several lines are added."""


def mutated(chance, text):
    """One to three damages: of a piece, of a number, of lines; or the end of the text is missing."""
    for _ in range(chance.randint(1, 3)):
        at, end = chance.randint(0, len(text)), chance.randint(0, 40)
        rows = text.splitlines(keepends=True)
        numbers = [match.span() for match in NUMBER.finditer(text)] or [(0, 0)]
        kind = chance.randrange(7)
        if kind == 0:
            text = text[:at] + chance.choice(JUNK) + text[at + end :]
        elif kind == 1:
            start, stop = chance.choice(numbers)
            text = text[:start] + chance.choice((*JUNK, str(chance.randint(0, 10**9)), f"{chance.random():.4f}")) + text[stop:]
        elif kind == 2 and rows:
            del rows[chance.randrange(len(rows))]
            text = "".join(rows)
        elif kind == 3 and rows:
            rows.insert(chance.randint(0, len(rows)), chance.choice(rows))
            text = "".join(rows)
        elif kind == 4 and len(rows) > 1:
            chance.shuffle(rows) if len(rows) < 6 else rows.reverse() if chance.random() < 0.1 else rows.insert(0, rows.pop())
            text = "".join(rows)
        elif kind == 5:
            other = TEXTS[chance.choice(NAMES)]
            text = text + other[: chance.randint(0, len(other))]
        else:
            text = text[:at]
    return text


def told(text):
    """All figures of all runs that an import takes; none where it refuses."""
    try:
        runs, _ = imported.all_runs(text)
    except EvidenceError:
        return []
    return [(run.tool, name, value) for run in runs for name, value in run.values.items()]


def printed_in(text):
    """Whether a value is a number of the text in some unit, to nine digits."""
    there = {
        f"{float(found.replace(',', '.')) * unit:.8e}" for found in set(NUMBER.findall(text)) if len(found) < 60 for unit in UNITS
    }
    return lambda value: value == 0 or f"{value:.8e}" in there


def computed():
    """Figures of each tool that a whole recording does not print: made of several numbers."""
    found = {("ior", "bytes_per_s"), ("ior", "ops_per_s"), ("sysbench", "ops_per_s")}  # means of rows; counts over times
    for text in TEXTS.values():
        is_there = printed_in(text)
        found |= {(tool, name.rpartition(".")[2]) for tool, name, value in told(text) if not is_there(value)}
    return found


@pytest.mark.slow
@few_and_many("inputs", 300, 20_000)
def test_damaged_results_have_figures_of_their_text_or_are_refused(inputs):
    of_several = computed()
    failures = []
    for number in range(inputs):
        chance = random.Random(number)
        name = chance.choice(NAMES)
        text = mutated(chance, TEXTS[name])
        figures = told(text)
        is_there = printed_in(text) if figures else None
        for tool, figure, value in figures:
            kind = figure.rpartition(".")[2]
            if not math.isfinite(value) or value < 0 or kind not in KINDS:
                failures.append(f"{number} of {name}: {tool} {figure} = {value}")
            elif (tool, kind) not in of_several and kind not in SUMS and not is_there(value):
                failures.append(f"{number} of {name}: {tool} {figure} = {value}, which the text does not have")
    assert failures == []
