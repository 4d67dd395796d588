"""The notebook as tables: every table answers, and nothing outside can be reached."""

from dataclasses import replace

import pytest

import notebook_records as made
from assay.errors import UsageError
from assay.notebook import read, sql, tables
from assay.notebook.store import Store
from assay.records import Cell, Comparison, Conclusion, Estimate, Exclusion, ExclusionReason, Method, Results
from ends_stage import conduct

FAILED = Exclusion(reason=ExclusionReason.NO_FIGURE)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    lab = tmp_path_factory.mktemp("lab")
    asked = made.experiment()
    with Store.create(lab, asked, made.plan(asked), made.TEXT) as kept:
        for trial in kept.plan.trials[:2]:
            run = made.run(trial)
            kept.add(run, made.observations())
            kept.judge("1", [made.verdict(run, made.RATE, 100.0)])
        estimate = Estimate(value=1.1, low=1.0, high=1.2, confidence=0.95, unit="ratio", n=5, method=Method.PAIRED_GEOMETRIC)
        comparison = Comparison(
            measure=made.RATE,
            factor="target",
            baseline="ext4",
            candidate="xfs",
            within={},
            ratio=estimate,
            conclusion=Conclusion.UNDECIDED,
            matters_share=0.05,
            detectable_share=0.1,
            provable_share=0.2,
        )
        cell = Cell(measure=made.RATE, levels={"target": "xfs"}, estimate=None, values={}, excluded={"0001/1": FAILED})
        answers = Results(
            experiment=asked, plan=kept.plan, runs=read.results(kept.folder).runs, cells=(cell,), comparisons=(comparison,)
        )
        kept.derive("1", answers)
    return lab


def test_every_table_answers(lab, subtests):
    for query, expected in [
        ("SELECT run, trial, levels->>'target' FROM runs ORDER BY run", [("0001/1", 1, "xfs"), ("0002/1", 2, "ext4")]),
        ("SELECT DISTINCT phase, cache_asked, drain_ns FROM phases", [("fill", "cold", 5)]),
        ("SELECT DISTINCT client, operation, count FROM clients", [(0, "create", 1000)]),
        ("SELECT DISTINCT rung, bytes, operations, to_ns FROM readings", [("L9", 4096, None, 2**62)]),
        ("SELECT run, max(value), count(*) FROM series GROUP BY run ORDER BY run", [("0001/1", 1000, 3), ("0002/1", 1000, 3)]),
        ("SELECT sum(count) FROM histograms", [(8,)]),
        ("SELECT DISTINCT key, value, moment, class FROM facts", [("kernel.release", "6.1", "before", "performance")]),
        ("SELECT run, state, value FROM verdicts ORDER BY run", [("0001/1", "SOUND", 100.0), ("0002/1", "SOUND", 100.0)]),
        ("SELECT DISTINCT rule, state, observed->>'cached_share' FROM findings", [("T01", "pass", "0.99")]),
        ("SELECT measure, excluded->'0001/1'->>'reason' FROM cells", [(made.RATE, "no figure")]),
        ("SELECT candidate, ratio, conclusion FROM comparisons", [("xfs", 1.1, "undecided")]),
    ]:
        with subtests.test(query=query):
            assert [*sql.query(lab, query).rows] == expected


@pytest.fixture(scope="module")
def network_lab(tmp_path_factory):
    """A real run of both ends on the loopback."""
    tmp_path = tmp_path_factory.mktemp("network")
    run, _ = conduct(tmp_path, ops=50, message=65536, congestion="reno")
    asked = made.experiment(title="Network")
    with Store.create(tmp_path / "lab", asked, made.plan(asked), made.TEXT) as kept:
        kept.add(replace(run, trial=kept.plan.trials[0]), made.observations())
        kept.derive("1", Results(experiment=asked, plan=kept.plan, runs=read.results(kept.folder).runs))
    return tmp_path / "lab"


def test_the_other_end_of_a_load(network_lab, subtests):
    for query, expected in [
        ("SELECT operation, bytes, accepted, refused, host FROM servers", [("receive", 50 << 16, 1, "{}", "local")]),
        ("SELECT count(*) FROM servers WHERE cpu_user_ns + cpu_system_ns > 0", [(1,)]),
        (
            "SELECT role, client, number, protocol, congestion FROM connections ORDER BY role",
            [("load", 0, 0, "tcp", "reno"), ("server", 0, 0, "tcp", "reno")],
        ),
        (
            "SELECT count(*) FROM connections a JOIN connections b ON a.local = b.peer AND a.peer = b.local AND a.role = 'load'",
            [(1,)],
        ),
        ("SELECT (tcp->>'received_bytes')::BIGINT >= 50 << 16 FROM connections WHERE role = 'server'", [(True,)]),
        ("SELECT DISTINCT operation FROM clients", [("send",)]),
    ]:
        with subtests.test(query=query):
            assert [*sql.query(network_lab, query).rows] == expected


def test_every_table_with_runs_names_trial_and_attempt(lab):
    for name in (
        *(set(tables.RUN_ROWS) - {"servers", "connections"}),
        "facts",
        "verdicts",
        "findings",
        *tables.PARQUET,
        "series_rows",
        "histogram_rows",
    ):
        found = sql.query(lab, f"SELECT DISTINCT run, trial, attempt FROM {name} ORDER BY run").rows
        assert found == (("0001/1", 1, 1), ("0002/1", 2, 1)), name


def test_columns_are_named_and_every_table_is_listed(lab):
    found = sql.query(lab, "SELECT 1 AS one, 'x' AS two")
    assert found == sql.QueryResult(columns=("one", "two"), rows=((1, "x"),))
    listed = {row[0] for row in sql.query(lab, "SHOW TABLES").rows}
    assert {*tables.COLUMNS, *tables.PARQUET} <= listed


def test_what_cannot_be_answered_is_told(lab, subtests):
    for query in [
        "SELECT nonsense FROM runs",
        "SELEC",
        "SELECT * FROM read_csv('/etc/passwd')",
        "COPY runs TO '/tmp/never.csv'",
        "",
        " ;-- x",
    ]:
        with subtests.test(query=query), pytest.raises(UsageError, match="expected SQL over runs"):
            sql.query(lab, query)


def test_a_damaged_trial_is_left_out(lab):
    (folder,) = read.folders(lab)
    path = folder / "trials/0001/attempt-1/series.parquet"
    kept = path.read_bytes()
    path.write_bytes(kept[:20])
    try:
        assert sql.query(lab, "SELECT DISTINCT run FROM series").rows == (("0002/1",),)
    finally:
        path.write_bytes(kept)
