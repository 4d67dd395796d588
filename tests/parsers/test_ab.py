"""ab: failures that overlap, percentiles in whole milliseconds, the last of two runs."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ab")
TEXT = recorded("ab-2.3-404.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "request.ops_per_s": 1045.31,
        "request.errors": 400,
        "request.attempts": 400,
        "request.latency_p99_ns": 25e6,
        "response.bytes_per_s": 530.82 * 1024,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_failed_requests_and_other_answers_are_counted_once():
    text = TEXT.replace(
        "Failed requests:        0", "Failed requests:        7\n   (Connect: 0, Receive: 0, Length: 7, Exceptions: 0)"
    )
    assert PARSER.parse(text)["request.errors"] == 400
    assert PARSER.parse(recorded("ab-2.3-plain.txt"))["request.errors"] == 0
