"""ioping: reads and writes by what it says, thousands, and times of the requests alone."""

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ioping")
TEXT = recorded("ioping-1.3-read.txt")


def test_writes_are_writes_and_k_is_a_thousand():
    assert PARSER.resolution(recorded("ioping-1.3-rate.txt"))["read.count"] == 5
