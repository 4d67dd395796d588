import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "scp_sftp")


def test_megabytes_are_2_to_the_20():
    found = PARSER.parse(recorded("scp-9.2-one.txt"))
    assert found["write.bytes_per_s"] == pytest.approx(88.3 * (1 << 20))
    assert found["read.bytes"] == 16 << 20
    assert PARSER.resolution(recorded("scp-9.2-one.txt"))["read.bytes"] == 0.5 * (1 << 20)
    assert PARSER.parse(recorded("scp-9.2-small.txt"))["read.bytes"] == 300


def test_only_the_end_of_a_file_counts():
    text = recorded("scp-9.2-slow.txt")
    assert "249.3KB/s" in text
    assert PARSER.parse(text)["read.bytes_per_s"] == pytest.approx(4.9 * (1 << 20))
    with pytest.raises(EvidenceError, match="on a terminal only"):
        PARSER.parse(text[: text.index("100%")])


def test_several_files_are_copied_after_each_other():
    found = PARSER.parse(recorded("scp-9.2-two.txt"))
    assert found["read.bytes"] == 6 << 20
    assert found["read.bytes_per_s"] == pytest.approx(6 / (3 / 34.4 + 3 / 168.4) * (1 << 20))


@pytest.mark.parametrize(
    ("words", "operations"),
    [("scp -q a host:b", ("read",)), ("scp me@host:a b", ("write",)), ("scp a ./b", ()), ("scp [::1]:a b", ("write",))],
)
def test_the_arguments_say_what_happens_here(words, operations):
    assert PARSER.operations(words.split()) == operations


def test_a_file_that_was_not_done_or_cannot_be_read_is_not_left_out():
    text = recorded("scp-9.2-two.txt")
    for old, new in (("168.4MB/s", "1x8.4MB/s"), ("34.4MB/s", "x4.4MB/s"), ("100% 3072KB  34", " 99% 3072KB  34")):
        assert text.count(old) == 1
        with pytest.raises(EvidenceError, match=r"end of a file, 'f[12] "):
            PARSER.parse(text.replace(old, new))


def test_it_knows_its_own():
    assert PARSER.recognises(("scp", "a", "b:"), recorded("scp-9.2-one.txt"))
    assert not PARSER.recognises(("scp", "a", "b:"), recorded("scp-9.2-failed.txt"))
