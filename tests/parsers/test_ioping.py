"""ioping: reads and writes by what it says, thousands, and times of the requests alone."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "ioping")
TEXT = recorded("ioping-1.3-read.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "read.ops_per_s": 4670,
        "read.bytes": 16_384,
        "read.elapsed_ns": 855.9e3,
        "read.latency_max_ns": 252.9e3,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_writes_are_writes_and_k_is_a_thousand():
    assert PARSER.parse(recorded("ioping-1.3-write.txt"))["write.bytes"] == 16_384
    found = PARSER.parse(recorded("ioping-1.3-rate.txt"))
    assert found["read.count"] == 9890
    assert PARSER.resolution(recorded("ioping-1.3-rate.txt"))["read.count"] == 5
