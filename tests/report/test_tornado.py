"""Tornadoes: the largest effect on top, every effect in the table, doubts told, on the page and as a file."""

import re

import pytest

import notebook_records as made
from assay.report import markdown, page, picture
from assay.report.charts import theme, tornado
from assay.report.galleries import Pictures
from effect_cases import ALONE, FRACTION, FULL, SCREEN, answered, plain_effects, planted


@pytest.fixture(scope="module")
def results():
    return answered(FRACTION, (2, 2, 2, 2), planted)


def no_evidence(run):
    return made.observations()


def lines(panel):
    """The rows of a panel's data by their columns."""
    head, *rows = panel.spec["data"]["values"].splitlines()
    return [dict(zip(head.split(","), row.split(","), strict=False)) for row in rows]


def test_the_largest_effect_is_on_top_and_every_effect_in_a_table(results):
    own, pairs = tornado.figures(results)
    assert (own.name, pairs.name) == ("tornado-spool.create.ops_per_s", "tornado-spool.create.ops_per_s-together")
    assert [line["n"] for line in lines(own.panels[0])][:2] == ["+42\u202f%", "-27\u202f%"]
    assert "ratio of one factor is with the other" in pairs.caption
    assert all(line["n"].endswith("*") for line in lines(pairs.panels[0]))
    assert '["spool.a = 1", "with spool.c = 1"]' in pairs.panels[0].spec["layer"][2]["encoding"]["y"]["axis"]["labelExpr"]
    assert "aliased with the effects" in pairs.caption
    assert "aliased with" not in own.caption
    tables = [figure.table for figure in tornado.figures(results)]
    assert [len(one.rows) for one in tables] == [4, 3]
    assert all(len(row) == len(one.head) for one in tables for row in one.rows)
    said = {row[0]: row for one in tables for row in one.rows}
    assert said["spool.a with spool.c"][-1] == "spool.b with spool.d"
    assert said["spool.a"][6] == "different and matters"


def test_every_design_gives_a_valid_picture(subtests):
    for kind, levels in [(FULL, (3, 2)), (ALONE, (2, 2, 3)), (SCREEN, (2,) * 9)]:
        with subtests.test(kind=kind):
            altair = pytest.importorskip("altair")
            found = tornado.figures(answered(kind, levels, plain_effects, blocks=3))
            assert len(found) == 1 + (kind is FULL)
            for figure in found:
                altair.Chart.from_dict({**figure.panels[0].spec, "config": theme.CONFIG}, validate=True)
                assert ("may partly be an interaction of two other factors" in figure.caption) == (kind is SCREEN)


def test_what_is_far_off_is_cut_two_blocks_conclude_nothing_and_no_design_draws_nothing():
    huge = answered(ALONE, (2, 2), lambda levels: 1e6 if levels["spool.a"] else 1.0)
    (figure,) = tornado.figures(huge)
    first = lines(figure.panels[0])[0]
    assert float(first["v"]) == tornado.REACH
    assert re.search(r"(9\.\d+e\+05|1(\.\d+)?e\+06) times$", first["n"])
    found = tornado.figures(answered(FULL, (2, 2), plain_effects, blocks=2))
    assert {line["k"] for figure in found for line in lines(figure.panels[0])} == {"undecided"}
    assert {row[5] for figure in found for row in figure.table.rows} == {"no interval"}
    assert tornado.figures(answered(FULL, (2, 2), plain_effects, lost=lambda trial: trial.levels["spool.a"] == 1)) == ()


def test_it_is_on_the_page_in_the_markdown_and_a_file(results, tmp_path):
    text = page.render(results, no_evidence, Pictures())
    assert "spool.c matters most: +4" in text
    assert '<section id="factors"><h2>Which factors matter</h2>' in text
    assert '<a href="#factors">' in text
    pytest.importorskip("vl_convert")
    name = "tornado-spool.create.ops_per_s"
    picture.write(page.figures(results, no_evidence, Pictures()), name, tmp_path / "a.svg")
    assert "spool.a" in (tmp_path / "a.svg").read_text()
    picture.write(page.figures(results, no_evidence, Pictures()), name, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    text = markdown.render(results)
    assert "## Which factors matter to spool.create.ops_per_s" in text
    assert "| spool.a with spool.c |" in text
