"""ldclt: the global rate, not that of an interval, and errors added over their codes."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ldclt")
TEXT = recorded("ldclt-errors-form.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "request.ops_per_s": 828.14,
        "request.count": 82_814,
        "request.errors": 815,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_a_session_without_errors_says_so_and_an_unreadable_count_leaves_it_out():
    assert PARSER.parse(recorded("ldclt-form.txt"))["request.errors"] == 0
    assert "request.errors" not in PARSER.parse(TEXT.replace("occurs   812", "occurs   8x2"))
