import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "flent")


def test_of_several_streams_the_sum_is_the_rate():
    assert PARSER.resolution(recorded("flent-2.3.txt"))["send.bytes_per_s"] == pytest.approx(0.005e6 / 8)


def test_a_damaged_row_is_refused_and_a_row_without_data_is_none():
    text = recorded("flent-2.3.txt")
    with pytest.raises(EvidenceError, match="line 20"):
        PARSER.parse(text.replace("9.19", "9?19"))
    without = text.replace(text.splitlines()[4], " Ping (ms) ICMP : No data.")
    assert PARSER.parse(without)["ping.latency_mean_ns"] == pytest.approx(241.04e6), "the mean of the other pings"


def test_a_run_with_failed_parts_has_no_figure():
    report = '{"metadata": {"FAILED_RUNNERS": 1}, "results": {"TCP upload": [88.0]}, "x_values": [0]}'
    with pytest.raises(EvidenceError, match="FAILED_RUNNERS 1"):
        PARSER.parse(report)
    assert PARSER.parse(report.replace(": 1}", ": 0}")) == {"send.bytes_per_s": 11e6}
