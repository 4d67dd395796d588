import dataclasses

from assay import measures
from assay.records import Factor, Measure, Observations, OperationTotal
from assay.rules.unlike_work import RULE
from stage.noise_cases import comparison_case, phase, run
from stage.rows import each
from stage.said import FAIL, INVALIDATES, NOT_ASKED, NOTES, PASS, QUALIFIES, UNVERIFIED, hold

SIZE = Factor(path="w.record_size", levels=("64 KiB", "1 MiB"))


def ran(count, size, **values):
    total = OperationTotal(operation="write", count=count, bytes=count * size, errors=0, busy_ns=1, first_ns=0, last_ns=1)
    bare = phase()
    client = dataclasses.replace(bare.clients[0], operations=(total,) if count else ())
    return run(of=dataclasses.replace(bare, operations=("write",), clients=(client,), values=values)), Observations()


def judged(baseline, candidate, figure="ops_per_s", factor=SIZE.path, **more):
    case = comparison_case("C08", SIZE, [ran(*baseline, **more)] * 2, [ran(*candidate, **more)] * 2)
    measure = Measure(workload=case.measure.workload, operation="write", figure=figure)
    return RULE.check(dataclasses.replace(case, measure=measure, comparison=dataclasses.replace(case.comparison, factor=factor)))


def test_states():
    small, large, fifth = (1600, 65536), (100, 1 << 20), (320, 65536)
    hold(
        "operations of other sizes have no rate, no cost and no share in common",
        (judged(small, large), FAIL, INVALIDATES, "65.5 kB against 1.05 MB"),
        (judged(small, large, "cpu_ns_per_op"), FAIL, INVALIDATES),
        (judged(small, large, "cpu_s_per_million_ops"), FAIL, INVALIDATES),
        (judged(small, large, "latency_p99_ns"), FAIL, QUALIFIES),
        (judged((1600, 0), fifth), FAIL, INVALIDATES),
        "equal sizes pass, however many there were",
        (judged(small, fifth), PASS),
        (judged(small, (1600, 66000), "cpu_ns_per_op"), PASS),
        "a CPU share is one of the work that was done",
        (judged(small, fifth, "@local.cpu_share"), FAIL, INVALIDATES, "CPU shares at different work"),
        (judged((1600, 0), (320, 0), "server_cpu_share"), FAIL, INVALIDATES),
        ("over the load it was asked for", judged(small, fifth, "@local.cpu_share", factor="hosts"), FAIL, NOTES),
        (judged(small, large, "@local.cpu_share"), PASS),
        "nothing counted leaves it open; without data there is no size",
        (judged(small, (0, 0)), UNVERIFIED),
        (judged((1600, 0), (320, 0)), NOT_ASKED),
    )


def test_the_report_of_a_tool_counts():
    values = {"write.count": 10.0, "write.bytes": 81920.0}
    assert judged((1, 0), (1, 0), **values).state is PASS
    assert measures.work_of(ran(1, 0, **values)[0].phases[0], "write") == (10.0, 81920.0)


@each("figure", "bytes_per_s", "elapsed_ns", "cpu_ns_per_gb", "count", "server_cpu_ns_per_gb")
def test_what_is_not_divided_by_operations_is_not_judged(figure):
    case = comparison_case("C08", SIZE, [], [])
    measure = Measure(workload=case.measure.workload, operation="write", figure=figure)
    assert RULE.applies(dataclasses.replace(case, measure=measure)) is not None
