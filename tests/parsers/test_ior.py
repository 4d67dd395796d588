import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ior")


def test_mebibytes_of_both_sides():
    assert PARSER.resolution(recorded("ior-4.1.0-dev-posix.txt"))["write.bytes_per_s"] == pytest.approx(0.005 * (1 << 20))


def test_two_tests_in_one_output_are_refused():
    text = recorded("ior-4.1.0-dev-posix.txt")
    row = next(line for line in text.splitlines(keepends=True) if line.startswith("write  ") and "POSIX" in line)
    with pytest.raises(EvidenceError, match="second test that does write"):
        PARSER.parse(text + row)


def test_without_a_summary_the_rows_of_results_count():
    text = recorded("ior-4.1.0-dev-posix.txt")
    found = PARSER.parse(text[: text.index("Summary")])
    assert found["write.bytes_per_s"] == pytest.approx(711.56 * (1 << 20))
    assert found["read.ops_per_s"] == 27380
    assert "write.bytes" not in found


def test_a_decimal_comma_in_the_csv_moves_no_cells():
    with pytest.raises(EvidenceError):
        PARSER.parse(recorded("ior-4.1.0-dev-write.csv").replace(".", ","))


def test_a_second_run_without_its_summary_is_not_the_first():
    text = recorded("ior-4.1.0-dev-posix.txt")
    second = text[: text.index("Summary")].replace("711.56 ", "611.56 ")
    assert PARSER.parse(text + second)["write.bytes_per_s"] == pytest.approx(611.56 * (1 << 20))
    with pytest.raises(EvidenceError):
        PARSER.parse(text + text[: text.index("access ")])


def test_it_knows_its_own_and_its_file():
    assert PARSER.recognises(("mpirun", "-n", "2", "ior", "-w"), recorded("ior-4.1.0-dev-posix.txt"))
    assert PARSER.recognises(("ior",), recorded("ior-4.1.0-dev-write.csv"))
    assert not PARSER.recognises(("mdtest",), recorded("ior-4.1.0-dev-posix.txt"))
    assert PARSER.result_file(("ior", "-O", "summaryFile=there", "-O", "summaryFormat=JSON")) == "there"
