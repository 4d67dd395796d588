import pytest

from assay import catalogue
from assay.errors import EvidenceError
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "pgbench")


def test_transactions_and_their_latency():
    assert PARSER.resolution(recorded("pgbench-15.18-tpcb.txt"))["transaction.latency_mean_ns"] == pytest.approx(500)


def test_the_last_run_counts_and_an_aborted_one_is_refused():
    first, last = recorded("pgbench-15.18-tpcb.txt"), recorded("pgbench-15.18-reconnect.txt")
    assert PARSER.parse(first + last) == PARSER.parse(last)
    with pytest.raises(EvidenceError, match="aborted"):
        PARSER.parse(first + "pgbench: error: Run was aborted; the above results are incomplete.\n")
    with pytest.raises(EvidenceError):
        PARSER.parse(first[: first.index("tps =")])
