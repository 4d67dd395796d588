import pytest

from assay import catalogue
from assay.errors import EvidenceError
from parser_cases import recorded

PARSER = catalogue.find("parsers", "iozone")
THIRTEEN = 13


def test_kilobytes_are_1024_bytes():
    found = PARSER.parse(recorded("iozone-3.508-write-read.txt"))
    assert found["write.bytes_per_s"] == 1_038_284 * 1024
    assert found["reread.bytes_per_s"] == 3_036_437 * 1024
    assert found["read.bytes"] == 8 << 20
    assert found["read.count"] == 8192 / 64
    assert PARSER.resolution(recorded("iozone-3.508-write-read.txt"))["write.bytes_per_s"] == 1024, "it is cut off"


def test_a_blank_column_is_not_taken_for_the_next():
    found = PARSER.parse(recorded("iozone-3.508-some.txt"))
    names = {key.partition(".")[0] for key in found}
    assert names == {"write", "rewrite", "random_read", "random_write", "stride_read"}
    assert found["stride_read.bytes_per_s"] == 26_219_889 * 1024


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
    assert found["write.bytes_per_s"] == 4_143_319.00 * 1024
    assert found["backward_read.bytes_per_s"] == 2_312_882.75 * 1024
    assert len(found) == 7


def test_operations_and_microseconds_have_their_own_figures():
    assert PARSER.parse(recorded("iozone-3.508-ops.txt"))["write.ops_per_s"] == 331_626
    found = PARSER.parse(recorded("iozone-3.508-usec.txt"))
    assert found["write.latency_mean_ns"] == 3000
    assert "read.latency_mean_ns" not in found, "0 microseconds is below what it can tell"


def test_a_run_that_failed_has_no_figures():
    with pytest.raises(EvidenceError, match="without a whole result"):
        PARSER.parse(recorded("iozone-3.508-failed.txt"))


def test_it_knows_its_own():
    assert PARSER.recognises(("/opt/iozone", "-a"), recorded("iozone-3.508-matrix.txt"))
    assert not PARSER.recognises(("dd",), recorded("iozone-3.508-matrix.txt"))
    assert PARSER.result_file(("iozone", "-b", "out.xls")) is None, "an Excel file is no text"
