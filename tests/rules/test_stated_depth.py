import dataclasses

from assay.rules.stated_depth import RULE
from audit.case_builder import Made, case_of
from stage.said import ASKED, FAIL, NOT_ASKED, PASS, QUALIFIES, UNVERIFIED, hold
from stage.time_cases import counted, course, series

PSYNC = ("fio", "--name=r", "--ioengine=psync", "--iodepth=32")


def case(argv, values):
    one = case_of(Made(count=64_000, record_bytes=4096, workers=1), "L19")
    spec = dataclasses.replace(one.experiment.workloads[0], knobs={"argv": argv})
    phase = dataclasses.replace(one.phase, values=values)
    run = dataclasses.replace(one.run, trial=dataclasses.replace(one.run.trial, levels={}))
    return dataclasses.replace(one, experiment=dataclasses.replace(one.experiment, workloads=(spec,)), phase=phase, run=run)


def judged(argv, rate, latency_ns):
    return RULE.check(case(argv, {"read.ops_per_s": rate, "read.latency_mean_ns": latency_ns}))


def test_states():
    hold(
        ("one in flight at a stated depth of 32", judged(PSYNC, 5000.0, 2e5), FAIL, QUALIFIES, "1 of 32", {"in_flight": 1.0}),
        ("nearly all of the depth", judged(PSYNC, 150_000.0, 2e5), PASS),
        ("four jobs of depth 8 keep 32", judged((*PSYNC[:3], "--iodepth=8", "--numjobs=4"), 5000.0, 6e6), PASS),
        ("four jobs of depth 8 that keep one each", judged((*PSYNC[:3], "--iodepth=8", "--numjobs=4"), 5000.0, 8e5), FAIL),
        ("in the words of a shell", judged(("sh", "-c", "fio --iodepth=32 job"), 5000.0, 2e5), FAIL),
        ("libaio without direct I/O", judged(("fio", "--ioengine=libaio", "--iodepth=32"), 150_000.0, 2e5), FAIL, "io_submit"),
        ("libaio with it", judged(("fio", "--ioengine=libaio", "--direct=1", "--iodepth=32"), 150_000.0, 2e5), PASS),
        ("no latency", RULE.check(case(PSYNC, {"read.ops_per_s": 5000.0})), UNVERIFIED),
        ("a stated depth is judged", RULE.applies(case(PSYNC, {})), ASKED),
        "what states no depth, or has a pace, is not",
        *(
            (RULE.applies(case(argv, {})), NOT_ASKED)
            for argv in (PSYNC[:3], (*PSYNC[:3], "--iodepth=1"), (*PSYNC, "--rate_iops=100"), ("dd", "iodepth=32"))
        ),
    )


def shared(asking, waiting):
    """Threads of a tool that share connections."""
    one = case(("client",), {"read.ops_per_s": 100.0})
    threads = {("client", "read_socket"): asking, ("client", "other_thread"): waiting}
    looks = series(1.0, load=counted(course({("client", "read_socket"): 1.0}), threads=threads))
    return dataclasses.replace(one, observations=dataclasses.replace(one.observations, series=looks))


def test_threads_that_share_fewer_connections_keep_fewer_requests_in_flight():
    hold(
        (RULE.applies(shared(2.0, 14.0)), ASKED),
        (RULE.check(shared(2.0, 14.0)), FAIL, QUALIFIES, "2 of 16 working threads", {"in_flight": 2.0, "depth": 16.0}),
        (RULE.check(shared(16.0, 0.5)), PASS),
    )
