import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "rsync")


def test_progress_of_the_whole_has_binary_megabytes():
    found = PARSER.parse(recorded("rsync-3.5.0-progress2-slow.txt"))
    assert found["read.bytes"] == found["write.bytes"] == 9_437_184
    assert PARSER.resolution(recorded("rsync-3.5.0-progress2-slow.txt"))["read.bytes_per_s"] == pytest.approx(0.005 * (1 << 20))


def test_progress_of_a_part_that_was_missing_does_not_reach_100_per_cent():
    text = recorded("rsync-3.5.0-progress2-part.txt")
    assert "100%" not in text


def test_the_last_line_has_a_clock_of_seconds():
    text = recorded("rsync-3.5.0-v.txt")
    found = PARSER.parse(text)
    assert PARSER.resolution(text)["write.bytes_per_s"] > found["write.bytes_per_s"], "half a second may be any shorter time"


def test_stats_tell_the_bytes_of_files():
    assert PARSER.parse(recorded("rsync-3.5.0-stats-de.txt")) == PARSER.parse(recorded("rsync-3.5.0-stats.txt"))


def test_no_file_copied_is_no_figure_and_rounded_sizes_neither():
    for name in ("nothing-to-do", "progress2-human", "stats-human"):
        with pytest.raises(EvidenceError, match="without -h"):
            PARSER.parse(recorded(f"rsync-3.5.0-{name}.txt"))


def test_what_happens_here():
    assert PARSER.operations(("rsync", "-a", "x/", "host:y")) == ("read",)
    assert PARSER.operations(("rsync", "-a", "rsync://host/x", "y")) == ("write",)
    assert PARSER.operations(("rsync", "-a", "x", "y")) == ()


def test_a_damaged_last_line_of_progress_is_not_replaced_by_one_before():
    text = recorded("rsync-3.5.0-progress2.txt")
    with pytest.raises(EvidenceError, match="progress line"):
        PARSER.parse(text.replace("186.85MB/s", "1x6.85MB/s"))


def test_a_copy_with_an_error_is_none_and_the_one_before_it_stays():
    error = "rsync error: some files/attrs were not transferred (see previous errors) (code 23) at main.c(1338) [sender=3.2.7]\n"
    text = recorded("rsync-3.5.0-stats.txt")
    assert [error in part for part in PARSER.runs(text + text + error)] == [False, True]
    with pytest.raises(EvidenceError, match="code 23"):
        PARSER.parse(text + error)
    assert PARSER.parse(text + error + text) == PARSER.parse(text)
