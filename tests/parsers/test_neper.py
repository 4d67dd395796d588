"""neper: transactions with latencies, and each end of a stream."""

import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "neper")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (
            "rr",
            {
                "transaction.count": 329_605,
                "transaction.ops_per_s": 33_009.84,
                "transaction.latency_mean_ns": 30_100,
                "transaction.latency_max_ns": 4.1e6,
                "transaction.latency_p50_ns": 29_000,
                "transaction.latency_p99_ns": 61_000,
                "transaction.latency_p999_ns": 120_000,
            },
        ),
        ("stream-client", {"send.bytes_per_s": 9_412_345_678 / 8}),
        ("stream-server", {"receive.bytes_per_s": 9_412.34e6 / 8}),
    ],
)
def test_figures_are_in_base_units(name, wanted):
    assert PARSER.parse(recorded(f"neper-{name}-form.txt")) == pytest.approx(wanted)
