"""The main job without a file, as root and as an ordinary user: what comes out, and what the lab itself costs."""

import json
import os
import resource
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from stage.assay_process import COMMAND, Bench, as_nobody
from stage.own_disk import AS_A_DISK, ahead, own_disk

RUNS = 5
MOST_OWN_CPU_S = 6.0
MOST_HELP_CPU_S = 0.3
MOST_REPORT_BYTES = 2_000_000
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
GOOD = {"SOUND", "BOUNDED"}
READS = ("stream.read.bytes_per_s", "again.read.bytes_per_s", "random.random_read.ops_per_s")
WRITES = ("stream.write.bytes_per_s", "commit.random_write.ops_per_s")
NOISE = {"N01", "N02", "N03", "W07"}
"""Rules that say what others did to this machine meanwhile."""


@dataclass(frozen=True)
class Quick:
    """One call of `assay quick --json` and the same results as a table."""

    status: int
    document: dict
    complaint: str
    table: str
    own_cpu_s: float
    report_bytes: int
    file_system: str


def measured(bench):
    """Call it, and read what the process itself cost before it is reaped: without its engines."""
    out, complaint = bench.home / "out.json", bench.home / "complaint"
    with out.open("w") as stdout, complaint.open("w") as stderr, ahead():
        command = [*COMMAND[:-1], f"{AS_A_DISK}; {COMMAND[-1]}", "quick", "--json"]
        process = subprocess.Popen(
            [*bench.through, *command], cwd=bench.home, env=bench.environment(), stdout=stdout, stderr=stderr
        )
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        status = process.wait()
    assert status == 0, complaint.read_text()
    (report,) = bench.home.glob("lab/*/report.html")
    return Quick(
        status=status,
        document=json.loads(out.read_text()),
        complaint=complaint.read_text(),
        table=bench.run("audit").stdout,
        own_cpu_s=(int(fields[11]) + int(fields[12])) / TICKS_PER_S,
        report_bytes=report.stat().st_size,
        file_system=file_system(bench.home),
    )


@pytest.fixture(scope="module", params=["root", pytest.param("ordinary user", marks=pytest.mark.long)])
def quick(request, tmp_path_factory):
    """An experiment of an ordinary user runs from the wheel in every `make test` (test_wheel.py)."""
    if request.param == "root":
        with own_disk(tmp_path_factory.mktemp("quick")) as home:
            bench = Bench(home)
            yield measured(bench)
            assert bench.traces() in ([], [str(home)])
    elif os.geteuid() == 0:
        with as_nobody() as bench:
            yield measured(bench)
            assert bench.traces() == []
    else:
        pytest.skip("the other test is the ordinary user's already")


@pytest.mark.slow
def test_it_says_nothing_beside_one_document(quick):
    assert quick.status == 0
    assert all(line.startswith("trial ") for line in quick.complaint.splitlines()), "progress alone, a line every 10 s"
    assert {"experiment", "plan", "runs", "cells"} <= set(quick.document)


@pytest.mark.slow
def test_every_trial_is_measured(quick):
    last = {run["run"]["trial"]["id"]: run["run"]["outcome"] for run in quick.document["runs"]}
    assert len(last) == RUNS
    assert set(last.values()) == {"finished"}


@pytest.mark.slow
def test_every_line_has_value_unit_interval_tier_and_verdict(quick):
    lines = list(table_lines(quick.table))
    assert [line[1] for line in lines] == list(names(quick.document))
    for state, measure, value, interval, tier in lines:
        assert state in {*GOOD, "TAINTED", "INVALID", "UNVERIFIED"}, measure
        number, unit = value.rsplit(" ", 1) if " " in value else (value.removesuffix("/s"), "/s")
        assert float(number.replace(",", "")) > 0, measure
        assert unit in {"/s", "B/s", "kB/s", "MB/s", "GB/s", "ns", "µs", "us", "ms", "s"}, measure
        assert "n = " in interval, measure
        assert tier.removeprefix("not ").removesuffix("?") in {"device", "client-cache", "as-is"}, measure


def names(document):
    return dict.fromkeys(cell["measure"] for cell in document["cells"])


def table_lines(text):
    """The lines of the table of measures: verdict, measure, value, interval, tier."""
    header, *rest = text[text.index("verdict") :].split("\n\n")[0].splitlines()
    starts = [header.index(word) for word in ("verdict", "measure", "at ", "95 %", "tier")]
    for line in rest:
        if not line.startswith(" "):
            verdict, measure = line[: starts[1]].strip(), line[starts[1] : starts[2]].strip()
            value, interval = line[starts[2] : starts[3]].strip(), line[starts[3] : starts[4]].strip()
            yield verdict, measure, value, interval, line[starts[4] :].strip()


def states(document, measures):
    """Measure -> the states of its verdicts, and the rules that doubt them."""
    found = {}
    for measure in measures:
        verdicts = [run["verdicts"][measure] for run in document["runs"] if measure in run["verdicts"]]
        doubts = {
            finding["rule"]
            for verdict in verdicts
            for finding in verdict["findings"]
            if finding["state"] == "fail" and finding["severity"] != "notes"
        }
        found[measure] = ({verdict["state"] for verdict in verdicts}, doubts)
    return found


def file_system(path):
    return subprocess.run(
        ["stat", "--file-system", "--format=%T", str(path)], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("measures", [READS, WRITES], ids=["read", "write"])
def test_on_ext4_a_line_of_each_direction_is_worth_its_name(quick, measures):
    if quick.file_system != "ext2/ext3":
        pytest.skip(f"measured on no ext4 but on {quick.file_system}")
    found = states(quick.document, measures)
    if any(seen <= GOOD for seen, _ in found.values()):
        return
    noisy = {measure: doubts & NOISE for measure, (_, doubts) in found.items() if doubts & NOISE}
    assert set(noisy) == set(found), "a line that nobody disturbed is not sound"
    pytest.skip(f"others disturbed every line: {noisy}")


@pytest.mark.slow
def test_the_report_is_small(quick):
    assert 0 < quick.report_bytes < MOST_REPORT_BYTES


@pytest.mark.slow
@pytest.mark.long
def test_the_lab_itself_costs_little(quick):
    """A run that only noise spoiled is done again, and costs again: what is held is the cost of five runs."""
    assert quick.own_cpu_s * RUNS / len(quick.document["runs"]) < MOST_OWN_CPU_S


@pytest.mark.long
def test_help_answers_at_once():
    """The least of five, for whoever else computes here makes the others dearer."""
    costs = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*COMMAND, "--help"], stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(costs) < MOST_HELP_CPU_S
