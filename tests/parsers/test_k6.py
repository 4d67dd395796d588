import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "k6")
TEXT = recorded("k6-0.40.0-rps.txt")


def test_requests_iterations_and_response_times():
    assert PARSER.resolution(TEXT)["request.latency_p95_ns"] == pytest.approx(5)


@pytest.mark.parametrize(
    ("line", "failed"),
    [
        ("http_req_failed................: 0.00%   ✓ 0          ✗ 1501", 0),
        ("http_req_failed................: 12.33%  ✓ 185        ✗ 1316", 185),
        ("http_req_failed................: 12.33%  185 out of 1501", 185),  # k6 1.x
    ],
)
def test_the_first_number_counts_failed_requests(line, failed):
    old = next(row for row in TEXT.splitlines() if "http_req_failed" in row)
    assert PARSER.parse(TEXT.replace(old.strip(), line))["request.errors"] == failed


def test_times_have_several_units():
    long = PARSER.parse(TEXT.replace("max=588.97µs", "max=1m2.5s"))
    assert long["request.latency_max_ns"] == pytest.approx(62.5e9)


def test_a_line_that_a_terminal_cut_is_refused():
    with pytest.raises(EvidenceError, match="above the maximum"):
        PARSER.parse(TEXT.replace("p(95)=238.92µs", "p(95)=238.92m"))
