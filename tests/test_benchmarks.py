"""The benchmarks still run with today's records: what is dear in them is not measured here."""

import os
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_the_large_notebook_is_made_and_read(tmp_path):
    import large_notebook

    from assay.audit import judge
    from assay.notebook import read

    trials = large_notebook.make(tmp_path / "lab", 1)
    (folder,) = (path.parent for path in (tmp_path / "lab").glob("*/plan.json"))
    results = read.results(folder, judge.ruleset())
    assert trials == len(results.runs) == 10
    assert all(judged.verdicts for judged in results.runs), "else every call would judge them again"
    assert results.cells


def test_every_benchmark_can_be_imported():
    for path in sorted(BENCHMARKS.glob("*.py")):
        sys.modules.pop(path.stem, None)
        __import__(path.stem)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and throttles need root")
def test_a_neighbour_on_the_cpu_is_named_where_it_harms_and_not_at_a_declared_limit(tmp_path):
    """The short form of the matrix: a busy CPU beside a throttled disk, and beside reads from memory on that very CPU."""
    import noise_matrix

    found = noise_matrix.run(tmp_path, "CPU of the load")
    assert found["slow.read.bytes_per_s"][1] == []
    assert "N02" in found["cached.random_read.ops_per_s"][1]
