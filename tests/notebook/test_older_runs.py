"""Runs that were kept before clients told of their load, queue and errors are still read, and new ones keep all of it."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import notebook_records as made
from assay import plain
from assay.laboratory import results
from assay.notebook import export, layout, read, sql
from assay.notebook.store import Store
from assay.records import (
    Action,
    CacheState,
    Client,
    EngineError,
    ErrorSpace,
    Event,
    Gap,
    LoadTotal,
    Missing,
    PhaseHost,
    QueueTotal,
    Role,
    Server,
    ServerNode,
)

FULL = replace(
    made.client(),
    load=LoadTotal(late=1, unstarted=2, backlog_max_ns=3),
    queue=QueueTotal(depth=32, registered=True, punted=True, punted_threads=4, submissions=5),
    errors=(EngineError(operation="read", code=84, count=6, path="/x", what="verify"),),
)


def test_what_is_kept_is_read_as_it_was_and_what_was_not_is_none():
    assert plain.from_plain(Client, plain.to_plain(FULL)) == FULL
    kept = plain.to_plain(FULL)
    for name in ("load", "queue", "errors"):
        del kept[name]
    assert plain.from_plain(Client, kept) == replace(FULL, load=None, queue=None, errors=())


FOLDER = next((Path(__file__).parent.parent / "fixtures" / "notebooks" / "schema-1").iterdir())
"""A notebook that Assay wrote before evidence, caches and drains were kept by host (commit dd07cbb)."""


def test_a_notebook_of_schema_1_is_read_and_all_of_it_is_of_local():
    asked, plan = read.read_plan(FOLDER)
    (event,) = asked.workloads[0].events
    assert event == Event(phase="fill", at_ns=5, on="local", action=Action.RUN, argv=("kill", "{server.pid}"))
    assert asked.workloads[0].knobs == {"cache": "unchanged", "ioengine": "psync"}
    assert {name for target in asked.targets for name in target.knobs} == {"drop_caches"}
    assert {factor.path for factor in asked.factors} == {"target", "spool.ioengine"}
    assert {path for trial in plan.trials for path in trial.levels} == {"target", "spool.ioengine"}
    found = read.scan(FOLDER)
    assert found.damaged == {}
    (run,) = found.runs
    (phase,) = run.phases
    assert phase.hosts == (
        PhaseHost(host="local", cache_proved=CacheState.WARM, cached_share_before=0.25, quiesce_ns=7, quiet=False, drain_ns=11),
    )
    assert phase.cache_asked is CacheState.UNCHANGED
    assert (phase.drain_ns, phase.quiet, phase.cache_proved) == (11, False, CacheState.WARM)
    (client,) = phase.clients
    assert client.role is Role.LOAD
    assert client.errors == (EngineError(operation="create", code=28, count=3, path="/x", space=ErrorSpace.ERRNO),)
    (place,) = run.places
    assert place.server == Server(nodes=(ServerNode(host="local", pid_file="/run/pid", data=("/d",), address="127.0.0.1"),))


def test_evidence_of_schema_1_is_of_local():
    seen = read.observations(FOLDER, "0001/1")
    assert seen.hosts == {"local"}
    assert set(seen.missing) == {
        Missing(host="local", phase=None, key="L9.flush", reason="no such counter"),
        Missing(host="local", phase="fill", key="cache.cold", reason="/t cannot be unmounted"),
        Missing(host="local", phase=None, key="other_processes.read_bytes", reason="not root"),
    }
    assert seen.gaps == (Gap(host="local", phase=None, observer="block", thousandths=1100),)
    assert {one.metric for one in seen.series} == {"create.count", "empty.count", "create.bucket_1000_ns", "cpu_ns"}
    assert {one.layer for one in seen.series} == {"application", "other_processes"}
    assert seen.longest_gaps() == {"block": 1100}


def test_tables_of_schema_1_have_the_words_of_today(tmp_path):
    words = {("other_processes", "cpu_ns"), ("application", "create.bucket_1000_ns"), ("application", "create.count")}
    assert words <= set(sql.query(FOLDER.parent, "SELECT DISTINCT layer, metric FROM series").rows)
    export.export([(FOLDER, read.results(FOLDER))], export.Format.CSV, tmp_path / "out", ["series"])
    with (tmp_path / "out" / "series.csv").open() as file:
        assert words <= {(row["layer"], row["metric"]) for row in csv.DictReader(file)}


def test_an_older_notebook_is_judged_and_takes_new_runs(tmp_path):
    folder = shutil.copytree(FOLDER, tmp_path / FOLDER.name)
    assert [judged.id for judged in results.judged_anew(folder).runs] == ["0001/1"]
    with Store.open(folder) as kept:
        kept.add(made.run(kept.plan.trials[1]), made.observations())
    assert len(read.scan(folder).runs) == 2
    assert read.observations(folder, layout.run_id(kept.plan.trials[1].id, 1)) == made.observations()
