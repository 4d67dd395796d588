import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "netperf")


def test_decimal_bits_and_binary_bytes():
    assert PARSER.resolution(recorded("netperf-2.7.1-stream.txt"))["send.bytes_per_s"] == pytest.approx(0.005e6 / 8)


def test_maerts_is_received():
    assert set(PARSER.parse(recorded("netperf-2.7.1-maerts.txt"))) == {"receive.elapsed_ns", "receive.bytes_per_s"}


@pytest.mark.parametrize(("name", "rate"), [("rr", 59_153.22), ("crr", 10_620.62)])
def test_transactions(name, rate):
    assert PARSER.parse(recorded(f"netperf-2.7.1-{name}.txt"))["transaction.ops_per_s"] == rate


def test_without_a_connection_or_a_table_there_is_no_figure():
    text = recorded("netperf-2.7.1-stream.txt")
    for part in (recorded("netperf-2.7.1-refused.txt"), text[: text.index("131072")], text + text):
        with pytest.raises(EvidenceError, match="without a complete result"):
            PARSER.parse(part)
