"""The picture of a rate over clients: points, law, bounds and marks are where they belong, and the same stands in its table."""

import csv
import io
import itertools
import json
from dataclasses import replace

import pytest

import notebook_records as made
from assay.analysis.cells import cells
from assay.analysis.compare import comparisons
from assay.analysis.scaling.bounds import bounded, pictured
from assay.analysis.scaling.law import scaling
from assay.records import Capacity, CapacitySource, Ceiling, Factor, Requirement, RequirementKind, Results
from assay.report import picture
from assay.report.charts import theme
from assay.report.charts.scaling import figures, limit, roof
from assay.report.galleries import Pictures
from closed_system import DEVICE, KNEE, LATENCY, NUMBERS, RATE, system, throughput


@pytest.fixture(scope="module")
def results():
    """Clients on one disk, with an objective."""
    asked, runs, table, load = system(
        requirements=(Requirement(measure=LATENCY, kind=RequirementKind.AT_MOST, bound=3e6, text="<= 3 ms"),)
    )
    answers = (*scaling(asked, table, ()), *bounded(asked, runs, table, load))
    found = Results(experiment=asked, plan=made.plan(asked, 5), runs=tuple(runs), cells=table, scaling=answers)
    return found, pictured(asked, runs, table, load)


@pytest.fixture(scope="module")
def figure(results):
    (one,) = figures(*results)
    return one


LINK = Capacity(resource="network_in", amount=9e9, source=CapacitySource.LINK)


def rows(figure, field):
    """The data of the layers that have a field."""
    found = []
    for layer in figure.panels[0].spec["layer"]:
        text = layer.get("data", {}).get("values", "")
        if isinstance(text, str) and field in text.partition("\n")[0].split(","):
            found.append(list(csv.DictReader(io.StringIO(text))))
    return found


def test_points_law_marks_and_table_are_where_they_belong(figure):
    assert [row[0] for row in figure.table.rows] == [str(number) for number in NUMBERS]
    assert figure.table.rows[0][5] == "1 times one alone"
    assert figure.table.rows[-1][5] == "the 20 MB/s written to loop0"
    assert float(figure.table.rows[-1][4].replace(",", "")) == pytest.approx(1 / DEVICE, rel=0.02)
    assert "of the 20 MB/s written to loop0" in figure.table.rows[-1][6]
    (marks,) = rows(figure, "r")
    told = {row["n"].rpartition(" ")[0]: float(row["x"]) for row in marks}
    assert told["knee"] == pytest.approx(KNEE, rel=0.05)
    assert {"knee", "90 % of 20 MB/s written to loop0 used", "<= 3 ms kept up to"} <= set(told)
    heights = [float(row["y"]) for row in sorted(marks, key=lambda row: float(row["x"]))]
    assert all(abs(a - b) > 1 for a, b in itertools.pairwise(heights)), "names beside each other are not at one height"
    (band,) = [one for one in rows(figure, "h") if "v" not in one[0] and "n" not in one[0]]
    assert len(band) == 40
    assert all(float(row["l"]) <= float(row["h"]) for row in band)
    assert "Fitted: " in figure.caption
    altair = pytest.importorskip("altair")
    for panel in figure.panels:
        altair.Chart.from_dict({**panel.spec, "config": theme.CONFIG}, validate=True)
    text = json.dumps(figure.panels[0].spec)
    assert '"domain": [0,' in text
    assert "var(--" not in text.replace("var(--paper)", "")
    drawn = pytest.importorskip("vl_convert").vegalite_to_svg(theme.without_variables(json.dumps(picture.specification(figure))))
    assert "knee" in drawn
    assert "bound" in drawn
    assert Pictures().scaled == ()


def test_the_roof_bends_at_the_knee_and_a_far_bound_is_not_drawn(results):
    (curve,) = results[1]
    corners = roof(curve, 16.0, 2441.0)
    assert corners[0] == (0.0, 0.0)
    assert corners[1] == pytest.approx((KNEE, 1 / DEVICE), rel=0.03)
    assert corners[2] == pytest.approx((16.0, 1 / DEVICE), rel=0.03)
    assert roof(replace(curve, ceilings=()), 2.0, 2441.0)[-1] == pytest.approx((2.0, 2 * curve.alone))
    assert roof(replace(curve, alone=None), 16.0, 2441.0)[0][1] == pytest.approx(1 / DEVICE, rel=0.03)
    assert roof(replace(curve, alone=None, ceilings=()), 16.0, 2441.0) == []
    assert limit(replace(curve, alone=None, ceilings=()), 2)[0] is None
    assert all(throughput(n) <= limit(curve, n)[0] * 1.02 for n in NUMBERS)
    answered, (curve,) = results
    far = replace(curve, ceilings=(Ceiling(capacity=LINK, rate=1e6, low=9e5, high=1.1e6),))
    (one,) = figures(answered, (far,))
    assert "Farther up than is drawn: the bound by the 9 GB/s over the network into the server." in one.caption
    (none,) = figures(answered, (replace(curve, ceilings=()),))
    assert "No bound" in none.caption
    assert figures(answered, ()) == ()


def test_two_arms_stand_in_one_panel_and_their_break_even_is_marked():
    asked, runs, table, load = two_arms()
    found = comparisons(asked, table, runs)
    answers = (*scaling(asked, table, found), *bounded(asked, runs, table, load))
    results = Results(
        experiment=asked, plan=made.plan(asked, 5), runs=tuple(runs), cells=table, comparisons=found, scaling=answers
    )
    (one,) = figures(results, pictured(asked, runs, table, load))
    assert len(one.panels) == 1
    (marks,) = rows(one, "r")
    assert any(row["n"].startswith("break-even") for row in marks)
    assert {row["s"] for row in rows(one, "x")[0]} == {"0", "1"}


def two_arms():
    """The disk against one that is dearer for one alone and has no such limit."""
    asked, runs, _, load = system(noise=0.01)
    both = Factor(path="target", levels=("disk", "array"))
    asked = replace(asked, factors=(both, *asked.factors), compare="target", measures=asked.measures[:1])
    plan = made.plan(asked, 5)
    by_number = {}
    for one in runs:
        by_number.setdefault(one.run.trial.levels["clients"], []).append(one)
    found, seen = [], {}
    for trial in plan.trials:
        like = by_number[trial.levels["clients"]][trial.block]
        rate = (
            like.verdicts[RATE].value
            if trial.levels["target"] == "disk"
            else 400.0 * trial.levels["clients"] * (1 + 0.01 * trial.block)
        )
        found.append(made.judged(replace(like.run, trial=trial), {RATE: rate}))
        seen[found[-1].id] = load(like.id)
    return asked, found, cells(asked, plan, found, seen.get), seen.get
