import json

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "iperf3")


def test_bits_are_decimal_and_bytes_binary():
    assert PARSER.resolution(recorded("iperf3-3.12-tcp.txt"))["send.bytes_per_s"] == pytest.approx(0.05e9 / 8)


def test_of_parallel_streams_the_sum_counts():
    end = json.loads(recorded("iperf3-3.12-parallel.json"))["end"]
    assert PARSER.parse(recorded("iperf3-3.12-parallel.json"))["send.bytes"] == sum(
        row["sender"]["bytes"] for row in end["streams"]
    )


@pytest.mark.parametrize(
    ("name", "operation", "row"),
    [
        ("tcp", "send", "sum_sent"),
        ("udp", "send", "sum_sent"),
        ("reverse", "receive", "sum_received"),
        ("bidir", "send", "sum_sent"),
        ("bidir", "receive", "sum_received_bidir_reverse"),
    ],
)
def test_json_says_the_same_in_bits(name, operation, row):
    text = recorded(f"iperf3-3.12-{name}.json")
    told = json.loads(text)["end"][row]
    found = PARSER.parse("a note before\n" + text + "and after\n")
    assert found[f"{operation}.bytes_per_s"] == told["bits_per_second"] / 8
    assert found[f"{operation}.bytes"] == told["bytes"]


def test_lost_datagrams_are_errors():
    text = recorded("iperf3-3.12-udp.txt")
    assert PARSER.parse(text.replace("0/77 (0%)  receiver", "7/77 (9%)  receiver"))["send.errors"] == 7


def test_a_run_that_failed_or_did_not_end_is_refused():
    with pytest.raises(EvidenceError, match="Connection refused"):
        PARSER.parse(recorded("iperf3-3.12-refused.json"))
    with pytest.raises(EvidenceError, match=r"unable to connect|without a complete result"):
        PARSER.parse(recorded("iperf3-3.12-refused.txt"))
    text = recorded("iperf3-3.12-tcp.txt")
    assert PARSER.parse(text[: text.index("iperf Done")]) == PARSER.parse(text), "with what the other end counted it is whole"
    with pytest.raises(EvidenceError):
        PARSER.parse("".join(row for row in text[: text.index("iperf Done")].splitlines(keepends=True) if "receiver" not in row))


def test_it_knows_its_own_and_its_file():
    assert PARSER.recognises(("iperf3", "-c", "x"), recorded("iperf3-3.12-tcp.txt"))
    assert PARSER.recognises(("iperf3", "-c", "x", "-J"), recorded("iperf3-3.12-tcp.json"))
    assert not PARSER.recognises(("iperf3", "-s"), "Server listening on 5201\n")
    assert PARSER.result_file(("iperf3", "--logfile", "f")) == "f"


def test_a_quoted_summary_without_its_line_of_dashes():
    text = """Connecting to host 10.0.0.1, port 5201
[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-10.00  sec   358 MBytes   300 Mbits/sec  0.000 ms  0/268222 (0%)  sender
[  5]   0.00-10.07  sec   116 MBytes  96.6 Mbits/sec  0.142 ms  181195/268219 (68%)  receiver

iperf Done.
"""
    found = PARSER.parse(text)
    assert (found["send.bytes_per_s"], found["send.delivered_bytes_per_s"]) == (300e6 / 8, 96.6e6 / 8)
    assert (found["send.errors"], found["send.count"]) == (181_195, 268_219)


def seconds_of(*moved):
    """The events of a client that sent so many bytes in each second of a test of so many seconds."""
    rows = [{"sum": {"start": at, "end": at + 1, "bytes": one, "omitted": False}} for at, one in enumerate(moved)]
    sums = {
        "start": 0,
        "end": len(moved),
        "seconds": len(moved),
        "bytes": sum(moved),
        "bits_per_second": 8 * sum(moved) / len(moved),
    }
    start = {"test_start": {"reverse": 0, "duration": len(moved)}}
    return {
        "start": start,
        "intervals": rows,
        "end": {"sum_sent": sums, "sum_received": {**sums, "bytes": 0, "bits_per_second": 0}},
    }


def test_seconds_in_which_nothing_was_sent_are_a_pause():
    found = PARSER.parse(json.dumps(seconds_of(12, 0, 12, 0, 0, 0, 12)))
    assert (found["send.longest_pause_ns"], found["send.pause_begin_ns"]) == (3e9, 3e9)
    assert "send.longest_pause_ns" not in PARSER.parse(json.dumps(seconds_of(12, 12)))
    assert "send.longest_pause_ns" not in PARSER.parse(json.dumps(seconds_of(0, 0))), "no rate at all is no pause"
    rows = [
        f"[  5]   {at}.00-{at + 1}.00   sec  {one} MBytes  1.0 Mbits/sec    0    1.0 MBytes"
        for at, one in enumerate((9, 0, 0, 9))
    ]
    text = recorded("iperf3-3.12-tcp.txt").splitlines()
    (first,) = [
        at for at, row in enumerate(text) if row.startswith("[  5]   0.00-1.00") and "sender" not in row and "receiver" not in row
    ]
    found = PARSER.parse("\n".join([*text[:first], *rows, *text[first + 1 :]]))
    assert (found["send.longest_pause_ns"], found["send.pause_begin_ns"]) == (2e9, 1e9)


def test_a_test_that_ran_to_its_end_counts_though_the_results_were_not_exchanged():
    """The path was dead from the fourth second on: iperf3 3.12 prints an error beside the whole report of its own side."""
    whole = {**seconds_of(13, 12, 11, 0, 0, 0, 0, 0), "error": "unable to send control message: Broken pipe"}
    found = PARSER.parse(json.dumps(whole))
    assert found["send.bytes_per_s"] == 36 / 8
    assert (found["send.longest_pause_ns"], found["send.pause_begin_ns"]) == (5e9, 3e9)
    assert "send.delivered_bytes" not in found
    whole["start"]["test_start"]["duration"] = 9
    with pytest.raises(EvidenceError, match="Broken pipe"):
        PARSER.parse(json.dumps(whole))


def test_a_server_on_the_same_machine_is_a_trap():
    assert "one machine" in (PARSER.trap(["iperf3", "-c", "127.0.0.1", "-t", "1"]) or "")
    assert PARSER.trap(["iperf3", "-c", "10.0.0.7"]) is None
    assert PARSER.trap(["iperf3", "-s"]) is None
