import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "dd")


def test_megabytes_of_gnu_are_millions():
    assert PARSER.resolution(recorded("dd-9.1-write.txt"))["write.bytes_per_s"] == 0.5e6
    assert PARSER.resolution(recorded("dd-9.1-read.txt"))["read.bytes_per_s"] == pytest.approx(50e6), "2.3 GB/s has two digits"


@pytest.mark.parametrize(
    ("language", "rate", "seconds"), [("de", 447e6, 0.0375124), ("fr", 300e6, 0.0549103), ("ru", 566e6, 0.0296347)]
)
def test_other_languages_have_a_decimal_comma(language, rate, seconds):
    found = PARSER.parse(recorded(f"dd-9.1-write-{language}.txt"))
    assert found["write.bytes_per_s"] == rate
    assert found["write.elapsed_ns"] == pytest.approx(seconds * 1e9)


def test_progress_is_no_result():
    text = recorded("dd-9.1-progress.txt")
    with pytest.raises(EvidenceError, match="complete result"):
        PARSER.parse(text.partition("20000+0")[0])


def test_few_bytes_have_no_brackets():
    written = recorded("dd-9.1-full.txt").partition("\n")[2]
    assert PARSER.parse(written)["write.bytes"] == 0


def test_a_copy_that_ended_with_an_error_has_failed():
    text = "100+0 records in\n99+0 records out\ndd: error writing 'x': No space left on device\n"
    most = PARSER.parse(text + "103809024 bytes (104 MB) copied, 0.5 s, 208 MB/s\n")
    assert [most[f"write.{name}"] for name in ("bytes_per_s", "errors", "attempts")] == [208e6, 1, 1]


@pytest.mark.parametrize("name", ["dd-9.1-failed.txt", "dd-9.1-noxfer.txt", "dd-busybox-1.35-without-rate.txt"])
def test_without_the_line_of_bytes_there_is_no_figure(name):
    with pytest.raises(EvidenceError, match="not with status=none"):
        PARSER.parse(recorded(name))


@pytest.mark.parametrize(
    ("words", "operations"),
    [
        ("dd if=/dev/zero of=f bs=1M", ("write",)),
        ("dd if=f of=/dev/null", ("read",)),
        ("dd if=f", ("read",)),
        ("dd of=f", ("write",)),
        ("dd if=a of=b", ()),
    ],
)
def test_the_arguments_say_what_it_is_about(words, operations):
    assert PARSER.operations(words.split()) == operations


def test_records_without_their_result_are_not_those_of_a_call_before():
    text = recorded("dd-9.1-write.txt")
    with pytest.raises(EvidenceError, match="after the records"):
        PARSER.parse(text + "".join(text.splitlines(keepends=True)[:2]))


def test_a_time_of_0_is_none():
    line = "104857600 bytes (105 MB, 100 MiB) copied, 0.0 s, 2.1 GB/s"  # as uutils prints it
    found = PARSER.parse(f"100+0 records in\n100+0 records out\n{line}\n")
    assert ("read.elapsed_ns" in found, found["read.bytes_per_s"]) == (False, 2.1e9)
