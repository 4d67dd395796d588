"""memtier_benchmark: columns by their heading, of versions with one latency and with percentiles."""

from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "memtier")
TEXT = recorded("memtier-1.4-form.txt")


def test_older_tables_have_one_latency():
    found = PARSER.parse(recorded("memtier-1.2-form.txt"))
    assert not [name for name in found if "_p" in name.replace("_per_s", "")]


def test_the_last_table_counts():
    assert PARSER.parse(recorded("memtier-1.2-form.txt") + TEXT)["request.ops_per_s"] == 78_391.78


def test_keys_without_a_value_are_errors_of_what_was_to_be_read():
    table = """Type         Ops/sec     Hits/sec   Misses/sec    Avg. Latency     p50 Latency     p99 Latency       KB/sec
Sets         10000.00          ---          ---         1.65000         1.60000         3.20000       390.00
Gets        100000.00     25000.00     75000.00         1.65000         1.60000         3.20000      3900.00
Totals      110000.00     25000.00     75000.00         1.65000         1.60000         3.20000      4290.00
"""
    found = PARSER.parse("ALL STATS\n" + table)
    assert (found["request_get.errors"], found["request_get.attempts"]) == (75_000, 100_000)
    assert (found["request.errors"], found["request.attempts"]) == (75_000, 100_000)
    assert "request_set.errors" not in found
    few = PARSER.parse("ALL STATS\n" + table.replace("25000.00     75000.00", "90000.00     10000.00"))
    assert (few["request_get.errors"], few["request_get.doubtful"]) == (0, 10_000)
