import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "smallfile")


def test_files_and_mebibytes_per_second():
    assert PARSER.resolution(recorded("smallfile-3.2-git-create.txt"))["create.elapsed_ns"] == 0.5e6


def test_operations_have_the_names_of_other_tools():
    assert "rename.ops_per_s" in PARSER.parse(recorded("smallfile-3.2-git-rename.txt"))


@pytest.mark.parametrize(
    ("old", "new"), [(" : create", " : destroy"), ("total files = 397", "total files = x"), ("files/sec", "sec")]
)
def test_a_strange_report_is_refused(old, new):
    text = recorded("smallfile-3.2-git-create.txt")
    assert old in text
    with pytest.raises(EvidenceError, match="files/sec"):
        PARSER.parse(text.replace(old, new))


def test_of_two_runs_in_one_output_the_last_counts():
    last = recorded("smallfile-3.2-git-delete.txt")
    assert PARSER.parse(recorded("smallfile-3.2-git-create.txt") + last) == PARSER.parse(last)


def test_it_knows_its_own_and_its_file():
    words = ("python3", "/opt/smallfile/smallfile_cli.py", "--output-json", "there.json")
    assert PARSER.recognises(words, recorded("smallfile-3.2-git-read.txt"))
    assert PARSER.result_file(words) == "there.json"
    assert not PARSER.recognises(("python3",), recorded("smallfile-3.2-git-read.txt"))
