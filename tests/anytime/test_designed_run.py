"""A designed experiment that really runs, on figures that are known beforehand: how many records a worker must write.

Counts hang on no clock: a quarter of the records are four times as large, and two workers write twice as many.
"""

import json

import pytest

from stage.assay_process import Bench

DESIGNED = """
title = "How many records are written?"
question = "What decides how many records there are?"
design = "fractional"
repeats = 3
observers = []

[targets.here]
kind = "directory"
path = "PATH"

[workloads.store]
kind = "bulk_io"
operations = ["write"]
size = "256 KiB"
quiesce = "0 s"

[factors]
"store.record_size" = ["16 KiB", "64 KiB"]
"store.workers" = [1, 2]
"store.flush" = ["none", "end"]

[factors."store.compressible"]
levels = [2, 1]
baseline = 1

[measures]
"store.write.count" = {}
"""
CHART = "tornado-store.write.count"


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench(tmp_path_factory.mktemp("designed"))


@pytest.fixture(scope="module")
def results(bench):
    home = bench.home
    (home / "here").mkdir()
    (home / "x.toml").write_text(DESIGNED.replace("PATH", str(home / "here")))
    done = bench.run("run", home / "x.toml", "--lab", "lab", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_half_of_the_combinations_ran_in_every_block(results):
    levels = [tuple(run["run"]["trial"]["levels"].values()) for run in results["runs"]]
    assert len(levels) == 24
    assert len(set(levels)) == 8


def test_the_known_effects_come_out_exactly(results):
    (one,) = results["sensitivity"]
    found = {tuple(step["factor"] for step in effect["steps"]): effect for effect in one["effects"]}
    known = {"store.record_size": 0.25, "store.workers": 2.0, "store.flush": 1.0, "store.compressible": 1.0}
    for factor, ratio in known.items():
        assert found[factor,]["ratio"]["value"] == pytest.approx(ratio)
    assert all(effect["ratio"]["value"] == pytest.approx(1.0) for steps, effect in found.items() if len(steps) == 2)
    said = one["statement"]
    assert said.startswith(
        "store.write.count: store.record_size matters most: -75.0 % (-75.0 to -75.0) with 64 KiB instead of 16 KiB"
    )
    assert "store.workers too: 2 times (2 to 2) with 2 instead of 1" in said


def test_compare_sql_and_chart_show_the_same(bench, results):
    told = json.loads(bench.run("compare", "--lab", "lab", "--json").stdout)
    assert told["sensitivity"] == results["sensitivity"]
    query = "SELECT factors, ratio FROM effects WHERE conclusion = 'different and matters' ORDER BY ratio"
    rows = bench.run("sql", query, "--lab", "lab").stdout
    assert rows.index("store.record_size") < rows.index("store.workers")
    pytest.importorskip("vl_convert")
    done = bench.run("report", "--lab", "lab", "--chart", CHART, "--out", "t.svg")
    assert done.returncode == 0, done.stderr
    assert "store.record_size" in (bench.home / "t.svg").read_text()
