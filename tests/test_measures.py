"""Figures from raw data: rates of the common window, charged drains, percentiles, curves, words."""

from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import measures
from assay.evidence import ladder, sources
from assay.measures import external, latency
from assay.records import (
    ABSOLUTE,
    Claim,
    Direction,
    Durability,
    Histogram,
    LoadTotal,
    QueueTotal,
    Rung,
    Series,
    SteadyState,
    Tier,
)
from assay.units import Unit
from audit.case_builder import MIB, SECOND, Made, Seen, but, measure_of, observations_of, run_of


def figure(made, **change):
    observations = replace(observations_of(made), **change)
    return measures.value(run_of(made), observations, measure_of(made))


def checkpoints(index, points, operation="read"):
    """Cumulative bytes and counts of one client: (s, MiB done)."""
    return [
        Series(
            phase="p",
            source="engine",
            layer="application",
            host="local",
            subject=f"client:{index}",
            metric=f"{operation}.{metric}",
            unit=metric,
            at_ns=array("q", (round(at * SECOND) for at, _ in points)),
            value=array("d", (done * factor for _, done in points)),
        )
        for metric, factor in (("count", 1), ("bytes", MIB))
    ]


def test_single_client_counts_its_own_time():
    assert figure(Made(seconds=2.0)).value == pytest.approx(128 * MIB)
    assert figure(Made(seconds=2.0, figure="ops_per_s")).value == pytest.approx(128)


def test_common_window_interpolates_between_checkpoints():
    made = Made(starts=(0.0, 2.0), ends=(10.0, 12.0))
    series = checkpoints(0, [(1, 100), (3, 120), (9, 200)]) + checkpoints(1, [(7, 50), (11, 250)])
    window = measures.common_window(run_of(made).phases[0], replace(observations_of(made), series=tuple(series)), "read")
    assert (window.from_ns, window.to_ns) == (2 * SECOND, 10 * SECOND)
    assert window.count == pytest.approx((256 - 110) + 200)
    assert window.bytes == pytest.approx(window.count * MIB)
    assert figure(made, series=tuple(series)).value == pytest.approx((146 + 200) * MIB / 8)


def test_clients_that_never_met_fall_back_with_a_reason():
    made = Made(starts=(0.0, 11.0), ends=(10.0, 20.0))
    found = figure(made)
    assert found.value == pytest.approx(2 * 256 * MIB / 20)
    assert "the 2 clients never all worked at once" in found.treatment


def until_steady(made, reached=True, **change):
    """The figure of a phase that stopped when it was steady, from 4 s to 9 s of it."""
    run = run_of(made)
    state = SteadyState(
        reached=reached,
        round_ns=SECOND,
        rounds=9,
        from_ns=4 * SECOND if reached else None,
        to_ns=9 * SECOND if reached else None,
        at_ns=9 * SECOND + 1 if reached else None,
    )
    run = replace(run, phases=(replace(run.phases[0], steady=state),))
    return measures.value(run, replace(observations_of(made), **change), measure_of(made))


def test_a_rate_is_that_of_the_steady_rounds():
    made = Made(seconds=10.0, starts=(0.0, 0.0), figure="ops_per_s")
    series = (*checkpoints(0, [(4, 16), (9, 216)]), *checkpoints(1, [(4, 56), (9, 156)]))
    found = until_steady(made, series=series)
    assert found.value == pytest.approx((200 + 100) / 5)
    assert (found.window.from_ns, found.window.to_ns) == (4 * SECOND, 9 * SECOND)
    assert found.treatment == "of 5 steady rounds of 1 s"
    assert until_steady(made, reached=False, series=series).value == pytest.approx(2 * 256 / 10)


def test_one_client_alone_has_steady_rounds_too():
    found = until_steady(Made(seconds=10.0, figure="ops_per_s"), series=tuple(checkpoints(0, [(4, 16), (9, 216)])))
    assert found.value == pytest.approx(200 / 5)


def test_the_drain_is_charged_to_the_steady_rounds():
    made = Made(operation="write", seconds=10.0, drain_s=3.0, figure="ops_per_s", claim=Claim(tier=Tier.DEVICE))
    found = until_steady(made, series=tuple(checkpoints(0, [(4, 16), (9, 216)], "write")))
    assert (found.value, found.raw) == (pytest.approx(200 / 8), pytest.approx(200 / 5))
    assert (found.treatment, found.flush_ns, found.drain_ns) == ("of 5 steady rounds of 1 s", 0, 3_000_000_000)


