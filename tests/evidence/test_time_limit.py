"""What the limit was: threads, servers, connections, devices, quotas; and where nothing tells it, nothing is named."""

from dataclasses import replace

import pytest

from assay.answer.wording import time_spent
from assay.evidence import time_limit
from assay.records import Cause, Direction, Observations, Rung
from audit.case_builder import gauge, reading
from stage import server_cases
from stage.noise_cases import phase
from stage.time_cases import counted, course, series

LENGTH_S = 10.0
PHASE = replace(phase(LENGTH_S), name="p")


def limit(load, server=None, more=(), readings=(), facts=(), **how):
    """What is named of states with their shares."""
    groups = {"load": counted(course(load), **how)} | ({} if server is None else {"server": counted(course(server))})
    found = series(LENGTH_S, "p", **groups)
    return time_limit.of_phase(PHASE, Observations(series=(*found, *more), readings=readings, facts=facts))


def cause(*args, **how):
    found = limit(*args, **how)
    return None if found is None else found.cause


def of(process, **shares):
    return {(process, state): share for state, share in shares.items()}


@pytest.mark.parametrize(
    ("shares", "wanted"),
    [
        ({"running": 0.8, "flush": 0.2}, Cause.CPU),
        ({"running": 0.5, "flush": 0.5}, None),
        ({"running": 0.34, "flush": 0.33, "sleep": 0.33}, None),
        ({"flush": 0.7, "running": 0.3}, Cause.FLUSH),
        ({"sleep": 0.9, "running": 0.1}, Cause.SLEEP),
        ({"page_fault": 0.9, "running": 0.1}, Cause.PAGES),
        ({"write_throttled": 0.9, "running": 0.1}, Cause.DIRTY),
        ({"read_pipe": 1.0}, Cause.PIPE),
        ({"connect": 1.0}, Cause.CONNECT),
        ({"read_file": 1.0}, Cause.FILES),
        ({"child": 1.0}, Cause.NOTHING),
        ({"read_socket": 1.0}, Cause.PEER),
    ],
)
def test_what_had_most_of_the_time_is_the_limit(shares, wanted):
    assert cause(of("dd", **shares)) is wanted


def stopped(share):
    return gauge("cgroup", "cgroup:/g", "throttled_ns", (0.0, share * LENGTH_S * 1e9), LENGTH_S)


def test_a_quota_is_named_before_the_cpu_that_it_leaves():
    assert cause(of("dd", running=1.0), more=[stopped(0.4)]) is Cause.QUOTA
    assert cause(of("dd", running=1.0), more=[stopped(0.05)]) is Cause.CPU
    assert cause(of("dd", flush=1.0), more=[stopped(0.4)]) is Cause.FLUSH


def disk(busy, in_flight, rule=None):
    """A device that had requests for such a share of the time, so many at once; 100 reads a second."""
    rises = {"io_ticks": busy, "read_ticks": busy * in_flight, "write_ticks": 0.0, "flush_ticks": 0.0}
    made = [gauge("block", "device:vda", name, (0.0, share * LENGTH_S * 1000), LENGTH_S) for name, share in rises.items()]
    made.append(gauge("block", "device:vda", "read_operations", (0.0, 100 * LENGTH_S), LENGTH_S))
    made += [] if rule is None else [gauge("cgroup", "device:vda", "limit_read_ops_per_s", (rule, rule), LENGTH_S)]
    passed = reading(Rung.LOWEST_DEVICE, "device:vda", Direction.READ, (10**6, 1000), seconds=LENGTH_S)
    return {"more": made, "readings": (passed,)}


def test_reads_wait_for_a_device_for_one_request_after_the_other_for_a_throttle_or_for_what_no_device_shows():
    reads = of("fio", read_file=1.0)
    assert cause(reads, **disk(0.9, 12)) is Cause.DEVICE
    assert cause(reads, **disk(0.9, 1)) is Cause.ONE_REQUEST
    assert cause(reads, **disk(0.1, 1)) is Cause.FILES
    assert cause(reads, **disk(0.1, 1, rule=110.0)) is Cause.THROTTLE
    assert cause(reads, **disk(0.9, 1, rule=1000.0)) is Cause.ONE_REQUEST


