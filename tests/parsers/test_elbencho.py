import json

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "elbencho")


def test_the_last_done_counts_in_mebibytes():
    halves = PARSER.resolution(recorded("elbencho-3.1-10-file.txt"))
    assert halves["write.bytes_per_s"] == 1 << 20, "it is cut off, not rounded"


def test_json_has_the_most_digits():
    text = recorded("elbencho-3.1-10-file.json")
    found = PARSER.parse(text)
    for line, operation in zip(text.splitlines(), ("write", "read"), strict=True):
        told = json.loads(line)["last_done"]
        assert found[f"{operation}.bytes_per_s"] == float(told["bytes/s"])
        assert found[f"{operation}.bytes"] == float(told["bytes"])


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
