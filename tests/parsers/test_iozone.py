import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "iozone")
THIRTEEN = 13


def test_kilobytes_are_1024_bytes():
    assert PARSER.resolution(recorded("iozone-3.508-write-read.txt"))["write.bytes_per_s"] == 1024, "it is cut off"


def test_a_blank_column_is_not_taken_for_the_next():
    found = PARSER.parse(recorded("iozone-3.508-some.txt"))
    names = {key.partition(".")[0] for key in found}
    assert names == {"write", "rewrite", "random_read", "random_write", "stride_read"}


def test_a_matrix_is_all_bytes_over_all_times():
    text = recorded("iozone-3.508-matrix.txt")
    found = PARSER.parse(text)
    split = [line.split() for line in text.splitlines()]
    rows = [[int(word) for word in words] for words in split if len(words) == 2 + THIRTEEN and words[0].isdigit()]
    assert len(rows) == 9
    assert len({key.partition(".")[0] for key in found}) == THIRTEEN
    for name, column in (("write", 2), ("backward_read", 8), ("stdio_reread", 14)):
        seconds = sum(row[0] / row[column] for row in rows)
        assert found[f"{name}.bytes_per_s"] == pytest.approx(sum(row[0] for row in rows) * 1024 / seconds)


def test_the_excel_reports_say_the_same_as_the_table():
    text = recorded("iozone-3.508-excel.txt")
    alone = text[: text.index("    kB  reclen")] + text[text.index("Excel output is below") :]
    assert PARSER.parse(alone) == pytest.approx(PARSER.parse(text))


def test_throughput_of_several_processes_is_what_the_children_say():
    found = PARSER.parse(recorded("iozone-3.508-throughput-2-all.txt"))
    assert len(found) == 7


def test_a_run_that_failed_has_no_figures():
    with pytest.raises(EvidenceError, match=r"line 28, .1024 +64. in the output"):
        PARSER.parse(recorded("iozone-3.508-failed.txt"))


MATRIX = "iozone-3.508-matrix.txt"
ROW = "            1024     128    749714  16789959"
DAMAGED = [
    (ROW, "            1024     128    74x714  16789959", "line 32, .1024 +128 +74x714"),
    (ROW, "            1024     128    749714\n  16789959", "line 33, .16789959"),
    (ROW, "128    749714  16789959", "line 32, "),
    (ROW, "            1024    2048    749714  16789959", "line 32, "),
    (ROW, ROW.replace("749714", "      "), "columns have different rows"),
    ("iozone test complete.", "Killed", "end of the table"),
    ("kBytes/sec", "MBytes/sec", "unit .MBytes/sec."),
    ("\tOutput is in kBytes/sec\n", "", "unit .none."),
]


@pytest.mark.parametrize(("old", "new", "told"), DAMAGED)
def test_a_damaged_matrix_is_refused_with_what_was_found(old, new, told):
    assert recorded(MATRIX).count(old) == 1
    with pytest.raises(EvidenceError, match=f"{told}.*; expected iozone's complete table"):
        PARSER.parse(recorded(MATRIX).replace(old, new))


def test_a_damaged_excel_report_is_refused_where_the_table_was_not_kept():
    text = recorded("iozone-3.508-excel.txt")
    alone = text[: text.index("    kB  reclen")] + text[text.index("Excel output is below") :]
    for old, new in (
        ('"1024"   1643185', '"1024"   16?3185'),
        ('"2048"   3999400', "3999400"),
        (
            '  "128"',
            "",
        ),
    ):
        with pytest.raises(EvidenceError):
            PARSER.parse(alone.replace(old, new, 1))


def test_of_two_runs_in_one_output_the_last_counts():
    assert PARSER.parse(recorded("iozone-3.508-throughput-2-all.txt") + recorded(MATRIX)) == PARSER.parse(recorded(MATRIX))
    with pytest.raises(EvidenceError, match="without a complete result"):
        PARSER.parse(recorded(MATRIX) + recorded(MATRIX).partition("    kB  reclen")[0])
