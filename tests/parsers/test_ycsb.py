"""YCSB: the rate of all operations, each type's count and latencies, and failures counted once."""

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ycsb")
TEXT = recorded("ycsb-0.17-form.txt")


def test_failures_are_operations_too_and_are_counted_once():
    failed = PARSER.parse(f"{TEXT}\n[READ-FAILED], Operations, 100\n[UPDATE], Return=ERROR, 7\n")
    assert (failed["request_read.errors"], failed["request_read.attempts"]) == (100, 25_100)
    assert (failed["request_update.errors"], failed["request_update.attempts"]) == (7, 25_000)


def test_times_before_0_2_are_milliseconds_where_the_name_says_so():
    found = PARSER.parse(TEXT.replace("[READ], 99thPercentileLatency(us), 1500", "[READ], 99thPercentileLatency(ms), 2"))
    assert found["request_read.latency_p99_ns"] == 2e6
