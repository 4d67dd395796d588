"""iperf 2: one stream, the sum of several, the whole time beside intervals, CSV, and the datagrams that arrived."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "iperf2")
MB = 2**20


def test_several_streams_are_their_sum():
    text = recorded("iperf2-2.1.8-parallel.txt")
    with pytest.raises(EvidenceError):
        PARSER.parse(text.replace("[SUM]", "[ 3 ]"))


def test_datagrams_have_the_loss_that_the_server_reports():
    text = recorded("iperf2-2.1.8-udp.txt")
    assert PARSER.parse(text.replace("0/449 (0%)", "44/449 (9.8%)"))["send.errors"] == 44


def test_a_server_receives_and_forms_of_iperf_2_0_are_read():
    text = "Server listening on TCP port 5001\n[  4]  0.0-10.0 sec  1.10 GBytes   945 Mbits/sec\n"
    assert PARSER.parse(text) == pytest.approx(
        {"receive.bytes": 1.1 * 2**30, "receive.elapsed_ns": 10e9, "receive.bytes_per_s": 945e6 / 8}
    )


def test_rows_of_a_log_that_is_appended_to_are_several_runs():
    row = "{},127.0.0.1,{},127.0.0.1,5999,{},{},168296508,1310614566\n".format
    first = [row("20260101000010", 56136, 3, interval) for interval in ("0.0-1.0", "1.0-2.0", "2.0-3.0", "0.0-3.0")]
    assert len(PARSER.runs("".join(first))) == 1
    text = "".join(first + [line.replace("56136", "56140").replace("168296508", "168296509") for line in first])
    assert len(PARSER.runs(text)) == 2
    assert PARSER.parse(text)["send.bytes"] == 168296509, "the last run counts"
