import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "sysbench")


def test_mebibytes_and_operations_of_both_sides():
    found = PARSER.parse(recorded("sysbench-1.0.20-rndrw.txt"))
    assert found["read.bytes_per_s"] == pytest.approx(243.61 * (1 << 20))
    assert found["write.ops_per_s"] == 10_394.01
    assert found["fsync.ops_per_s"] == 1045.09
    assert found["read.elapsed_ns"] == pytest.approx(1.0538e9)
    assert found["read.bytes_per_s"] == pytest.approx(found["read.ops_per_s"] * 16384, rel=1e-3), "its requests are of 16 KiB"
    assert PARSER.resolution(recorded("sysbench-1.0.20-rndrw.txt"))["read.bytes_per_s"] == pytest.approx(0.005 * (1 << 20))


def test_a_side_that_did_nothing_has_no_figures():
    assert not [key for key in PARSER.parse(recorded("sysbench-1.0.20-seqrewr.txt")) if key.startswith("read.")]


def test_latencies_are_told_only_of_pure_reads_and_not_as_zero():
    found = PARSER.parse(recorded("sysbench-1.0.20-interval.txt"))
    assert found["read.count"] == 441_376
    assert found["read.latency_max_ns"] == pytest.approx(53.48e6)
    assert "read.latency_mean_ns" not in found, "0.00 ms is printed"
    assert "write.latency_max_ns" not in PARSER.parse(recorded("sysbench-1.0.20-seqwr.txt"))


def test_prepare_writes():
    found = PARSER.parse(recorded("sysbench-1.0.20-prepare.txt"))
    assert found == {"write.bytes": 16 << 20, "write.elapsed_ns": 0.09e9, "write.bytes_per_s": pytest.approx(175.63 * (1 << 20))}


def test_half_a_report_is_refused():
    text = recorded("sysbench-1.0.20-rndrw.txt")
    for end in ("fsyncs/s", "written, MiB", "total time"):
        with pytest.raises(EvidenceError):
            PARSER.parse(text[: text.index(end)])


def test_prepare_and_run_in_one_output_are_not_mixed():
    last = recorded("sysbench-1.0.20-rndrw.txt")
    assert PARSER.parse(recorded("sysbench-1.0.20-prepare.txt") + last) == PARSER.parse(last)


def test_it_knows_its_own():
    assert PARSER.recognises(("sysbench", "fileio", "run"), recorded("sysbench-1.0.20-rndrd.txt"))
    assert PARSER.recognises(("sysbench", "fileio", "prepare"), recorded("sysbench-1.0.20-prepare.txt"))
    assert not PARSER.recognises(("sysbench", "cpu"), "CPU speed:\n")