def test_mean_latency_is_that_of_the_steady_rounds_and_a_percentile_of_the_whole_phase():
    made = Made(seconds=10.0, figure="latency_mean_ns")
    busy = replace(checkpoints(0, [(4, 16), (9, 216)])[0], metric="read.busy_ns", value=array("d", (4e9, 9e9)))
    series = (*checkpoints(0, [(4, 16), (9, 216)]), busy)
    assert until_steady(made, series=series).value == pytest.approx(5e9 / 200)
    assert until_steady(but(made, figure="busy_ops_per_s"), series=series).value == pytest.approx(200 / 5)
    found = until_steady(but(made, figure="latency_p99_ns"), series=series)
    assert found.value == figure(but(made, figure="latency_p99_ns")).value
    assert "whole phase" in found.treatment


def test_drain_is_charged_to_stable_media_and_device_writes_only():
    made = Made(operation="write", seconds=1.0, drain_s=3.0)
    assert figure(made).raw is None
    for claim in (Claim(durability=Durability.STABLE_MEDIA), Claim(tier=Tier.DEVICE)):
        found = figure(but(made, claim=claim))
        assert (found.value, found.raw) == (pytest.approx(64 * MIB), pytest.approx(256 * MIB))
        assert (found.flush_ns, found.drain_ns) == (0, 3_000_000_000)
    assert figure(but(made, operation="read", claim=Claim(tier=Tier.DEVICE))).raw is None


def test_elapsed_is_charged_too():
    made = Made(operation="write", seconds=1.0, drain_s=3.0, figure="elapsed_ns", claim=Claim(durability=Durability.STABLE_MEDIA))
    assert figure(made).value == pytest.approx(4 * SECOND)


def test_external_figures_are_taken_and_charged():
    stable = Claim(durability=Durability.STABLE_MEDIA)
    made = Made(operation="write", seconds=1.0, drain_s=1.0, values={"write.bytes_per_s": 100.0}, claim=stable)
    assert (figure(made).value, figure(made).raw) == (50.0, 100.0)
    assert figure(but(made, claim=Claim())).value == 100.0
    assert figure(but(made, figure="latency_p99_ns", values={"write.latency_p99_ns": 5.0})).value == 5.0


