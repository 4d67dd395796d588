import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "scp_sftp")


def test_megabytes_are_2_to_the_20():
    assert PARSER.resolution(recorded("scp-9.2-one.txt"))["read.bytes"] == 0.5 * (1 << 20)


def test_only_the_end_of_a_file_counts():
    text = recorded("scp-9.2-slow.txt")
    assert "249.3KB/s" in text
    with pytest.raises(EvidenceError, match="on a terminal only"):
        PARSER.parse(text[: text.index("100%")])


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
