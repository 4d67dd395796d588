import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "netperf")


def test_decimal_bits_and_binary_bytes():
    assert PARSER.parse(recorded("netperf-2.7.1-stream.txt")) == {
        "send.elapsed_ns": 1e9,
        "send.bytes_per_s": pytest.approx(16_502.48e6 / 8),
    }
    assert PARSER.parse(recorded("netperf-2.7.1-megabytes.txt"))["send.bytes_per_s"] == pytest.approx(2187.93 * (1 << 20))
    assert PARSER.resolution(recorded("netperf-2.7.1-stream.txt"))["send.bytes_per_s"] == pytest.approx(0.005e6 / 8)


def test_maerts_is_received():
    assert set(PARSER.parse(recorded("netperf-2.7.1-maerts.txt"))) == {"receive.elapsed_ns", "receive.bytes_per_s"}


def test_utilisation_does_not_move_the_columns():
    assert PARSER.parse(recorded("netperf-2.7.1-cpu.txt"))["send.bytes_per_s"] == pytest.approx(16_409.85e6 / 8)


@pytest.mark.parametrize(("name", "rate"), [("rr", 59_153.22), ("crr", 10_620.62)])
def test_transactions(name, rate):
    assert PARSER.parse(recorded(f"netperf-2.7.1-{name}.txt"))["transaction.ops_per_s"] == rate


def test_datagrams_that_did_not_arrive_are_errors():
    found = PARSER.parse(recorded("netperf-2.7.1-udp.txt"))
    assert found["send.count"] == 239_131
    assert found["send.errors"] == 239_131 - 185_145
    assert found["send.bytes_per_s"] == pytest.approx(1958.86e6 / 8)


def test_names_and_values_of_the_omni_test():
    assert PARSER.parse(recorded("netperf-2.7.1-omni-keyval.txt"))["send.bytes_per_s"] == pytest.approx(18_286.37e6 / 8)


def test_without_a_connection_or_a_table_there_is_no_figure():
    text = recorded("netperf-2.7.1-stream.txt")
    for part in (recorded("netperf-2.7.1-refused.txt"), text[: text.index("131072")], text + text):
        with pytest.raises(EvidenceError, match="without a complete result"):
            PARSER.parse(part)


def test_it_knows_its_own():
    assert PARSER.recognises(("netperf", "-H", "x"), recorded("netperf-2.7.1-rr.txt"))
    assert not PARSER.recognises(("netserver",), recorded("netperf-2.7.1-rr.txt"))
