import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "wrk")


def test_requests_latencies_and_responses():
    found = PARSER.parse(recorded("wrk-4.1.0-latency.txt"))
    assert found["response.bytes"] / found["request.count"] == pytest.approx(1024 + 206, rel=0.01), "a file of 1 KiB and its head"


def test_percentiles_only_where_they_are_printed():
    found = PARSER.parse(recorded("wrk-4.1.0-plain.txt"))
    assert not [key for key in found if "_p" in key.replace("ops_per_s", "").replace("bytes_per_s", "")]


def test_answers_that_are_no_success_are_errors():
    found = PARSER.parse(recorded("wrk-4.1.0-errors.txt"))
    assert found["request.errors"] == found["request.count"] > 0


def test_half_a_report_is_no_result_and_the_last_run_counts():
    first, last = recorded("wrk-4.1.0-plain.txt"), recorded("wrk-4.1.0-latency.txt")
    with pytest.raises(EvidenceError):
        PARSER.parse(first[: first.index("Requests/sec")])
    assert PARSER.parse(first + last) == PARSER.parse(last)
