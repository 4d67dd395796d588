"""The benchmarks still run with today's records: what is dear in them is not measured here."""

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


@pytest.mark.parametrize("name", sorted(path.stem for path in BENCHMARKS.glob("*.py")))
def test_every_benchmark_can_be_imported(name):
    sys.modules.pop(name, None)
    __import__(name)
