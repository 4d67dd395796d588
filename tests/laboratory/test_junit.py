"""The JUnit file: its counts agree with its tests, what the gate refuses fails, and any text can be read back as XML."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from assay.cli.job import JobFiles
from assay.cli.results import audit
from assay.errors import AssayError
from assay.laboratory.gate import Gate, status
from assay.laboratory.junit import junit
from assay.laboratory.results import current
from assay.records import RequirementState, VerdictState
from stage import cli_notebook


@pytest.fixture
def lab(tmp_path):
    return cli_notebook.lab(tmp_path / "lab")


@pytest.fixture
def results(lab):
    return current(lab / cli_notebook.NAME)


def read(text):
    (suite,) = ET.fromstring(text)
    cases = {f"{one.get('classname')}: {one.get('name')}": one for one in suite}
    assert int(suite.get("tests")) == len(suite) == len(cases), "each has a name of its own"
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
    return {name: next((part.tag for part in one if part.tag != "system-out"), "passed") for name, one in cases.items()}


def test_each_figure_comparison_and_requirement_is_a_test(results):
    assert read(junit(results, Gate.OFF)) == {
        "assay.figures: spool create, operations per second at ext4": "passed",
        "assay.figures: spool create, operations per second at xfs": "passed",
        "assay.comparisons: spool create, operations per second, xfs against ext4": "passed",
        "assay.requirements: spool create, operations per second >= 900/s at ext4": "passed",
        "assay.requirements: spool create, operations per second >= 900/s at xfs": "passed",
    }
    assert "xfs is faster" in junit(results, Gate.OFF)


def test_what_the_gate_refuses_fails(results):
    tainted = replace(results.cells[0], verdict=VerdictState.TAINTED)
    unmet = replace(results.requirements[0], state=RequirementState.NOT_MET)
    found = replace(results, cells=(tainted, *results.cells[1:]), requirements=(unmet, *results.requirements[1:]))
    assert sorted(read(junit(found, Gate.ON)).values()).count("failure") == 2
    assert status(found, Gate.ON) == 3


def test_a_primary_measure_that_became_worse_fails_by_the_gate_for_changes(results):
    (one,) = results.comparisons
    worse = replace(one, ratio=replace(one.ratio, value=0.8, low=0.7, high=0.9))
    for found, ends, count in ((results, 0, 0), (replace(results, comparisons=(worse,)), 4, 1)):
        met = replace(found, requirements=())
        assert status(met, Gate.WORSE) == ends
        assert list(read(junit(met, Gate.WORSE)).values()).count("failure") == count


def test_what_is_undecided_is_skipped_and_fails_by_the_strict_gate(results):
    undecided = tuple(replace(one, state=RequirementState.UNDECIDED) for one in results.requirements)
    found = replace(results, requirements=undecided)
    states = [[*read(junit(found, gate)).values()][-2:] for gate in (Gate.ON, Gate.STRICT)]
    assert states == [["skipped", "skipped"], ["failure", "failure"]]


def test_a_figure_that_no_run_gave_is_skipped(results):
    bare = replace(results.cells[0], estimate=None, values={}, unfiltered=None, verdict=None)
    assert [*read(junit(replace(results, cells=(bare,), comparisons=(), requirements=()), Gate.ON)).values()] == ["skipped"]


def test_a_title_of_any_characters_is_read_back(results):
    title = "a\x00b\x1b[31m <&\"'> \u2028\ud800 ü"
    text = junit(replace(results, experiment=replace(results.experiment, title=title)), Gate.ON)
    (suite,) = ET.fromstring(text.encode())
    assert suite.get("name") == "a\ufffdb\ufffd[31m <&\"'> \u2028\ufffd ü"


def test_audit_writes_both_files_and_appends_the_summary(lab, tmp_path, capsys):
    job = JobFiles(junit=str(tmp_path / "j.xml"), summary=str(tmp_path / "s.md"))
    for _ in range(2):
        assert audit(lab, cli_notebook.NAME, json_to=None, gate=Gate.ON, job=job) == 0
    assert len(read((tmp_path / "j.xml").read_text())) == 5
    assert (tmp_path / "s.md").read_text().count("# A mail spool") == 2
    capsys.readouterr()


def test_a_file_that_cannot_be_written_says_how_to_get_it_again(results, tmp_path):
    with pytest.raises(AssayError, match=r"Is a directory.*assay audit"):
        JobFiles(junit=str(tmp_path)).write(results, Gate.ON)
