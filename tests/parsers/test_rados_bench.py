"""rados bench: a write and a read in one output, MB as 2^20 bytes, the older names of latencies."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "rados_bench")
TEXT = recorded("rados_bench-16-form.txt")


def test_older_versions_name_latencies_without_a_unit():
    found = PARSER.parse(TEXT.replace("Latency(s)", "Latency").replace("latency(s)", "latency"))
    assert found["write.latency_max_ns"] == pytest.approx(862.328e6)
