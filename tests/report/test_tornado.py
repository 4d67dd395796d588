"""Tornadoes: the largest effect on top, every effect in the table, doubts told, on the page and as a file."""

import pytest

import notebook_records as made
from assay.report import markdown, page, picture
from assay.report.charts import theme, tornado
from assay.report.inputs import Pictures
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


def test_the_largest_effect_is_on_top_and_pairs_have_a_panel_of_their_own(results):
    (figure,) = tornado.figures(results)
    own, pairs = figure.panels
    assert (figure.name, own.heading) == ("tornado-spool.create.ops_per_s", "")
    assert [line["n"][:3] for line in lines(own)][:2] == ["+42", "-27"]
    assert "ratio of one is with the other" in pairs.heading
    assert all(line["n"].endswith("*") for line in lines(pairs))
    assert "cannot tell apart" in figure.caption


def test_every_effect_is_in_the_table_with_what_it_may_be_instead(results):
    (figure,) = tornado.figures(results)
    assert len(figure.table.rows) == 7
    assert all(len(row) == len(figure.table.head) for row in figure.table.rows)
    said = {row[0]: row for row in figure.table.rows}
    assert said["spool.a with spool.c"][-1] == "spool.b with spool.d"
    assert said["spool.a"][6] == "different and matters"


@pytest.mark.parametrize(("kind", "levels"), [(FULL, (3, 2)), (ALONE, (2, 2, 3)), (SCREEN, (2,) * 9)])
def test_every_design_gives_a_valid_picture(kind, levels):
    altair = pytest.importorskip("altair")
    (figure,) = tornado.figures(answered(kind, levels, plain_effects, blocks=3))
    for panel in figure.panels:
        altair.Chart.from_dict({**panel.spec, "config": theme.CONFIG}, validate=True)
    assert ("may in part be what two other factors do" in figure.caption) == (kind is SCREEN)


def test_what_is_far_off_is_cut_and_still_told():
    huge = answered(ALONE, (2, 2), lambda levels: 1e6 if levels["spool.a"] else 1.0)
    (figure,) = tornado.figures(huge)
    first = lines(figure.panels[0])[0]
    assert float(first["v"]) == tornado.REACH
    assert first["n"].endswith(" times")
    assert float(first["n"].removesuffix(" times")) == pytest.approx(1e6, rel=0.05)


def test_two_blocks_have_bars_without_conclusions():
    (figure,) = tornado.figures(answered(FULL, (2, 2), plain_effects, blocks=2))
    assert {line["k"] for panel in figure.panels for line in lines(panel)} == {"undecided"}
    assert {row[5] for row in figure.table.rows} == {"no interval"}


def test_nothing_is_drawn_without_a_design_or_where_nothing_could_be_told():
    assert tornado.figures(answered(FULL, (2, 2), plain_effects, lost=lambda trial: trial.levels["spool.a"] == 1)) == ()


def test_it_is_on_the_page_below_the_answer_and_can_be_had_as_a_file(results, tmp_path):
    text = page.render(results, no_evidence, Pictures())
    assert results.sensitivity[0].statement.partition(" (")[0] in text
    assert '<section id="factors"><h2>Which factors matter</h2>' in text
    assert '<a href="#factors">' in text
    pytest.importorskip("vl_convert")
    name = "tornado-spool.create.ops_per_s"
    picture.write(results, no_evidence, Pictures(), name, tmp_path / "a.svg")
    assert "spool.a with spool.c" in (tmp_path / "a.svg").read_text()
    picture.write(results, no_evidence, Pictures(), name, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_it_is_in_the_markdown_as_a_table(results):
    text = markdown.render(results)
    assert "## Which factors matter to spool.create.ops_per_s" in text
    assert "| spool.a with spool.c |" in text
