import pytest

from assay import catalogue
from assay.errors import EvidenceError
from parser_cases import recorded

PARSER = catalogue.find("parsers", "fs_mark")


def test_one_iteration_is_as_printed():
    text = recorded("fs_mark-3.3-keep.txt")
    assert PARSER.parse(text) == {"create.ops_per_s": 1634.1, "create.count": 100, "create.bytes": 100 * 4096}
    assert PARSER.resolution(text)["create.ops_per_s"] == pytest.approx(0.05)


def test_several_iterations_are_all_files_over_all_times():
    found = PARSER.parse(recorded("fs_mark-3.3-no-sync.txt"))
    assert found["create.count"] == 1200, "its count is the sum so far"
    assert found["create.ops_per_s"] == pytest.approx(1200 / (400 / 2966.8 + 400 / 2574.8 + 400 / 2606.4))


def test_verbose_columns_are_passed_over():
    assert PARSER.parse(recorded("fs_mark-3.3-verbose.txt"))["create.count"] == 400


def test_a_count_that_shrinks_or_no_row_is_refused():
    text = recorded("fs_mark-3.3-no-sync.txt")
    with pytest.raises(EvidenceError, match="does not grow"):
        PARSER.parse(text.replace("   800   ", "   300   "))
    with pytest.raises(EvidenceError, match="without a whole result"):
        PARSER.parse(text.partition("App Overhead\n    ")[0] + "App Overhead\n")


def test_it_knows_its_own():
    assert PARSER.recognises(("fs_mark", "-d", "x"), recorded("fs_mark-3.3-keep.txt"))
    assert not PARSER.recognises(("fs_mark",), "usage\n")
