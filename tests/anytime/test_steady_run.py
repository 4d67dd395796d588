"""A limit that is switched in the middle of a real trial is a change point of it; where nobody switches it, the rate is steady.

The disk of the control of W03, for longer: the engine tells ten times a second how far it is. Its rate is that of its limit, so
this may run beside other tests; they may still hold it up for a moment, so a series that fails is repeated twice.
"""

import json
from pathlib import Path

import pytest

import assay.controls
from assay.experiment import read
from assay.selftest.control import obstacle
from stage.assay_process import Bench

CONTROL = Path(assay.controls.__file__).parent / "burst_credit.toml"
MEASURE = "w.random_read.ops_per_s"
SWITCHED_S = 1.3


def course(bench, lab, run):
    done = bench.run("show", run, "--lab", lab, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["courses"][MEASURE]


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The courses of the twin and of the trial in which the limit was switched, and the folder of the lab."""
    control = read.control(CONTROL)
    if (why := obstacle(control.needs)) is not None:
        pytest.skip(why)
    bench = Bench(tmp_path_factory.mktemp("switched"))
    text = CONTROL.read_text().partition("[control]")[0]
    for was, now in (
        ('duration = "2400 ms"', 'duration = "2600 ms"\nquiesce = "0 s"'),
        ('at = "900 ms"', f'at = "{SWITCHED_S * 1000:.0f} ms"'),
        ("repeats = 1", 'repeats = 1\nobservers = ["block"]'),
    ):
        assert was in text
        text = text.replace(was, now)
    (bench.home / "switched.toml").write_text(text)
    for attempt in range(3):
        lab = f"lab-{attempt}"
        done = bench.run("run", bench.home / "switched.toml", "--lab", lab)
        assert done.returncode == 0, done.stderr
        query = "SELECT levels->>'disk.variables.credit' AS credit, run FROM runs"
        found = json.loads(bench.run("sql", query, "--lab", lab, "--json").stdout)
        runs = {row["credit"]: row["run"] for row in found["rows"]}
        told = {credit: course(bench, lab, run) for credit, run in runs.items()}
        if told["no"]["state"] != "not steady":
            break
    return told, bench.home / lab


def test_the_switch_is_found_when_it_was(ran):
    told, _ = ran
    found = told["yes"]
    assert found["state"] == "not steady"
    point = max(found["changes"], key=lambda one: one["before"] - one["after"])
    assert (point["at_ns"] - found["start_ns"]) / 1e9 == pytest.approx(SWITCHED_S, abs=0.3)
    assert point["after"] < 0.5 * point["before"]
    assert "not steady: falls by " in found["statement"]


def test_without_a_switch_nothing_changes(ran):
    """Whether two seconds and a half are enough to call it steady hangs on how often the engine was held up."""
    told, _ = ran
    found = told["no"]
    assert found["state"] in ("steady", "unknown")
    assert (found["changes"], found["drift_share"]) == ([], None)
    assert 0 < found["mean"]["value"] < 440, "its limit is 400"


def test_the_report_says_so_and_marks_the_moment(ran):
    _, lab = ran
    (page,) = lab.glob("*/report.html")
    text = page.read_text()
    assert '<section id="steady">' in text
    assert "not steady</td>" in text
    assert "At a dotted line the level of a measure changes." in text
