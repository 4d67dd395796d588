import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "slapadd")


def test_the_meter_counts_bytes_of_ldif():
    assert PARSER.parse(recorded("slapadd-2.5.13-short.txt")) == {"add.bytes_per_s": pytest.approx(137.5 * 1024)}
    assert PARSER.resolution(recorded("slapadd-2.5.13-short.txt"))["add.bytes_per_s"] == pytest.approx(51.2)


def test_the_meters_time_has_terms():
    text = recorded("slapadd-2.5.13-seconds.txt")
    seconds = PARSER.parse(text)["add.elapsed_ns"]
    assert seconds >= 2e9
    assert PARSER.resolution(text)["add.elapsed_ns"] == 1e9
    term = f"{seconds / 1e9:02.0f}s"
    assert PARSER.parse(text.replace(f"{term} spd", f"01m{term} spd"))["add.elapsed_ns"] == seconds + 60e9


def test_the_time_around_it_is_finer():
    assert PARSER.parse(recorded("slapadd-2.5.13-time.txt")) == {"add.elapsed_ns": pytest.approx(1.644e9)}
    both = PARSER.parse(recorded("slapadd-2.5.13-seconds.txt") + recorded("slapadd-2.5.13-time.txt"))
    assert both["add.elapsed_ns"] == pytest.approx(1.644e9)


def test_a_meter_that_did_not_reach_its_end_is_refused():
    text = recorded("slapadd-2.5.13-short.txt")
    with pytest.raises(EvidenceError, match="on a terminal only"):
        PARSER.parse(text[: text.index("100.00%")] + "\n")


def test_it_knows_its_own():
    assert PARSER.recognises(("slapadd", "-l", "x"), recorded("slapadd-2.5.13-short.txt"))
    assert not PARSER.recognises(("ldapadd",), recorded("slapadd-2.5.13-short.txt"))
