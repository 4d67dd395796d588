"""searchrate: the averages of the last row in both forms, and tables that tell errors."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "searchrate")
TEXT = recorded("searchrate-opendj-form.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "request.ops_per_s": 17_206.1,
        "request.latency_mean_ns": 29.718e6,
        "request.latency_p999_ns": 140.51e6,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_unboundid_has_overall_columns():
    found = PARSER.parse(recorded("searchrate-unboundid-form.txt"))
    assert found == pytest.approx({"request.ops_per_s": 8796.509, "request.latency_mean_ns": 225e3})


def test_a_row_with_errors_leaves_no_figure():
    for name, zero in (
        ("searchrate-opendj-form.txt", "      0.0          1.0"),
        ("searchrate-unboundid-form.txt", "       0.000      8261"),
    ):
        with pytest.raises(EvidenceError, match="without errors"):
            PARSER.parse(recorded(name).replace(zero, zero.replace(" 0.0", " 7.0"), 1))
