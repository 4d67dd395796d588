"""Tables of the analysis in the report: what operations use stands in the answer where an experiment varies a mix."""

from assay.prediction.demand import groups
from assay.prediction.wording import tables
from assay.report import page
from assay.report.charts.figure import Table
from assay.report.galleries import Pictures
from stage import mix_cases


def test_what_an_operation_uses_stands_in_the_answer_and_is_text():
    results, load = mix_cases.results()
    listed = tuple((title, Table(head=head, rows=rows)) for title, head, rows in tables(groups(results, load)))
    bad = ("<b>", Table(head=("a<",), rows=(("<script>",),)))
    text = page.render(results, load, Pictures(tables=(*listed, bad)))
    assert text.index("Resource use of one operation") < text.index("Rate limits by resource") < text.index("&lt;script&gt;")
    assert "CPUs, of the load itself" in text
    assert "<td><script>" not in text
    assert "Resource use of one operation" not in page.render(results, load, Pictures())
