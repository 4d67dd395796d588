import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "fs_mark")


def test_one_iteration_is_as_printed():
    text = recorded("fs_mark-3.3-keep.txt")
    assert PARSER.resolution(text)["create.ops_per_s"] == pytest.approx(0.05)


def test_a_count_that_shrinks_or_no_row_is_refused():
    text = recorded("fs_mark-3.3-no-sync.txt")
    with pytest.raises(EvidenceError, match="does not grow"):
        PARSER.parse(text.replace("   800   ", "   300   "))
    with pytest.raises(EvidenceError, match="without a complete result"):
        PARSER.parse(text.partition("App Overhead\n    ")[0] + "App Overhead\n")


def test_a_damaged_line_or_a_missing_iteration_is_refused_with_what_was_found():
    text = recorded("fs_mark-3.3-no-sync.txt")
    with pytest.raises(EvidenceError, match=r"line 12, .71 +800 +4096 +25\?4.8 +1374.*one line per iteration"):
        PARSER.parse(text.replace("2574.8", "25?4.8"))
    with pytest.raises(EvidenceError, match="iterations, 2 of 3"):
        PARSER.parse(text[: text.index("    71         1200")])
    with pytest.raises(EvidenceError, match="iterations, 1 of 3"):
        PARSER.parse(text[: text.index("    71          800")].replace("-L  3", "-kL3"))


def test_until_the_file_system_is_full_nobody_knows_the_number_of_iterations():
    text = recorded("fs_mark-3.3-no-sync.txt").replace("-L  3", "-F")
    assert PARSER.parse(text[: text.index("    71         1200")])["create.count"] == 800


def test_of_two_runs_in_one_output_the_last_counts():
    assert PARSER.parse(recorded("fs_mark-3.3-keep.txt") + recorded("fs_mark-3.3-no-sync.txt"))["create.count"] == 1200
    with pytest.raises(EvidenceError, match="without a complete result"):
        PARSER.parse(recorded("fs_mark-3.3-keep.txt") + recorded("fs_mark-3.3-no-sync.txt").partition("FSUse")[0])
