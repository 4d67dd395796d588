import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "slapadd")


def test_a_rate_over_whole_seconds_is_known_to_one_of_them_and_over_one_not_at_all():
    text = recorded("slapadd-2.6.13-slow.txt")
    assert PARSER.resolution(text)["add.bytes_per_s"] == pytest.approx(203.7 * 1024 / 6)
    with pytest.raises(EvidenceError, match="too short"):
        PARSER.parse(recorded("slapadd-2.5.13-short.txt"))


def test_an_import_that_leaves_entries_out_is_no_import():
    left_out = 'slapadd: could not add entry dn="uid=a" (line=7): txn_aborted!\n'
    with pytest.raises(EvidenceError, match="could not add entry"):
        PARSER.parse(left_out + recorded("slapadd-2.6.13-slow.txt"))


def test_the_meters_time_has_terms():
    text = recorded("slapadd-2.5.13-seconds.txt")
    seconds = PARSER.parse(text)["add.elapsed_ns"]
    assert seconds >= 2e9
    assert PARSER.resolution(text)["add.elapsed_ns"] == 1e9
    term = f"{seconds / 1e9:02.0f}s"
    assert PARSER.parse(text.replace(f"{term} spd", f"01m{term} spd"))["add.elapsed_ns"] == seconds + 60e9
    assert PARSER.parse(text.replace(f"{term} spd", f"01w02d03h04m{term} spd"))["add.elapsed_ns"] == seconds + 788_640e9


def test_the_time_around_it_is_finer():
    assert PARSER.parse(recorded("slapadd-2.5.13-time.txt")) == {"add.elapsed_ns": pytest.approx(1.644e9)}
    both = PARSER.parse(recorded("slapadd-2.5.13-seconds.txt") + recorded("slapadd-2.5.13-time.txt"))
    assert both["add.elapsed_ns"] == pytest.approx(1.644e9)


def test_a_meter_that_did_not_reach_its_end_is_refused():
    text = recorded("slapadd-2.5.13-short.txt")
    with pytest.raises(EvidenceError, match="on a terminal only"):
        PARSER.parse(text[: text.index("100.00%")] + "\n")
