"""hey: failures by status code and without a response."""

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "hey")
TEXT = recorded("hey-0.1.4-404.txt")


def test_redirections_are_doubtful():
    found = PARSER.parse(TEXT.replace("[404]\t100", "[301]\t100"))
    assert (found["request.errors"], found["request.doubtful"]) == (0, 100)


def test_a_count_that_cannot_be_read_leaves_out_all_counts():
    found = PARSER.parse(TEXT.replace("[404]\t100", "[404]\t1x0"))
    assert "request.count" not in found or found["request.count"] != 100
