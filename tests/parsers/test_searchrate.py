"""searchrate: the averages of the last row in both forms, and tables that tell errors."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "searchrate")
TEXT = recorded("searchrate-opendj-form.txt")


def test_a_row_with_errors_leaves_no_figure():
    for name, zero in (
        ("searchrate-opendj-form.txt", "      0.0          1.0"),
        ("searchrate-unboundid-form.txt", "       0.000      8261"),
    ):
        with pytest.raises(EvidenceError, match="without errors"):
            PARSER.parse(recorded(name).replace(zero, zero.replace(" 0.0", " 7.0"), 1))
