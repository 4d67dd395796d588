import json

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "elbencho")


def test_the_last_done_counts_in_mebibytes():
    found = PARSER.parse(recorded("elbencho-3.1-10-file.txt"))
    assert found["write.bytes_per_s"] == 1464 * (1 << 20)
    assert found["write.ops_per_s"] == 23_430
    assert found["write.elapsed_ns"] == 5e6
    assert found["read.bytes"] == 8 << 20
    halves = PARSER.resolution(recorded("elbencho-3.1-10-file.txt"))
    assert halves["write.bytes_per_s"] == 1 << 20, "it is cut off, not rounded"
    assert PARSER.parse(recorded("elbencho-3.1-10-lat.txt"))["read.latency_max_ns"] == 10_000


def test_base10_is_decimal_and_no_time_is_below_a_millisecond():
    found = PARSER.parse(recorded("elbencho-3.1-10-base10.txt"))
    assert found["read.bytes_per_s"] == 8456e6
    assert "read.elapsed_ns" not in found, "0ms is printed"


def test_a_tree_has_entries():
    found = PARSER.parse(recorded("elbencho-3.1-10-tree.txt"))
    assert found["create.ops_per_s"] == 4792
    assert found["create.count"] == 400
    assert found["mkdir.count"] == 4
    assert found["stat.ops_per_s"] == 325_203
    assert found["unlink.ops_per_s"] == 96_571
    assert found["rmdir.ops_per_s"] == 3508
    assert found["write.bytes_per_s"] == 18 * (1 << 20)


def test_json_has_the_most_digits():
    text = recorded("elbencho-3.1-10-file.json")
    found = PARSER.parse(text)
    for line, operation in zip(text.splitlines(), ("write", "read"), strict=True):
        told = json.loads(line)["last_done"]
        assert found[f"{operation}.bytes_per_s"] == float(told["bytes/s"])
        assert found[f"{operation}.bytes"] == float(told["bytes"])
    assert PARSER.parse(recorded("elbencho-3.1-10-tree.json"))["unlink.count"] == 400


def test_csv_has_latencies():
    found = PARSER.parse(recorded("elbencho-3.1-10-file.csv"))
    assert found["write.bytes_per_s"] == 1658 * (1 << 20)
    assert found["write.latency_mean_ns"] == 49_000
    assert PARSER.parse(recorded("elbencho-3.1-10-tree.csv"))["rmdir.ops_per_s"] == 3623


def test_a_mix_has_both_sides():
    text = recorded("elbencho-3.1-10-mix.txt")
    mixed = PARSER.parse(text[: text.index("READ  ")])
    assert mixed["write.bytes_per_s"] == 1020 * (1 << 20)
    assert mixed["read.ops_per_s"] == 116_022


def test_of_several_calls_in_one_file_the_last_counts():
    text = recorded("elbencho-3.1-10-resfile.txt")
    assert PARSER.parse(text + text.replace("1587", "1111"))["write.bytes_per_s"] == 1111 * (1 << 20)


def test_a_phase_that_did_not_end_is_refused():
    text = recorded("elbencho-3.1-10-file.txt")
    with pytest.raises(EvidenceError, match="LAST DONE"):
        PARSER.parse(text[: text.index("---")])


def test_a_phase_without_its_end_is_refused_and_not_replaced_by_an_earlier_one():
    text = recorded("elbencho-3.1-10-mix.txt")
    with pytest.raises(EvidenceError, match="end of the phase READ"):
        PARSER.parse(text[: text.rindex("---")])


@pytest.mark.parametrize("form", ["csv", "json"])
def test_a_file_has_earlier_calls_that_are_not_of_this_one(form):
    earlier, text = recorded(f"elbencho-3.1-10-tree.{form}"), recorded(f"elbencho-3.1-10-file.{form}")
    assert PARSER.parse(earlier + text) == PARSER.parse(text)


def test_it_knows_its_own_and_its_file():
    for ending in ("txt", "csv", "json"):
        assert PARSER.recognises(("elbencho", "-w"), recorded(f"elbencho-3.1-10-file.{ending}"))
    assert not PARSER.recognises(("fio",), recorded("elbencho-3.1-10-file.txt"))
    assert PARSER.result_file(("elbencho", "--resfile", "r", "--jsonfile", "j")) == "j"
    assert PARSER.result_file(("elbencho", "--resfile", "r")) == "r"
    assert PARSER.result_file(("fio", "--resfile", "r")) is None
