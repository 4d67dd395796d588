import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "bonnie")


def without_csv(name):
    return "".join(line for line in recorded(name).splitlines(keepends=True) if not line.startswith("1.98,"))


def test_kilobytes_are_1024_bytes():
    assert PARSER.resolution(recorded("bonnie-2.00a-direct.txt"))["write.bytes_per_s"] == 512


def test_what_was_too_fast_to_measure_has_no_figure():
    text = recorded("bonnie-2.00a-direct.txt")
    assert "+++++" in text
    found = PARSER.parse(text)
    assert not [key for key in found if key.startswith(("read.", "seek.", "stat.", "unlink."))]


def test_where_all_was_too_fast_there_is_nothing():
    with pytest.raises(EvidenceError, match=r"not \+\+\+\+\+"):
        PARSER.parse(recorded("bonnie-2.00a-fast.txt"))


def test_the_screen_is_read_where_there_is_no_csv():
    found = PARSER.parse(without_csv("bonnie-2.00a-direct.txt"))
    assert found["write.bytes_per_s"] == pytest.approx(86.5 * (1 << 20)), "m is 2^20"
    assert found["read_modify_write.bytes_per_s"] == 321 * (1 << 20)
    assert set(found) <= set(PARSER.parse(recorded("bonnie-2.00a-direct.txt")))
    whole = PARSER.parse(recorded("bonnie-2.00a-io-only.txt"))
    for key, value in PARSER.parse(without_csv("bonnie-2.00a-io-only.txt")).items():
        assert value == pytest.approx(whole[key], rel=0.01), key


def test_the_format_before_has_two_fields_less():
    fields = recorded("bonnie-2.00a-csv.txt").split(",")
    older = ",".join(["1.97", *fields[1:7], *fields[9:]])
    assert PARSER.parse(older) == PARSER.parse(recorded("bonnie-2.00a-csv.txt"))


def test_rates_of_files_are_not_read_from_the_screen_which_has_their_number():
    assert not [key for key in PARSER.parse(without_csv("bonnie-2.00a-direct.txt")) if key.startswith("create")]
    with pytest.raises(EvidenceError, match="without a complete result"):
        PARSER.parse(without_csv("bonnie-2.00a-files-only.txt"))


@pytest.mark.parametrize(("old", "new"), [("1.98,2.00a", "1.9x,2.00a"), ("1.98,2.00a", "1,98,2,00a")])
def test_a_damaged_csv_is_not_replaced_by_the_screen(old, new):
    with pytest.raises(EvidenceError, match="field of the CSV line"):
        PARSER.parse(recorded("bonnie-2.00a-direct.txt").replace(old, new))
