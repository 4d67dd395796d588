"""warp: operations of a mixed run, the older block, failures of the tool's own count."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "warp")
TEXT = recorded("warp-1-form.txt")


def test_figures_are_in_base_units():
    found = PARSER.parse(TEXT)
    wanted = {
        "request_get.bytes_per_s": 52.15 * 2**20,
        "request_get.errors": 3,
        "request_get.latency_max_ns": 11_756.7e6,
        "request_delete.ops_per_s": 11.56,
    }
    assert {name: found[name] for name in wanted} == pytest.approx(wanted)


def test_older_blocks_are_read_and_splits_are_not():
    found = PARSER.parse(recorded("warp-0.4-form.txt"))
    assert found["request_put.ops_per_s"] == 701.62
    assert found["request_put.latency_p99_ns"] == 170e6


def test_a_duration_has_minutes():
    assert PARSER.parse(TEXT.replace("Slowest: 5017.6ms", "Slowest: 1m2.5s"))["request_delete.latency_max_ns"] == 62.5e9
