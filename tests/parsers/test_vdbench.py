import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "vdbench")
TEXT = recorded("vdbench-50407-quick.txt")


def test_the_averages_of_the_last_run_definition():
    found = PARSER.parse(TEXT)
    assert found["read.bytes_per_s"] / found["read.ops_per_s"] == pytest.approx(1024, rel=0.05), "its requests are of 1 KiB"


def test_reads_alone_have_the_whole_rate():
    found = PARSER.parse(TEXT.replace("50.72 ", "100.0 "))
    assert found["read.ops_per_s"] == 104.5
    assert not [key for key in found if key.startswith("write.")]


def test_a_definition_that_has_not_ended_is_no_result():
    with pytest.raises(EvidenceError):
        PARSER.parse(TEXT[: TEXT.index("16:24:36.053")])