def test_the_flush_in_the_clock_and_the_drain_are_told_apart():
    """Writes until 1 s, then 0.9 s of fsync in the clock, then a drain of 0.1 s: the drain is a small part of the difference."""
    made = Made(operation="write", seconds=1.0, drain_s=0.1, flush_in_clock=True, claim=Claim(durability=Durability.STABLE_MEDIA))
    run = run_of(made)
    (phase,), (client,) = run.phases, run.phases[0].clients
    flush = replace(client.operations[0], operation="flush", count=1, bytes=0, first_ns=SECOND, last_ns=19 * SECOND // 10)
    both = replace(phase, operations=("write", "flush"), clients=(replace(client, operations=(*client.operations, flush)),))
    for name in ("bytes_per_s", "elapsed_ns"):
        one = but(made, figure=name)
        found = measures.value(replace(run, phases=(both,)), observations_of(one), measure_of(one))
        assert (found.flush_ns, found.drain_ns) == (9 * SECOND // 10, SECOND // 10)
    rate = measures.value(replace(run, phases=(both,)), observations_of(made), measure_of(made))
    assert (rate.value, rate.raw) == (pytest.approx(128 * MIB), pytest.approx(256 * MIB))


def test_a_flush_at_the_end_counts_whatever_is_claimed_and_flushes_between_do_not_count_twice():
    """Writes until 1 s, then 0.9 s of fsync in the clock: 256 MiB took 1.9 s. With a flush after each write they took 1 s."""
    made = Made(operation="write", seconds=1.0, drain_s=0.1, flush_in_clock=True)
    run = run_of(made)
    (phase,), (client,) = run.phases, run.phases[0].clients
    flush = replace(client.operations[0], operation="flush", count=1, bytes=0, first_ns=SECOND, last_ns=19 * SECOND // 10)
    directions = {**phase.directions, "flush": Direction.FLUSH}

    def seen(flush, name="bytes_per_s"):
        operations = (*client.operations, flush)
        with_flush = replace(phase, operations=("write", "flush"), directions=directions)
        with_flush = replace(with_flush, clients=(replace(client, operations=operations),))
        one = but(made, figure=name)
        return measures.value(replace(run, phases=(with_flush,)), observations_of(one), measure_of(one))

    rate = seen(flush)
    assert (rate.value, rate.raw) == (pytest.approx(256 * MIB / 1.9), pytest.approx(256 * MIB))
    assert (rate.flush_ns, rate.flushes, rate.drain_ns) == (9 * SECOND // 10, 1, None)
    assert seen(flush, "elapsed_ns").value == pytest.approx(1.9 * SECOND)
    assert seen(replace(flush, count=256)).raw is None


def test_the_drain_of_a_external_tool_is_charged_over_its_own_time_where_it_tells_it(subtests):
    for told, seconds in [({}, 10.0), ({"write.elapsed_ns": 4e9}, 4.0), ({"write.bytes": 400.0}, 4.0)]:
        with subtests.test(told=told, seconds=seconds):
            stable = Claim(durability=Durability.STABLE_MEDIA)
            made = Made(operation="write", seconds=10.0, drain_s=1.0, values={"write.bytes_per_s": 100.0, **told}, claim=stable)
            charged = figure(made)
            assert charged.value == pytest.approx(100 * seconds / (seconds + 1))
            assert charged.treatment == (None if told else "over the command's whole time")
            assert charged.drain_ns == 1_000_000_000


def test_other_figures(subtests):
    for name, expected in [
        ("busy_ops_per_s", 256.0),
        ("latency_mean_ns", SECOND / 256),
        ("count", 256.0),
        ("bytes", 256.0 * MIB),
        ("errors", 3.0),
        ("cpu_ns_per_op", SECOND / 10 / 256),
        ("cpu_s_per_million_ops", 1e6 / 10 / 256),
    ]:
        with subtests.test(name=name, expected=expected):
            assert figure(Made(figure=name, errors=3)).value == pytest.approx(expected)


def test_latencies_that_overlap_or_begin_before_the_operation_are_no_busy_time(subtests):
    for change, there in [
        ({}, True),
        ({"queue": QueueTotal(depth=1, registered=False, punted=False, punted_threads=0, submissions=9)}, True),
        ({"queue": QueueTotal(depth=8, registered=False, punted=False, punted_threads=0, submissions=9)}, False),
        ({"load": LoadTotal(late=0, unstarted=0, backlog_max_ns=0)}, False),
    ]:
        with subtests.test(change=change, there=there):
            made = Made(figure="busy_ops_per_s")
            run = run_of(made)
            (client,) = run.phases[0].clients
            run = replace(run, phases=(replace(run.phases[0], clients=(replace(client, **change),)),))
            assert (measures.value(run, observations_of(made), measure_of(made)) is not None) is there


def test_figure_that_cannot_be_had_is_none():
    assert figure(Made(figure="nonsense")) is None
    assert figure(Made(count=0)) is None
    assert measures.value(run_of(Made()), observations_of(Made()), measure_of(Made(operation="write"))) is None


def test_host_cpu_share():
    def cpu(metric, end):
        times, values = array("q", [0, SECOND]), array("d", [0.0, end])
        names = {"phase": "p", "source": "cpu", "layer": "cpu", "host": "server", "subject": ABSOLUTE, "unit": "ns"}
        return Series(**names, metric=metric, at_ns=times, value=values)

    series = (cpu("user_ns", 0.5e9), cpu("system_ns", 0.3e9), cpu("total_ns", 2e9))
    assert figure(Made(figure="@server.cpu_share"), series=series).value == pytest.approx(0.4)
    assert figure(Made(figure="@other.cpu_share"), series=series) is None
    assert measures.figure_kind("@server.cpu_share").unit is Unit.SHARE


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=200), st.floats(0.001, 1.0))
def test_percentile_is_the_nearest_rank_of_the_merged_histogram(values, share):
    half = len(values) // 2
    parts = [sorted(part) for part in (values[:half], values[half:]) if part]
    histograms = tuple(
        Histogram(phase="p", host="h", subject="c", operation="read", upper_ns=array("q", sorted(set(part))), count=counts(part))
        for part in parts
    )
    buckets = latency.merged(replace(observations_of(Made()), histograms=histograms), "p", "read")
    found = latency.percentile(buckets, share)
    at_most = sum(value <= found for value in values)
    below = sum(value < found for value in values)
    assert at_most >= share * len(values) - 1e-9
    assert below < share * len(values) + 1e-9 or below == 0


def counts(part):
    return array("q", (part.count(value) for value in sorted(set(part))))


@given(st.lists(st.tuples(st.integers(0, 100), st.integers(1, 100)), min_size=1, max_size=6))
def test_overlap_is_a_share_and_whole_for_one(spans):
    spans = [(start, start + length) for start, length in spans]
    assert 0 <= measures.overlap_share(spans) <= 1
    assert measures.overlap_share(spans[:1]) == 1


# ---------------------------------------------------------------------------------------------- the ladder


def test_engines_account_goes_before_the_observers():
    made = Made(seen=Seen(storage_bytes=100))
    observations = observations_of(made)
    own = replace(observations.readings[0], source="engine:/proc/self/io", bytes=250)
    both = replace(observations, readings=(*observations.readings, own))
    assert ladder.passed(run_of(made).phases[0], both, Rung.CLIENT_CACHE, Direction.READ).bytes == 250


def test_idle_baseline_is_taken_off_devices_by_rate():
    made = Made(seconds=2.0, seen=Seen(lower_bytes=1000, before_bytes=100))
    step = ladder.lowest_device(run_of(made).phases[0], observations_of(made), Direction.READ)
    assert (step.bytes, step.raw_bytes, step.other_processes_bytes, step.device) == (800, 1000, 200, "vda")


def test_asked_bytes_of_a_external_tool():
    made = Made(values={"read.bytes": 5.0, "read.bytes_per_s": 5.0})
    assert ladder.requested_bytes(run_of(made).phases[0], observations_of(made), Direction.READ) == 5
    untold = but(made, values={"read.bytes_per_s": 5.0})
    assert ladder.requested_bytes(run_of(untold).phases[0], observations_of(untold), Direction.READ) is None


def test_edges_of_gauges():
    made = Made(operation="write", seconds=4.0, seen=Seen(dirty_bytes=7))
    phase, observations = run_of(made).phases[0], observations_of(made)
    series = list(ladder.gauges(phase, observations, "page_cache", "dirty_bytes"))
    assert (ladder.at_arming(phase, series), ladder.at_stop(phase, series)) == (0, 7)
    assert ladder.at_stop(phase, []) is None


def test_evidence_keys(subtests):
    for key, there in [("L9.read", True), ("L9.flush", False), ("fact:device.0.*", True), ("cpu.x_ns", False)]:
        with subtests.test(key=key, there=there):
            made = Made(seen=Seen(lower_bytes=1))
            assert sources.has(run_of(made).phases[0], observations_of(made), key) is there
            assert sources.has_anywhere(observations_of(made), key) is there


# ---------------------------------------------------------------------------------------------- words


def test_words(subtests):
    for value, unit, text in [
        (4.1e9, "bytes/s", "4.10 GB/s"),
        (7410, "1/s", "7,410/s"),
        (13_200_000, "ns", "13.2 ms"),
        (0.98347, "share", "98.3 %"),
        (0.02, "share", "2 %"),
        (0.0004, "share", "0.04 %"),
        (0, "share", "0 %"),
        (1.0, "share", "100 %"),
        (20_000, "count", "20,000"),
    ]:
        with subtests.test(value=value, unit=unit, text=text):
            assert measures.with_unit(value, unit) == text


def test_no_bytes_at_some_rate_are_bytes_that_the_tool_does_not_tell():
    """hdparm on a disk that is all but broken: `0 MB in 3.10 seconds = 300.10 kB/sec`."""
    made = Made()
    phase = replace(run_of(made).phases[0], values={"read.bytes": 0.0, "read.bytes_per_s": 307_302.4, "read.elapsed_ns": 3.1e9})
    read = replace(checkpoints(0, [(0, 0), (1, 1), (2, 2)])[1], layer="process", metric="read_bytes")
    seen = replace(observations_of(made), series=(read,))
    assert list(external.denied(phase, seen, "read", 0.05)) == []
    (words, share) = next(external.unseen(phase, "read", 1e6, (0.95, 0.95, 0.01)), ("", 1.0))
    assert share == 1.0, words
