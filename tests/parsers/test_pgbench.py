import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "pgbench")


def test_transactions_and_their_latency():
    found = PARSER.parse(recorded("pgbench-15.18-tpcb.txt"))
    assert found == {
        "transaction.ops_per_s": 194.641776,
        "transaction.count": 583,
        "transaction.errors": 0,
        "transaction.attempts": 583,
        "transaction.latency_mean_ns": pytest.approx(10.253e6),
    }
    assert PARSER.resolution(recorded("pgbench-15.18-tpcb.txt"))["transaction.latency_mean_ns"] == pytest.approx(500)


def test_figures_are_those_of_all_scripts_together():
    found = PARSER.parse(recorded("pgbench-15.18-two-scripts.txt"))
    assert (found["transaction.ops_per_s"], found["transaction.count"]) == (255.053983, 505)
    assert found["transaction.latency_mean_ns"] == pytest.approx(9.515e6)


def test_a_rate_with_reconnections_and_a_count_of_so_many():
    found = PARSER.parse(recorded("pgbench-15.18-reconnect.txt"))
    assert (found["transaction.ops_per_s"], found["transaction.count"]) == (47.978705, 100)


def test_the_last_run_counts_and_an_aborted_one_is_refused():
    first, last = recorded("pgbench-15.18-tpcb.txt"), recorded("pgbench-15.18-reconnect.txt")
    assert PARSER.parse(first + last) == PARSER.parse(last)
    with pytest.raises(EvidenceError, match="aborted"):
        PARSER.parse(first + "pgbench: error: Run was aborted; the above results are incomplete.\n")
    with pytest.raises(EvidenceError):
        PARSER.parse(first[: first.index("tps =")])


def test_it_knows_its_own():
    assert PARSER.recognises(("pgbench", "-T", "3"), recorded("pgbench-15.18-tpcb.txt"))
    assert not PARSER.recognises(("pgbench", "-i"), "creating tables...\ndone in 0.13 s.\n")
