"""Think time, open loops and schedules: when operations begin, and from when they are late."""

import os
import signal
import time

import pytest

from stage.assay_process import wait_until

SECOND = 1_000_000_000


def null(**more):
    return {"operation": "null"} | more


def test_think_time_is_between_operations_and_a_closed_loop_has_no_backlog(engine):
    noted = engine.run("null", null(ops=50, load={"think_ns": 2_000_000}))["operations"]["null"]
    assert noted["last_ns"] - noted["first_ns"] >= 49 * 2_000_000
    assert quantile(noted["histogram"], 0.5) < 2_000_000
    assert engine.run("null", null(ops=10))["load"] is None
    assert engine.run("null", null(ops=10, load={"think_ns": 10}))["load"] is None


def test_a_constant_rate_is_exact(subtests, engine):
    for workers in [1, 3]:
        with subtests.test(workers=workers):
            load = {"rate": 2000, "arrivals": "constant"}
            result = engine.run("null", null(workers=workers, duration_ns=SECOND // 2, load=load))
            assert result["stopped_by"] == "time"
            assert result["operations"]["null"]["count"] + result["load"]["unstarted"] in range(998, 1003)


def test_a_poisson_process_of_150_000_a_second_is_that_within_1_percent(engine):
    load = {"rate": 150_000, "arrivals": "poisson"}
    result = engine.run("null", null(duration_ns=2 * SECOND, load=load), seed=3)
    due = result["operations"]["null"]["count"] + result["load"]["unstarted"]
    assert due == pytest.approx(300_000, rel=0.01)


def quantile(histogram, share):
    wanted = share * sum(histogram["count"])
    seen = 0
    for upper, count in zip(histogram["upper_ns"], histogram["count"], strict=True):
        seen += count
        if seen >= wanted:
            return upper
    raise AssertionError


def test_a_second_of_standstill_is_in_the_latencies_of_all_that_was_due(subtests, uring, engines, tmp_path):
    load, halted = {"rate": 1000, "arrivals": "constant"}, {"null": engines(), "psync": engines(), "io_uring": uring}
    (tmp_path / "f").write_bytes(os.urandom(1 << 20))
    region = {"path": str(tmp_path / "f"), "size": 1 << 20}
    usual = {path: one.run("null", null(ops=1000, load={"rate": 1000}))["operations"]["null"] for path, one in halted.items()}
    for path, one in halted.items():
        settings = {"operation": "random_read", "regions": [region], "record_size": 4096, "path": path, "ops": 4000, "load": load}
        deeper = settings | ({"depth": 4} if path == "io_uring" else {})
        one.arm(*(("null", null(ops=4000, load=load)) if path == "null" else ("bulk", deeper)))
    at_ns = {path: one.go() for path, one in halted.items()}
    time.sleep(1.5)
    stopped_ns = {path: signalled(one, signal.SIGSTOP) for path, one in halted.items()}
    time.sleep(1)
    going_ns = {path: signalled(one, signal.SIGCONT) for path, one in halted.items()}
    for path, one in halted.items():
        with subtests.test(path=path):
            due = [at_ns[path] + number * 1_000_000 for number in range(4000)]
            waits = [going_ns[path] - each for each in due if stopped_ns[path] <= each < going_ns[path]]
            judge_standstill(one.result(), sorted(waits), usual[path]["busy_ns"] / usual[path]["count"])


def signalled(engine, number):
    """When a process was sent a signal: before it was stopped, and before it went on."""
    at_ns = time.monotonic_ns()
    engine.process.send_signal(number)
    return at_ns


def judge_standstill(result, waits, usual_ns):
    expected = sum(waits) / 4000
    assert expected > 112_000_000, "1,000 operations wait half a second on average"
    noted = next(iter(result["operations"].values()))
    mean = noted["busy_ns"] / noted["count"]
    assert noted["count"] == 4000
    assert expected * 0.98 - 1_000_000 <= mean <= expected * 1.3 + 5_000_000 + 4 * usual_ns
    assert quantile(noted["histogram"], 0.99) >= 0.95 * waits[-40]
    assert noted["max_ns"] >= 0.98 * waits[-1]
    assert result["load"]["late"] >= len(waits) - 5
    assert result["load"]["backlog_max_ns"] >= 0.98 * waits[-1]


def test_what_was_never_started_is_counted(engine):
    result = engine.run("null", null(duration_ns=SECOND // 10, load={"rate": 1e9}))
    load = result["load"]
    assert result["operations"]["null"]["count"] + load["unstarted"] == pytest.approx(1e8, rel=0.001)
    assert load["unstarted"] > 0
    assert load["backlog_max_ns"] > 0


def test_steps_and_ramps_follow_each_other(engine):
    stages = [
        {"duration_ns": SECOND // 5, "rate": 1000},
        {"duration_ns": SECOND, "rate": 0},
        {"duration_ns": SECOND // 5, "rate": 0, "to": 4000},
    ]
    result = engine.run("null", null(load={"schedule": stages}), interval_ns=20_000_000)
    noted = result["operations"]["null"]
    assert result["stopped_by"] == "time"
    assert noted["count"] + result["load"]["unstarted"] == pytest.approx(200 + 0 + 400, abs=3)
    start_ns = result["started_ns"]
    points = zip(noted["checkpoints"]["at_ns"], noted["checkpoints"]["count"], strict=True)
    pause = [count for at_ns, count in points if 0.7 * SECOND < at_ns - start_ns < 1.15 * SECOND]  # what was late is done by then
    assert len(set(pause)) <= 1, "nothing begins in a pause"
    assert all(190 <= count <= 201 for count in pause), (
        "a worker says every few milliseconds how far it is: the last may be missing"
    )


def test_an_open_loop_on_a_queue(subtests, uring, tmp_path_factory):
    for depth in [1, 16]:
        with subtests.test(depth=depth):
            tmp_path = tmp_path_factory.mktemp("case")
            (tmp_path / "f").write_bytes(os.urandom(1 << 20))
            region = {"path": str(tmp_path / "f"), "size": 1 << 20}
            settings = {"operation": "random_read", "regions": [region], "record_size": 4096, "path": "io_uring", "depth": depth}
            result = uring.run("bulk", settings | {"duration_ns": SECOND // 2, "load": {"rate": 5000, "arrivals": "poisson"}})
            due = result["operations"]["random_read"]["count"] + result["load"]["unstarted"]
            assert due == pytest.approx(2500, abs=250)
            assert result["stopped_by"] == "time"


def test_stop_ends_a_long_wait(engine):
    engine.arm("null", null(ops=10, load={"rate": 0.01}))
    engine.go()
    time.sleep(0.1)
    engine.send(type="stop")
    result = engine.result()
    assert (result["stopped_by"], result["operations"]["null"]["count"]) == ("stop", 1)


def test_a_load_that_cannot_be_is_refused(subtests, engine):
    for wrong in [
        {"rate": 0},
        {"rate": -1},
        {"rate": 1e10},
        {"rate": 5, "think_ns": 5},
        {"rate": 5, "schedule": [{"duration_ns": 1, "rate": 1}]},
        {"schedule": [{"duration_ns": 0, "rate": 1}]},
        {"schedule": [{"duration_ns": 5, "rate": -1}]},
        {"arrivals": "poisson"},
        {"arrivals": "bursts", "rate": 1},
        {"speed": 1},
    ]:
        with subtests.test(wrong=wrong):
            answer = engine.arm("null", null(ops=10, load=wrong))
            assert (answer["type"], answer["what"]) == ("error", "settings")


def test_256_workers_are_armed_within_a_fifth_of_a_second(engine):
    def seconds():
        before = time.monotonic()
        assert engine.arm("null", null(workers=256, ops=1000))["type"] == "armed"
        return time.monotonic() - before

    wait_until(lambda: seconds() < 0.2)  # what else the machine does is not of the engine
    engine.go()
    result = engine.result()
    assert (result["workers"], result["operations"]["null"]["count"]) == (256, 256_000)
