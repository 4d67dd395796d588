import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ldapsearch")
NAME = "ldapsearch-2.5.13-time.txt"


def test_entries_and_the_time_around():
    assert recorded(NAME).count("\ndn: ") == 11
    assert PARSER.resolution(recorded(NAME))["search.elapsed_ns"] == pytest.approx(0.5e6)


def test_of_two_searches_with_a_time_each_the_last_counts():
    assert PARSER.parse(recorded(NAME) * 2) == PARSER.parse(recorded(NAME))
    assert [len(PARSER.runs(recorded(name) * 2)) for name in (NAME, "ldapsearch-2.4.16-L-paged.txt")] == [2, 2], (
        "pages are one call"
    )


@pytest.mark.parametrize("lost", ["# numEntries: 11\n", "# numResponses: 12\n", "result: 0 Success\n"])
def test_an_end_that_does_not_add_up_is_refused(lost):
    assert lost in recorded(NAME)
    with pytest.raises(EvidenceError, match="responses"):
        PARSER.parse(recorded(NAME).replace(lost, ""))


def test_with_its_option_for_plain_ldif_a_result_has_no_code_and_errors_are_known_where_one_is_said():
    text = recorded("ldapsearch-2.6.13-L-size-limit.txt")
    assert PARSER.parse(text.replace("Size limit exceeded (4)\n", "")) == {"search.count": 5, "search.attempts": 1}


def test_without_an_answer_there_is_no_figure():
    with pytest.raises(EvidenceError, match="numEntries"):
        PARSER.parse(recorded("ldapsearch-2.5.13-failed.txt"))
