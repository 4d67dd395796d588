import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "sysbench")


def test_mebibytes_and_operations_of_both_sides():
    assert PARSER.resolution(recorded("sysbench-1.0.20-rndrw.txt"))["read.bytes_per_s"] == pytest.approx(0.005 * (1 << 20))


def test_a_side_that_did_nothing_has_no_figures():
    assert not [key for key in PARSER.parse(recorded("sysbench-1.0.20-seqrewr.txt")) if key.startswith("read.")]


def test_half_a_report_is_refused():
    text = recorded("sysbench-1.0.20-rndrw.txt")
    for end in ("fsyncs/s", "written, MiB", "total time"):
        with pytest.raises(EvidenceError):
            PARSER.parse(text[: text.index(end)])


def test_prepare_and_run_in_one_output_are_not_mixed():
    last = recorded("sysbench-1.0.20-rndrw.txt")
    assert PARSER.parse(recorded("sysbench-1.0.20-prepare.txt") + last) == PARSER.parse(last)
