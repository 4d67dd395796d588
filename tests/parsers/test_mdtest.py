import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "mdtest")


def test_files_directories_and_the_tree():
    found = PARSER.parse(recorded("mdtest-4.1.0-dev.txt"))
    assert found["mkdir.ops_per_s"] == 44_246.047
    assert found["stat_dir.ops_per_s"] == 1_092_835.852
    assert found["create.ops_per_s"] == 39_581.975
    assert found["unlink.ops_per_s"] == 125_184.42
    assert found["remove_tree.ops_per_s"] == 32.46
    assert len(found) == 10
    assert PARSER.resolution(recorded("mdtest-4.1.0-dev.txt"))["mkdir.ops_per_s"] == pytest.approx(0.0005)


def test_of_iterations_the_mean_counts_and_what_was_not_done_has_no_figure():
    found = PARSER.parse(recorded("mdtest-4.1.0-dev-files-3.txt"))
    assert found["create.ops_per_s"] == 11_690.75
    assert "read.ops_per_s" not in found


def test_a_report_without_its_summary_is_refused():
    text = recorded("mdtest-4.1.0-dev.txt")
    with pytest.raises(EvidenceError, match="SUMMARY"):
        PARSER.parse(text[: text.index("SUMMARY")])


def test_a_summary_of_times_is_none_of_rates():
    text = recorded("mdtest-4.1.0-dev.txt")
    rows = text[text.index("   Operation ") : text.index("-- finished")].replace("44246.047", "11.000")
    assert PARSER.parse(f"{text}\nSUMMARY time (in ms): (of 1 iterations)\n{rows}") == PARSER.parse(text)


def test_it_knows_its_own():
    assert PARSER.recognises(("mpirun", "mdtest"), recorded("mdtest-4.1.0-dev.txt"))
    assert not PARSER.recognises(("ior",), recorded("mdtest-4.1.0-dev.txt"))
