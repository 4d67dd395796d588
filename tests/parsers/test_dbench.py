"""dbench: the rate of all, and counts and latencies of its operations."""

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "dbench")
TEXT = recorded("dbench-4.00.txt")


def test_version_3_has_the_rate_alone():
    assert PARSER.parse("Throughput 215.207 MB/sec 2 procs\n") == {"mixed.bytes_per_s": 215.207e6}
