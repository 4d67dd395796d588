"""Every specification is valid Vega-Lite, rates begin at zero, labels do not overlap, doubtful runs are there."""

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.records import Factor, Observations
from assay.records.price import Price
from assay.report import listing, markdown, page
from assay.report.charts import cells, dots, forest, latency, roles, theme
from assay.report.charts.figure import end_labels
from assay.report.galleries import Pictures
from report import fixture
from stage.effect_cases import FULL, answered, planted


@pytest.fixture(scope="module")
def results():
    return fixture.results()


@pytest.fixture(scope="module")
def figures(results):
    return page.figures(results, fixture.loader(results), fixture.pictures(results))


def panels(figures):
    return [panel for figure in figures for panel in figure.panels]


def test_every_specification_is_valid(figures):
    altair = pytest.importorskip("altair")
    for panel in panels(figures)[::4]:
        altair.Chart.from_dict({**panel.spec, "config": theme.CONFIG}, validate=True)


def scales(spec):
    """Every (channel, field, scale) of a specification."""
    if isinstance(spec, dict):
        for channel, how in spec.get("encoding", {}).items():
            if isinstance(how, dict) and "domain" in (how.get("scale") or {}):
                yield channel, how.get("field"), how["scale"]
        for value in spec.values():
            yield from scales(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from scales(value)


def test_linear_axes_of_figures_begin_at_zero(figures):
    checked = 0
    for panel in panels(one for one in figures if one.name != "schedule"):
        for channel, field, scale in scales(panel.spec):
            if channel in ("x", "y") and field != "p" and scale.get("type") != "log":
                checked += 1
                assert scale["domain"][0] == 0
    assert checked > 50


def test_every_run_with_a_value_has_a_dot_and_a_partial_one_does_not_count(results):
    measure = results.experiment.measures[0]
    shown = [dot.run for cell in results.cells if cell.measure == measure.name for dot in cells.runs_of(results, cell)]
    assert sorted(shown) == sorted(judged.id for judged in results.runs if measure.name in judged.verdicts)
    measure = results.experiment.measures[0]
    dots = [dot for cell in results.cells if cell.measure == measure.name for dot in cells.runs_of(results, cell)]
    assert [dot.run for dot in dots if dot.excluded] == ["0009/1"]


@given(st.lists(st.floats(min_value=0, max_value=100), min_size=1, max_size=6))
def test_labels_at_line_ends_keep_apart_and_in_order(values):
    placed = end_labels([(str(index), value) for index, value in enumerate(values)], 0, 100, 0.1)
    ordered = sorted(placed.values())
    assert all(after - before > 9.99 for before, after in itertools.pairwise(ordered))
    assert max(ordered) <= 100.001


def test_levels_lie_in_rows_without_a_number_and_stand_by_their_size_with_one(results):
    experiment = results.experiment
    assert roles.roles(experiment).along == experiment.factors[1]
    text_only = Factor(path="spool.mode", levels=("a", "b"))
    changed = type(experiment)(**{**vars(experiment), "factors": (experiment.factors[0], text_only)})
    parts = roles.roles(changed)
    assert (parts.along, parts.panels) == (None, (text_only,))
    assert roles.positions((1, 2, 4)) == {1: 0.0, 2: pytest.approx(1.0), 4: pytest.approx(2.0)}
    assert roles.positions((1, 2, 3))[2] == pytest.approx(1.0)
    data = theme.rows_of([{"x": 1.0, "n": 'a, "b"\nc'}])
    assert data == {"values": 'x,n\n1,"a, ""b""\nc"\n', "format": {"type": "csv", "parse": {"x": "number", "n": "string"}}}


def test_every_level_keeps_its_label(subtests):
    for count in [2, 6, 9]:
        with subtests.test(count=count):
            plot = dots.Plot(means=[], runs=[], limits=[], top=1.0, unit="")
            spec, _ = dots.lying(plot, [f"level {index}" for index in range(count)])
            axes = [layer["encoding"]["y"]["axis"] for layer in spec["layer"] if "encoding" in layer]
            assert axes
            assert all(axis["tickCount"] == len(axis["values"]) == count for axis in axes)


def test_the_page_has_the_price_of_each_rate(results):
    priced = [replace(one, price=Price(amount=900.0, currency="EUR")) for one in results.experiment.targets]
    dear = replace(results, experiment=replace(results.experiment, targets=tuple(priced)))
    shown = [words for one in listing.measures(dear) for _, words in one.prices]
    assert any("EUR per operation/s" in words for words in shown)
    assert shown[0].split(" (")[0] in page.render(dear, lambda _: Observations(), Pictures())
    assert not any(one.prices for one in listing.measures(results)), "without a price there is none"


def test_titles_axes_and_rows_name_their_figure_and_factor(results, figures):
    rate = next(one for one in figures if one.name == "measure-spool.create.ops_per_s")
    assert rate.title == "spool create: operations per second"
    axes = [layer["encoding"]["y"].get("axis", {}) for layer in rate.panels[0].spec["layer"] if "y" in layer.get("encoding", {})]
    assert "per second" in {axis.get("title") for axis in axes}
    assert {axis.get("title") for axis in axes}.isdisjoint({"/s"})
    alone = replace(results.experiment, factors=(Factor(path="spool.workers", levels=(1, 2)),), compare="spool.workers")
    cell = replace(results.cells[0], levels={"spool.workers": 2})
    assert cells._row_name(roles.roles(alone), cell) == "workers = 2"
    text = replace(alone, factors=(Factor(path="target", levels=("ext4", "xfs")),), compare="target")
    assert cells._row_name(roles.roles(text), replace(cell, levels={"target": "xfs"})) == "xfs"
    row = replace(results.comparisons[0], factor="spool.workers", baseline=1, candidate=2, within={})
    shown = [one for group in forest.ratios(replace(results, comparisons=(row,))) for one in group.rows]
    assert [one.condition for one in shown] == ["workers = 2 against 1"]


def test_the_picture_of_the_answer_stands_before_the_evidence(figures):
    """Which factors matter and how it scales are what was asked; bytes and time are why it is believed."""
    made = answered(FULL, (2, 2, 2), planted)
    names = [one.name for one in page.figures(made, lambda _: Observations(), Pictures())]
    assert names.index("tornado-spool.create.ops_per_s") < names.index("measure-spool.create.ops_per_s")
    text = page.render(made, lambda _: Observations(), Pictures())
    assert text.index('<section id="factors">') < text.index('<section id="measures">')
    assert text.index('href="#factors"') < text.index('href="#measures"')


def test_markdown_has_the_answer_and_texts_mean_nothing_else_in_it(results, subtests):
    for text, told in [
        ("files.list_every <= 5 ms [SOUND]", "files.list_every <= 5 ms [SOUND]"),
        ("[SOUND](http://x) [a](b) <b>", r"\[SOUND](http://x) \[a](b) \<b>"),
        ("_so_ *so* | `so` R&D &lt;", r"\_so\_ \*so\* \| \`so\` R&D \&lt;"),
        ("# no heading\n- no list", r"\# no heading - no list"),
    ]:
        with subtests.test(text=text):
            assert markdown.escape(text) == told
    text = markdown.render(results)
    assert text.startswith("# A mail spool on ext4 or xfs")
    assert "times the rate of ext4" in text
    assert "| not met" in text or "| undecided" in text
    hostile = markdown.render(fixture.hostile("<script>alert(1)</script> | a"))
    assert not re.search(r"(?<!\\)<script", hostile)


def test_a_ratio_is_told_as_so_many_times_the_baseline(results):
    row = next(one for one in results.requirements if one.estimate is not None)
    ratio = replace(row, estimate=replace(row.estimate, value=0.208, low=0.193, high=0.225, unit="ratio"))
    text = markdown.render(replace(results, requirements=(ratio,)))
    page_text = page.render(replace(results, requirements=(ratio,)), lambda _: Observations(), Pictures())
    assert "0.208\u202ftimes (0.193 to 0.225)" in page_text
    assert "| 0.208 times |" in text
    assert " ratio |" not in text.replace("| ratio |", "")


def test_compared_numbers_are_a_curve_over_them_and_not_so_many_colours(results):
    three = replace(results.experiment, factors=(Factor(path="clients", levels=(1, 2, 4)),), compare="clients")
    laid = roles.laid(roles.roles(three))
    assert (laid.series, laid.along.path) == (None, "clients")
    two = replace(three, factors=(Factor(path="clients", levels=(1, 2)),))
    assert roles.laid(roles.roles(two)).along is None
    named = replace(three, factors=(Factor(path="target", levels=("a", "b", "c")),), compare="target")
    assert roles.laid(roles.roles(named)).series.path == "target"
    alone = replace(results, experiment=three, cells=tuple(one for one in results.cells if one.levels["target"] == "ext4"))
    drawn = cells.figure(alone, three.measures[0])
    assert drawn.panels[0].height == dots.HEIGHT
    assert drawn.panels[0].spec["layer"][0]["mark"]["type"] == "line"


def test_of_many_levels_as_many_latencies_are_drawn_as_there_are_colours():
    lines = [latency.PercentileLine(levels={"clients": n}, runs=1, count=99, points=((0.5, 1e6), (0.9, 2e6))) for n in range(60)]
    drawn = latency.spread(lines)
    assert (drawn[0], drawn[-1], len(drawn)) == (lines[0], lines[-1], theme.SERIES)
    assert latency.spread(lines[:8]) == lines[:8]
    parts = roles.Roles(
        series=Factor(path="clients", levels=tuple(range(60))), along=None, panels=(), experiment=fixture.experiment()
    )
    made = latency._figure(parts, ("load.read", "read"), lines)
    assert "The first level, the last and some between" in made.caption
    assert len(made.table.rows) == 60
    assert len({latency._colour(parts, drawn, one) for one in drawn}) == theme.SERIES


def test_operations_below_the_clocks_resolution_have_a_place_on_a_logarithmic_axis(results):
    line = latency._line(results.runs[:1], {0: 900, 10: 100})
    assert {at for _, at in line.points} == {1.0, 10.0}
    (panel,) = latency._figure(roles.roles(results.experiment), ("load.read", "read"), [line]).panels
    assert "0.8" in str(panel.spec)


def test_latencies_of_invalid_runs_are_called_so_and_a_chart_without_an_estimate_is_described(results):
    found = {one.name: one.caption for one in latency.figures(results, [results.runs[:2]], fixture.loader(results))}
    assert "INVALID" not in found["latency-cold.read-read"]
    assert "all of them INVALID" in found["latency-warm.read-read"]
    told = tuple(replace(one, estimate=None, unfiltered=one.estimate, values={}) for one in results.cells)
    boast = next(one for one in results.experiment.measures if one.name == "warm.read.bytes_per_s")
    drawn = cells.figure(replace(results, cells=told), boast)
    assert all(one.description.startswith("no run counts; ") for one in drawn.panels)
