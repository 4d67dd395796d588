import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "tar")


def test_totals_written_and_read():
    assert PARSER.resolution(recorded("tar-1.34-totals.txt"))["write.bytes_per_s"] == 1 << 20, "its digits are rounded up"


def test_another_language_does_not_say_which():
    found = PARSER.parse(recorded("tar-1.34-totals-de.txt"))
    assert found["read.bytes_per_s"] == found["write.bytes_per_s"] == 864 * (1 << 20)


def test_checkpoints_are_no_result():
    with pytest.raises(EvidenceError, match="--totals"):
        PARSER.parse(recorded("tar-1.34-checkpoint-echo.txt"))


@pytest.mark.parametrize(
    ("words", "operations"),
    [
        ("tar --totals -cf a b", ("write",)),
        ("tar cf a b", ("write",)),
        ("time tar --extract --totals -f a", ("read",)),
        ("tar xf a --totals", ("read",)),
        ("tar --totals", ()),
    ],
)
def test_the_arguments_say_what_it_is_about(words, operations):
    assert PARSER.operations(words.split()) == operations


def test_a_damaged_total_is_not_replaced_by_one_before():
    text = "Total bytes written: 10240 (10KiB, 154MiB/s)\n"
    assert PARSER.parse(text)["write.bytes"] == 10240
    with pytest.raises(EvidenceError, match="Total bytes written: 2x"):
        PARSER.parse(text + text.replace("10240", "2x480"))


def test_an_archive_that_is_nowhere_is_a_trap():
    for words in ("tar cf /dev/null a", "tar -cf - a > /dev/null", "tar --file=/dev/null -c a"):
        assert "reads no file" in (PARSER.trap(words.split()) or ""), words
    for words in ("tar cf - a", "tar cf a.tar a", "tar xf - > /dev/null", "tar cf a.tar a > /dev/null"):
        assert PARSER.trap(words.split()) is None, words
