"""Heat maps: which grids become one, that every cell is there with its doubt, that it can be read in light and dark."""

import csv
import io
import re
from dataclasses import replace

import pytest

import grid_cases
from assay.records import Estimate, Factor, Method, Observations
from assay.report import page, picture
from assay.report.charts import cells, heatmap, theme
from assay.report.galleries import Pictures

STYLE = picture.HERE / "style.css"


@pytest.fixture(scope="module")
def results():
    return grid_cases.results()


@pytest.fixture(scope="module")
def figures(results):
    return [cells.figure(results, measure) for measure in results.experiment.measures]


def rows(figure):
    (panel,) = figure.panels
    return {(row["x"], row["y"]): row for row in csv.DictReader(io.StringIO(panel.spec["data"]["values"]))}


def factor(path, *levels):
    return Factor(path=path, levels=levels)


FEW, MANY = factor("clients", 1, 2), factor("file.record_size", 4096, 8192, 16384, 32768)
SIZES = factor("file.size", 2**20, 2**21, 2**22)


PAIR = factor("file.size", 2**20, 2**21)


def asked(*factors, compare=None):
    return replace(grid_cases.experiment(), factors=factors, compare=compare)


def test_which_grids_become_a_map_and_how_it_lies(subtests):
    for factors in [(), (MANY,), (PAIR, FEW), (MANY, factor("target", "a", "b", "c"))]:
        with subtests.test(factors=factors):
            assert heatmap.grid(asked(*factors)) is None
    assert heatmap.grid(asked(MANY, FEW)) is not None
    assert heatmap.grid(asked(MANY, FEW, compare="clients")) is None
    assert heatmap.grid(asked(MANY, SIZES, compare="file.size")).y == SIZES
    target = factor("target", "a", "b")
    found = heatmap.grid(asked(target, SIZES, FEW, MANY))
    assert (found.x, found.y, found.panels) == (MANY, SIZES, (target, FEW))
    records = factor("file.record_size", 4096, 8192, 16384)
    for order in ((SIZES, records), (records, SIZES)):
        assert heatmap.grid(asked(*order)).x == records


def test_every_cell_is_there_with_figure_interval_and_verdict_in_the_order_of_size(figures, results, tmp_path):
    for figure in figures:
        found = rows(figure)
        assert len(found) == 30
        assert figure.wide
        hollow = found["8 KiB", "64 MiB"]
        assert (hollow["c"], hollow["d"], hollow["u"][0]) == (heatmap.HOLLOW, "INVALID", "(")
        assert found["256 KiB", "64 MiB"]["d"] == "TAINTED"
        assert [place for place, row in found.items() if row["o"] == "1"] == [("64 KiB", "128 MiB")]
        assert sum(row["c"] == heatmap.HOLLOW for row in found.values()) == 1
    assert re.fullmatch(r"56\d\u202fMB/s", rows(figures[0])["64 KiB", "128 MiB"]["u"])
    assert re.fullmatch(r"±\d\.\d %", rows(figures[0])["64 KiB", "128 MiB"]["h"])
    encoding = figures[0].panels[0].spec["encoding"]
    assert encoding["x"]["scale"]["domain"] == ["8 KiB", "16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB"]
    assert encoding["y"]["scale"]["domain"][-1] == "1 GiB"
    assert heatmap.ordered(grid_cases.experiment(), factor("x", 30, 4, 200)) == ["4", "30", "200"]
    assert figures[0].caption.count("Dip at") == 1
    assert "0.73 times the figure at file.record_size = 32 KiB and 128 KiB" in figures[0].caption
    pytest.importorskip("vl_convert")
    path = tmp_path / "map.svg"
    picture.write(figures, f"measure-{grid_cases.RATE}", path)
    text = path.read_text()
    assert "var(" not in text
    assert theme.LIGHT["--h6"] in text


def test_the_ramp_rises_and_draws_no_noise_and_one_factor_keeps_its_dots():
    ramp = heatmap.ramp_of([1e6, 1e9])
    steps = [ramp.step(value) for value in (1e6, 1e7, 1e8, 1e9)]
    assert (steps[0], steps[-1]) == (0, heatmap.STEPS - 1)
    assert steps == sorted(steps)
    noise = heatmap.ramp_of([1.00e8, 1.03e8])
    assert abs(noise.step(1.03e8) - noise.step(1.00e8)) <= 1
    assert heatmap.ramp_of([]).step(0.0) == 0
    one = Estimate(value=5.0, low=None, high=None, confidence=0.95, unit="ns", n=2, method=Method.MEAN)
    assert heatmap.half(one) == "n = 2"
    assert heatmap.half(replace(one, low=4.0, high=6.0)) == "±20 %"
    asked = grid_cases.experiment(files=(128 * grid_cases.MIB,))
    made = grid_cases.results(asked=asked)
    figure = cells.figure(made, made.experiment.measures[0])
    assert not figure.wide
    assert "Dip at" in figure.caption


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_letters_can_be_read_on_every_step_and_the_ramp_is_monotone_in_lightness(subtests):
    """At least 4.5 to 1 (WCAG 2 AA); a ramp that only goes by lightness is told apart without seeing colours."""
    for place in [0, 1]:
        with subtests.test(place=place):
            text = STYLE.read_text(encoding="utf-8")
            colours = {name: re.findall(rf"--{name}: (#[0-9a-f]{{6}})", text)[place] for name in re.findall(r"--([ht]\d):", text)}
            light = [luminance(colours[f"h{step}"]) for step in range(heatmap.STEPS)]
            assert light == sorted(light, reverse=place == 0)
            for step in range(heatmap.STEPS):
                letters = luminance(colours[heatmap.letters(step)[6:8]])
                low, high = sorted((letters, light[step]))
                assert (high + 0.05) / (low + 0.05) >= 4.5, f"step {step}"


def test_the_page_draws_it_and_the_unit_goes_where_there_is_room(results, tmp_path, look, subtests):
    for width, unit in [(1400, True), (390, False)]:
        with subtests.test(width=width):
            if not picture.BUNDLE.exists():
                pytest.importorskip("vl_convert")
                picture.write_bundle()
            path = tmp_path / "report.html"
            page.write(results, lambda run: Observations(), path, Pictures())
            seen = look(path, width)
            assert seen.complaints == []
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
            letters = seen.page.evaluate(
                "[...document.querySelectorAll('#measures .chart svg text')].map(one => one.textContent)"
            )
            assert any(re.fullmatch(r"56\d\u202fMB/s" if unit else r"56\d", text) for text in letters)
            assert seen.page.evaluate("document.body.textContent").count("the figure of its neighbours") == 4
