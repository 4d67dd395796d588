"""A notebook from Python: the page's example runs, arrays hold what the records say, and importing costs nothing."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import assay
from assay.errors import UsageError
from assay.notebook import read
from assay.records import Exclusion, ExclusionReason, Outcome
from stage import cli_notebook
from stage import notebook_records as made
from stage.rows import each

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return cli_notebook.lab(tmp_path_factory.mktemp("lab") / "lab")


@pytest.fixture(scope="module")
def lab(folder):
    return assay.open(folder, "a-mail")


def test_the_example_of_the_page_runs(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder.parent)
    example = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[-1]
    exec(compile(example, str(PAGE), "exec"), {})
    said = capsys.readouterr().out
    assert "A mail spool of 2 experiments, 11 runs" in said
    assert "1502.8 1/s from 5 runs" in said
    assert "0.1 ms 1500 operations" in said
    assert "Label(" not in said


def test_a_measure_is_an_array_of_the_runs_that_count(lab):
    both = lab.measure(made.RATE)
    assert both.values.dtype == np.float64
    assert len(both.values) == len(both.runs) == len(both.levels) == len(both.verdicts) == 10
    assert both.unit == "1/s"
    by_run = {one.id: one.verdicts[made.RATE].value for one in lab.runs if one.verdicts}
    assert dict(zip(both.runs, both.values.tolist(), strict=True)) == by_run
    assert both.excluded == {
        "0001/2": Exclusion(reason=ExclusionReason.OUTCOME, outcome=Outcome.INTERRUPTED, error="the load failed")
    }
    slow = lab.measure(made.RATE, levels={"target": "ext4"})
    assert {at["target"] for at in slow.levels} == {"ext4"}
    assert np.array_equal(np.sort(slow.values), np.array([1000.0, 1001.0, 1002.0, 1003.0, 1004.0]))
    assert lab.verdicts(made.RATE)["0001/1"] is next(one for one in lab.runs if one.id == "0001/1").verdicts[made.RATE]


def test_evidence_comes_as_arrays_that_cannot_be_changed(lab):
    (points,) = lab.series("0001/1", "create.count", subject="client:0")
    assert points.at_ns.dtype == np.int64
    assert (points.at_ns.tolist(), points.value.tolist()) == ([0, 500, 1000], [0.0, 500.0, 1000.0])
    assert points.record.layer == "application"
    latencies = lab.histogram("0001/1", "create")
    assert (latencies.phase, latencies.count.sum()) == ("fill", 1500)
    assert [latencies.percentile(share) for share in (0.5, 1.0)] == [1e5, 2e5]
    for array in (points.at_ns, points.value, latencies.count):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    assert lab.evidence("0001/1").why_missing("L9.flush") == "no such counter"
    assert lab.evidence("0001/1", "local") == lab.evidence("0001/1")
    with pytest.raises(UsageError, match="found host elsewhere; expected some of: local"):
        lab.evidence("0001/1", "elsewhere")


def test_answers_are_those_of_the_notebook_and_a_measure_without_runs_has_its_unit(folder, lab):
    stored = read.results(lab.folder)
    assert lab.comparisons == stored.comparisons
    assert lab.results.requirements == stored.requirements
    assert lab.experiments == tuple(one.name for one in read.folders(folder))
    told = tuple(replace(one, estimate=None, unfiltered=one.estimate, values={}) for one in lab.results.cells)
    none = replace(lab, results=replace(lab.results, cells=told)).measure(made.RATE)
    assert (none.values.tolist(), none.unit) == ([], "1/s")


@each(
    "ask told",
    (lambda lab: lab.measure("nonsense"), "found measure 'nonsense'; expected one of: spool.create"),
    (lambda lab: lab.verdicts("nonsense"), "found measure 'nonsense'"),
    (lambda lab: lab.measure(made.RATE, {"target": "zfs"}), "found target = 'zfs'; expected one of: 'ext4', 'xfs'$"),
    (lambda lab: lab.measure(made.RATE, {"clients": 7}), "found factor 'clients'; expected one of: target$"),
    (lambda lab: lab.series("0001/1", "create.count", client="0"), "found client; expected some of: phase, source, layer"),
    (lambda lab: lab.series("0001/1", "nonsense"), "found no series 'nonsense' in run 0001/1; expected one of: create.count"),
    (lambda lab: lab.series("0001/1", "create.count", subject="client:9"), "client:9"),
    (lambda lab: lab.histogram("0001/1", "read"), "expected one of: create in fill"),
    (lambda lab: lab.evidence("0099/1"), "no run 0099/1"),
    (lambda lab: assay.open(lab.folder.parent, "no-such"), "expected one of: a-mail"),
    (lambda lab: assay.open(lab.folder.parent / "no-such"), "no notebook"),
)
def test_wrong_names_are_told_with_what_there_is(lab, ask, told):
    with pytest.raises(UsageError, match=told):
        ask(lab)


def test_to_import_it_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import assay; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=path())
    assert done.stdout.strip() in ("['__future__', 'assay']", "['assay']")


def path() -> dict[str, str]:
    return {"PYTHONPATH": str(Path(assay.__file__).parents[1])}
