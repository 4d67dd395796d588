"""warp: operations of a mixed run, the older block, failures of the tool's own count."""

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "warp")
TEXT = recorded("warp-1-form.txt")


def test_a_duration_has_minutes():
    assert PARSER.parse(TEXT.replace("Slowest: 5017.6ms", "Slowest: 1m2.5s"))["request_delete.latency_max_ns"] == 62.5e9