MOUNT = of("fio", read_file=1.0)


def way(bytes_per_s):
    """A path of such a rate, over which the server sent 9.5 MB/s."""
    sent = server_cases.counted(LENGTH_S, "L4", "write", round(9.5e6 * LENGTH_S))
    return {"readings": (sent,), "facts": (server_cases.fact("limit_bytes_per_s", str(bytes_per_s)),)}


def test_reads_of_a_mount_wait_for_its_server_or_for_the_path_to_it():
    assert cause(MOUNT, of("smbd", running=0.9, events=0.1)) is Cause.CPU
    assert cause(MOUNT, of("smbd", flush=0.9, events=0.1)) is Cause.FLUSH
    assert cause(MOUNT, of("smbd", events=0.9, running=0.1)) is Cause.FILES
    assert cause(MOUNT, of("smbd", events=0.9, running=0.1), **way(10_000_000)) is Cause.PATH_RATE
    assert cause(MOUNT, of("smbd", running=0.9, events=0.1), **way(10_000_000)) is Cause.CPU
    assert cause(MOUNT, **way(12_000_000)) is Cause.FILES


def test_a_path_of_known_rate_that_was_used_up_is_named_with_its_rate():
    found = limit(CLIENT, **way(10_000_000))
    assert (found.cause, found.rate, round(found.among, 2)) == (Cause.PATH_RATE, 9.5e6, 0.95)
    assert time_spent.limit(found).replace("\u202f", " ") == "the rate of the link (9.50 MB/s, 95 % of it)"
    assert cause(CLIENT, **way(12_000_000)) is Cause.PEER


def test_a_lock_is_named_where_two_threads_of_five_wait_for_it():
    load = of("w", sleep=1.0)
    assert cause(load, threads={("w", "sleep"): 1.0, ("w", "lock"): 3.0}) is Cause.LOCK
    assert cause(load, threads={("w", "sleep"): 4.0, ("w", "lock"): 0.5}) is Cause.SLEEP
    assert cause(load, threads={("w", "sleep"): 1.0, ("w", "other_thread"): 3.0}) is Cause.TURNS
    assert cause(load, threads={("w", "sleep"): 1.0, ("w", "idle"): 3.0}) is Cause.SLEEP


CLIENT = of("curl", read_socket=1.0)


def test_of_a_client_that_waits_it_is_what_its_server_did():
    found = limit(CLIENT, of("slapd", running=0.9, events=0.1))
    assert (found.cause, found.at_server, found.process) == (Cause.CPU, True, "slapd")
    assert cause(CLIENT, of("slapd", flush=0.9, events=0.1)) is Cause.FLUSH
    assert cause(CLIENT, of("slapd", events=0.9, running=0.1)) is Cause.FEW_REQUESTS


def test_files_that_no_device_here_serves_are_those_of_the_server_if_it_did_anything():
    reads = of("cat", read_file=1.0)
    found = limit(reads, of("nfsd", flush=1.0))
    assert (found.cause, found.at_server) == (Cause.FLUSH, True)
    assert cause(reads, of("nfsd", flush=1.0), **disk(0.9, 1)) is Cause.ONE_REQUEST
    assert limit(reads, of("nfsd", events=1.0)).process == "cat"
    assert limit(reads, of("rclone", read_device=1.0)).process == "cat"


def test_a_load_that_waits_for_the_cpus_that_its_server_has_is_limited_by_the_server():
    times = {"curl": {"run_ns": 10**9, "ready_ns": 9 * 10**9}}
    assert cause(of("curl", running=0.6, read_socket=0.4), of("slapd", running=1.0), times=times) is Cause.CPU
    assert limit(of("curl", running=0.6, read_socket=0.4), of("slapd", running=1.0), times=times).at_server


