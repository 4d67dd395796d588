"""fio's terse output: versions 3 to 5, groups, jobs that failed or that cannot be read."""

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "fio_terse")
TEXT = recorded("fio-3.33-terse-3.txt")


def test_versions_4_and_5_have_both_sides():
    for name in ("fio-3.33-terse-4.txt", "fio-3.33-terse-5.txt"):
        found = PARSER.parse(recorded(name))
        assert (found["read.bytes"], found["write.bytes"]) == (1984 * 1024, 2112 * 1024)
    assert found["write.latency_mean_ns"] == pytest.approx(3651.979)


def test_two_lines_of_a_group_are_refused_and_groups_have_names():
    with pytest.raises(EvidenceError, match="second line of group 0"):
        PARSER.parse(TEXT + TEXT)
    found = PARSER.parse(TEXT + TEXT.replace(";j;0;0;", ";k;1;0;"))
    assert found["read_2.bytes"] == found["read.bytes"] == 2**22


def test_a_job_that_failed_or_cannot_be_read_leaves_no_figure():
    for text in (TEXT.replace(";j;0;0;", ";j;0;5;"), TEXT + TEXT.replace(";j;0;0;", ";j;x;0;")):
        with pytest.raises(EvidenceError):
            PARSER.parse(text)
