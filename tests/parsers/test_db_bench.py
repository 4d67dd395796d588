import pytest

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "db_bench")


def test_each_benchmark_has_its_rates():
    found = PARSER.parse(recorded("db_bench-7.8.3-four.txt"))
    assert list(dict.fromkeys(key.partition(".")[0] for key in found)) == ["fillseq", "overwrite", "readrandom", "readseq"]
    assert found["readrandom.bytes_per_s"] / found["readrandom.ops_per_s"] == pytest.approx(116, rel=0.02), "keys and values"


def test_leveldb_prints_the_time_of_an_operation_alone():
    found = PARSER.parse("readrandom   :       3.637 micros/op;   32.6 MB/s (8645864 of 10000000 found)\n")
    assert found["readrandom.ops_per_s"] == pytest.approx(1e6 / 3.637)
    half = PARSER.resolution("compact      :       4.0 micros/op;\n")["compact.ops_per_s"]
    assert half == pytest.approx(1e6 / 4 * 0.05 / 4)


def test_a_benchmark_that_runs_twice_counts_the_last_time():
    text = recorded("db_bench-7.8.3-four.txt")
    assert PARSER.parse(text + "fillseq : 2.000 micros/op 500000 ops/sec;   55.0 MB/s\n")["fillseq.ops_per_s"] == 500_000