def test_a_pool_is_named_before_a_server_that_more_requests_would_use():
    turns = {("curl", "read_socket"): 2.0, ("curl", "other_thread"): 14.0}
    assert cause(CLIENT, of("slapd", sleep=1.0), threads=turns) is Cause.POOL
    assert cause(CLIENT, of("slapd", running=1.0), threads=turns) is Cause.CPU


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        ({"small": 90}, Cause.LATE_ACKNOWLEDGEMENT),
        ({"closed": 90}, Cause.READER),
        ({"full": 90}, Cause.WINDOW),
        ({"names": 90}, Cause.NAMES),
        ({"queued": 90, "rtt_ns": 50_000_000, "min_rtt_ns": 100_000}, Cause.PATH_RATE),
        ({"crowded": 90, "rtt_ns": 21_000_000, "min_rtt_ns": 20_000_000}, Cause.CONGESTION),
        ({"on_the_way": 90, "rtt_ns": 20_000_000, "min_rtt_ns": 19_000_000}, Cause.PATH_DELAY),
        ({"on_the_way": 90, "rtt_ns": 200_000, "min_rtt_ns": 100_000}, Cause.PEER),
        ({"small": 40, "closed": 40}, Cause.PEER),
    ],
)
def test_where_both_ends_wait_the_connections_tell(seen, wanted):
    times = {name: value * 100 for name, value in seen.items() if name.endswith("_ns")}
    assert cause(CLIENT, connections={**seen, **times, "looks": 100, "trips": 100}) is wanted


def test_files_of_a_mount_in_user_space_are_told_with_what_its_server_did():
    calls = gauge("fuse", "mount:/mnt/far", "calls", (0.0, 5000.0), LENGTH_S)
    found = limit(of("cp", read_file=1.0), more=[calls])
    assert (found.cause, found.name, found.count) == (Cause.FILES, "/mnt/far", 500.0)
    assert time_spent.limit(found).endswith("; the FUSE server of /mnt/far made 500 read calls a second in that time")
    assert (
        limit(of("cp", read_file=1.0), more=[replace(calls, value=type(calls.value)("d", [0, 5, 5][: len(calls.value)]))]).name
        == ""
    )


def test_events_without_any_socket_are_nothing():
    found = limit(of("py", events=1.0), connections={"looks": 100, "none": 100})
    assert found.cause is Cause.NOTHING
    assert time_spent.limit(found) == "nothing: py waits for what does not come"


def test_without_a_cpu_for_most_of_the_time_the_rest_of_it_is_named_too():
    times = {"dd": {"run_ns": 10**9, "ready_ns": 9 * 10**9}}
    found = limit(of("dd", running=0.6, flush=0.4), times=times)
    assert (found.cause, found.rest.cause) == (Cause.NO_CPU, Cause.FLUSH)
    assert (
        time_spent.limit(found)
        == "CPUs: dd was ready without one for 54 % of the time; in the rest of the time the flushes of dd"
    )


def test_sentences_name_the_process_and_are_careful_near_the_half():
    assert time_spent.limit(limit(of("dd", running=0.8, flush=0.2))) == "the CPU time of dd"
    assert time_spent.limit(limit(of("dd", running=0.52, flush=0.48))) == "likely the CPU time of dd"
    words = time_spent.limit(limit(of("w", sleep=1.0), threads={("w", "sleep"): 1.0, ("w", "lock"): 3.0}))
    assert words == "a lock in w: 3 threads wait for it while another one sleeps"


def test_in_the_rest_of_the_time_a_device_counts_for_that_rest():
    times = {"fio": {"run_ns": 10**8, "ready_ns": 9 * 10**9}}
    reads = {("fio", "running"): 0.88, ("fio", "read_file"): 0.12}
    found = limit(reads, times=times, **disk(0.1, 1))
    assert (found.cause, found.rest.cause) == (Cause.NO_CPU, Cause.ONE_REQUEST)
    assert limit(reads, times=times, **disk(0.02, 1)).rest.cause is Cause.FILES


def test_threads_of_the_engine_that_wait_for_its_workers_are_no_lock():
    waiting = {("assay-engine", "flush"): 1.0, ("assay-engine", "other_thread"): 2.0}
    assert cause(of("assay-engine", flush=1.0), threads=waiting) is Cause.FLUSH
    far = {("assay-engine-4c", "flush"): 1.0, ("assay-engine-4c", "other_thread"): 2.0}
    assert cause(of("assay-engine-4c", flush=1.0), threads=far) is Cause.FLUSH
