from assay import catalogue
from stage.parser_cases import recorded

PARSER = catalogue.find("parsers", "redis_benchmark")


def test_the_report_has_rates_counts_and_latencies():
    text = recorded("redis-benchmark-7.0.15-report.txt")
    found = PARSER.parse(text)
    assert {key.partition(".")[0] for key in found} == {"request_set", "request_get"}
    assert found["request_get.latency_p50_ns"] <= found["request_get.latency_p99_ns"] <= found["request_get.latency_max_ns"]


def test_a_line_for_each_test_with_q():
    found = PARSER.parse(recorded("redis-benchmark-7.0.15-quiet.txt"))
    assert set(found) == {
        f"request_{name}.{figure}" for name in ("set", "get", "lpush", "lrange_100") for figure in ("ops_per_s", "latency_p50_ns")
    }


def test_rows_of_csv():
    found = PARSER.parse(recorded("redis-benchmark-7.0.15-csv.txt"))
    assert len(found) == 6 * 6


def test_a_rate_that_the_clock_of_milliseconds_could_not_tell():
    assert PARSER.parse("SET: inf requests per second, p50=0.231 msec\n") == {
        "request_set.elapsed_ns": 0,
        "request_set.latency_p50_ns": 231_000,
    }
    head = '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"\n'
    assert PARSER.parse(head + '"SET","inf","0.246","0.096","0.231","0.415","0.415","0.415"\n')["request_set.elapsed_ns"] == 0


def test_how_many_requests_the_arguments_ask_for():
    assert PARSER.count(("redis-benchmark", "-q", "-n", "100")) == 100
    assert PARSER.count(("redis-benchmark", "-q")) == 100_000
    assert PARSER.count(("redis-benchmark", "-n", "{n}")) is None


def test_requests_that_an_old_server_refused_are_errors():
    text = "ERROR: NOAUTH Authentication required.\n====== GET ======\n  100000 requests completed in 0.96 seconds\n\n"
    text += "103842.16 requests per second\n"
    found = PARSER.parse(text)
    assert (found["request_get.errors"], found["request_get.attempts"]) == (100_000, 100_000)
    assert "request_get.errors" not in PARSER.parse(text.partition("\n")[2])
    assert PARSER.parse("ERROR: NOAUTH Authentication required.\nGET: 103842.16 requests per second\n")["request_get.errors"] == 1


def test_rows_without_a_head_that_come_again_are_another_run():
    assert len(PARSER.runs('"SET","46511.62"\n"GET","50000.00"\n"SET","46000.00"\n"GET","51000.00"\n')) == 2
    assert len(PARSER.runs("SET: 46511.62 requests per second\nGET: 50000.00 requests per second\n")) == 1
