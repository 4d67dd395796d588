import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "diskspd")


def test_a_side_that_did_nothing_has_no_figures():
    found = PARSER.parse(recorded("diskspd-2.2.0-write.txt"))
    assert {key.partition(".")[0] for key in found} == {"write"}


def test_without_latencies_there_are_none():
    rows = recorded("diskspd-2.0-mix.txt").partition("total:\n")[0].splitlines(keepends=True)
    plain = "".join(row.replace(" |  AvgLat  | IopsStdDev | LatStdDev", "") for row in rows)
    for numbers in (" |    0.272 |      94.24 |     0.185", " |    2.179 |      38.48 |     1.037"):
        plain = plain.replace(numbers, "")
    assert not [key for key in PARSER.parse(plain) if "latency" in key]


def test_half_a_report_is_no_result():
    with pytest.raises(EvidenceError):
        PARSER.parse(recorded("diskspd-2.0-mix.txt").partition("Read IO")[0])
