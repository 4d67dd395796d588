"""dbench: the rate of all, and counts and latencies of its operations."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "dbench")
TEXT = recorded("dbench-4.00.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "mixed.bytes_per_s": 215.207e6,
        "read.count": 30_892,
        "fsync.latency_max_ns": 115.645e6,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_version_3_has_the_rate_alone():
    assert PARSER.parse("Throughput 215.207 MB/sec 2 procs\n") == {"mixed.bytes_per_s": 215.207e6}
