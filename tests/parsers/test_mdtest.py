import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "mdtest")


def test_files_directories_and_the_tree():
    found = PARSER.parse(recorded("mdtest-4.1.0-dev.txt"))
    assert len(found) == 10
    assert PARSER.resolution(recorded("mdtest-4.1.0-dev.txt"))["mkdir.ops_per_s"] == pytest.approx(0.0005)


def test_a_report_without_its_summary_is_refused():
    text = recorded("mdtest-4.1.0-dev.txt")
    with pytest.raises(EvidenceError, match="SUMMARY"):
        PARSER.parse(text[: text.index("SUMMARY")])


def test_a_summary_of_times_is_none_of_rates():
    text = recorded("mdtest-4.1.0-dev.txt")
    rows = text[text.index("   Operation ") : text.index("-- finished")].replace("44246.047", "11.000")
    assert PARSER.parse(f"{text}\nSUMMARY time (in ms): (of 1 iterations)\n{rows}") == PARSER.parse(text)
