"""L08: random faster than sequential, flushed faster than not, cold faster than warm."""

from dataclasses import replace

from assay.records import Direction, Measure, Rung, Severity, WorkloadSpec
from assay.rules.cross_metric import RULE
from audit.case_builder import Made, case_of, reading
from stage.said import FAIL, INVALIDATES, NOT_ASKED, PASS, QUALIFIES, high, hold

MIB = 1 << 20


def case(made, other, knobs, value):
    found = case_of(made, "L08", {other.name: value})
    specs = (*found.experiment.workloads, WorkloadSpec(name=other.workload, kind="bulk_io", knobs=knobs))
    experiment = replace(found.experiment, measures=(found.measure, other), workloads=specs)
    return replace(found, experiment=experiment)


def random_against_sequential(sequential):
    made = Made(operation="random_read", knobs={"record_size": 4096, "cache": "cold"})
    other = Measure(workload="s", operation="read", figure="bytes_per_s")
    return case(made, other, {"record_size": MIB, "cache": "cold"}, sequential)


def test_of_a_external_tools_measures_nobody_knows_how_many_requests_were_in_flight():
    bad = random_against_sequential(100 * MIB)
    tools = replace(bad, phase=replace(bad.phase, values={"random_read.bytes_per_s": 256.0 * MIB}))
    assert RULE.check(tools).severity is Severity.NOTES


def both_read_from_storage(random_bytes, sequential_bytes):
    """The same with what storage was made to read in each phase, of 256 MiB."""
    bad = random_against_sequential(100 * MIB)
    ours = replace(bad.phase, workload="w")
    line = replace(ours.clients[0].operations[0], operation="read")
    clients = (replace(ours.clients[0], operations=(line,)),)
    other = replace(ours, name="s.read", workload="s", operations=("read",), directions={"read": Direction.READ}, clients=clients)
    read = [
        replace(reading(Rung.CLIENT_CACHE, "pid:100", Direction.READ, (moved, 0)), phase=phase.name)
        for phase, moved in ((ours, random_bytes), (other, sequential_bytes))
    ]
    seen = replace(bad.observations, readings=tuple(read))
    return replace(bad, run=replace(bad.run, phases=(ours, other)), phase=ours, observations=seen)


def test_first_writes_are_no_ceiling_for_overwrites():
    def applies(workload, **knobs):
        made = Made(operation="random_write", knobs={"record_size": 4096} | knobs)
        other = Measure(workload=workload, operation="write", figure="bytes_per_s")
        return RULE.applies(case(made, other, {"record_size": 4096} | knobs, MIB))

    assert applies("w")
    assert applies("w", overwrite=True) is None
    assert applies("s") is None


def test_more_random_reads_in_flight_than_sequential_ones_are_not_compared():
    made = Made(operation="random_read", knobs={"record_size": 4096, "ioengine": "io_uring", "depth": 32})
    other = Measure(workload="s", operation="read", figure="bytes_per_s")
    assert RULE.applies(case(made, other, {"record_size": 4096, "ioengine": "io_uring", "depth": 1}, MIB))
    assert RULE.applies(case(made, other, {"record_size": 4096, "ioengine": "io_uring", "depth": 32}, MIB)) is None


def test_states():
    hold(
        "random above sequential is bounded or invalid",
        (RULE.check(random_against_sequential(256 * MIB * 0.97)), PASS),
        (RULE.check(random_against_sequential(200 * MIB)), FAIL, QUALIFIES, high(200 * MIB)),
        (RULE.check(random_against_sequential(100 * MIB)), INVALIDATES),
        "memory knows no order of random and sequential",
        (RULE.applies(both_read_from_storage(0, 4096)), NOT_ASKED),
        (RULE.check(both_read_from_storage(0, 256 * MIB)), FAIL, INVALIDATES),
        "flushed above unflushed",
        (
            RULE.check(
                case(
                    Made(operation="write", knobs={"record_size": 4096, "flush": "each"}),
                    Measure(workload="s", operation="write", figure="bytes_per_s"),
                    {"record_size": 4096, "flush": "none"},
                    10 * MIB,
                )
            ),
            FAIL,
        ),
        "cold above warm",
        (
            RULE.check(
                case(
                    Made(knobs={"record_size": MIB, "cache": "cold"}),
                    Measure(workload="s", operation="read", figure="bytes_per_s"),
                    {"record_size": MIB, "cache": "warm"},
                    10 * MIB,
                )
            ),
            FAIL,
        ),
        "unlike measures are not compared",
        (
            RULE.applies(
                case(
                    Made(operation="random_read", knobs={"record_size": 4096, "cache": "cold", "direct": True}),
                    Measure(workload="s", operation="read", figure="bytes_per_s"),
                    {"record_size": MIB, "cache": "cold"},
                    MIB,
                )
            ),
            NOT_ASKED,
        ),
        (RULE.applies(case_of(Made(figure="latency_p99_ns"), "L08")), NOT_ASKED),
    )
