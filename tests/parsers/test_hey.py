"""hey: failures by status code and without a response."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "hey")
TEXT = recorded("hey-0.1.4-404.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "request.ops_per_s": 562.0851,
        "request.errors": 100,
        "request.attempts": 100,
        "request.latency_p50_ns": 1.2e6,
        "response.bytes": 33_500,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_requests_without_a_response_are_failed_ones():
    found = PARSER.parse(recorded("hey-0.1.4-refused.txt"))
    assert (found["request.errors"], found["request.count"], found["request.attempts"]) == (10, 0, 10)
    assert "request.latency_mean_ns" not in found


def test_redirections_are_doubtful():
    found = PARSER.parse(TEXT.replace("[404]\t100", "[301]\t100"))
    assert (found["request.errors"], found["request.doubtful"]) == (0, 100)


def test_a_count_that_cannot_be_read_leaves_out_all_counts():
    found = PARSER.parse(TEXT.replace("[404]\t100", "[404]\t1x0"))
    assert "request.count" not in found or found["request.count"] != 100
