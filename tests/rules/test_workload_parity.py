import dataclasses

from assay.records import Direction, Factor, Observations, OperationTotal, Severity, State, StopRule
from assay.rules.workload_parity import RULE
from stage.noise_cases import comparison_case, phase, run
from stage.rows import each
from stage.said import PASS, hold

TARGET = Factor(path="target", levels=("a", "b"))
MOVES = {"read": Direction.READ, "write": Direction.WRITE}


def ran(counts, *, size=4096, workers=1, ended="work", values=None, seed=1):
    """A run whose client counted so many of each operation; reads and writes of this size."""
    bare = phase(workers=workers)
    totals = tuple(
        OperationTotal(
            operation=name, count=count, bytes=count * size if name in MOVES else 0, errors=0, busy_ns=1, first_ns=0, last_ns=1
        )
        for name, count in counts.items()
    )
    made = dataclasses.replace(
        bare,
        operations=("write", *(name for name in counts if name != "write")),
        directions={name: MOVES.get(name, Direction.METADATA) for name in ("write", *counts)},
        stop=StopRule.WORK if ended == "work" else StopRule.TIME,
        clients=(dataclasses.replace(bare.clients[0], operations=totals, stopped_by=ended),),
        values=values or {},
    )
    whole = run(of=made)
    return dataclasses.replace(whole, trial=dataclasses.replace(whole.trial, seed=seed)), Observations()


def judged(baseline, candidate, factor=TARGET):
    return RULE.check(comparison_case("C04", factor, baseline, candidate))


@each(
    "other said",
    ({"counts": {"write": 970}}, "write operations: 1,000 against 970"),
    ({"counts": {"write": 1000}, "size": 8192}, "bytes of one write: 4,096 against 8,192"),
    ({"counts": {"write": 1000}, "workers": 2}, "workers: 1 against 2"),
    ({"counts": {"write": 1000, "fsync": 1000}}, "fsync operations: 0 against 1,000"),
)
def test_other_work_invalidates_and_is_named(other, said):
    counts = other.pop("counts")
    finding = judged([ran({"write": 1000})] * 3, [ran(counts, **other)] * 3)
    assert (finding.state, finding.severity) == (State.FAIL, Severity.INVALIDATES)
    assert said in finding.statement
    assert finding.relabel == "comparison of different workloads"


def test_the_mix_of_a_fixed_time_is_a_note_and_of_fixed_work_invalidates():
    for ended, severity in (("time", Severity.NOTES), ("work", Severity.INVALIDATES)):
        finding = judged([ran({"write": 500, "read": 500}, ended=ended)], [ran({"write": 450, "read": 550}, ended=ended)])
        assert (finding.state, finding.severity) == (State.FAIL, severity)
        assert "0.5" in finding.statement


def test_another_draw_of_the_same_data_is_told_from_other_data_by_the_ranges():
    left = [ran({"write": count}, seed=seed) for seed, count in enumerate((1000, 1100, 1050))]
    right = [ran({"write": count}, seed=seed + 10) for seed, count in enumerate((1080, 1020, 1180))]
    assert judged(left, right).state is State.PASS
    assert judged(left, [ran({"write": 1300}, seed=seed) for seed in (10, 11, 12)]).state is State.FAIL
    few = judged(left[:1], [ran({"write": 1300}, seed=10)])
    assert few.state is State.UNVERIFIED
    assert "another draw" in few.statement


def test_a_external_command_is_judged_by_what_it_tells():
    told = {"write.count": 100.0, "write.bytes": 409600.0}
    assert judged([ran({"command": 1}, values={"write.elapsed_ns": 5.0})], [ran({"command": 1})]).state is State.UNVERIFIED
    assert (
        judged([ran({"write": 1}, values=told)], [ran({"write": 1}, values={**told, "write.count": 500.0})]).state is State.FAIL
    )
    more = {"write.count": 500.0, "write.bytes": 2048000.0}
    assert judged([ran({"write": 1}, values=told)], [ran({"write": 1}, values=more)]).state is State.PASS


def test_nothing_counted_leaves_it_open_and_work_as_the_factor_is_not_judged():
    assert judged([ran({})], [ran({"write": 5})]).state is State.UNVERIFIED
    for path in ("workload", "clients", "hosts", "w.record_size"):
        case = comparison_case("C04", Factor(path=path, levels=(1, 2)), [ran({"write": 5})], [ran({"write": 9})])
        assert "the work is the factor" in str(RULE.applies(case))
    assert RULE.applies(comparison_case("C04", TARGET, [], [])) is None


def test_states():
    hold(
        "the same work passes and says on how many seeds",
        (judged(*[[ran({"write": 1000, "file": 10}, seed=seed) for seed in (1, 2, 3)] for _ in range(2)]), PASS),
        ("what differs less than two per cent is no other work", judged([ran({"write": 1000})], [ran({"write": 985})]), PASS),
        "a faster system does more in a fixed time and is not accused",
        (judged([ran({"write": 1000}, ended="time")], [ran({"write": 5000}, ended="time")]), PASS),
    )
