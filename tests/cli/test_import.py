"""Finished results of other tools in a notebook: recognised by content, compared and drawn as own runs, never SOUND."""

import contextlib
import functools
import json
import os
import shutil

import pytest

from assay import catalogue
from assay.errors import EvidenceError
from assay.records import Direction
from assay.watch import imported
from assay.watch.claims import direction_of
from stage.parser_cases import OUTPUT, RECORDED, recorded

OWN_NAMES = {"time_output": ("time", "bash", "slapadd-2.5.13-time"), "rados_bench": "rados"}


@functools.cache
def understood():
    """Recorded output -> the parser that an import takes."""
    found = {}
    for name in RECORDED:
        with contextlib.suppress(EvidenceError):
            found[name] = imported.recognised(recorded(name)).tool
    return found


def put(bench, recording, name):
    shutil.copy(OUTPUT / recording, bench.home / name)
    return name


def rows(bench, query):
    return json.loads(bench.run("sql", query, "--json").stdout)["rows"]


def test_recorded_outputs_are_of_their_own_tools():
    assert {
        name: tool for name, tool in understood().items() if not name.startswith(OWN_NAMES.get(tool, tool.partition("_")[0]))
    } == {}
    assert set(understood().values()) >= set(catalogue.names("parsers")) - {"time_output"}
    with pytest.raises(EvidenceError, match=r"may be of dd or hdparm; expected --format with one"):
        imported.recognised(recorded("dd-9.1-write.txt") + recorded("hdparm-9.65-tT.txt"))
    assert {direction_of(name) for name in ("transaction", "request_set", "response", "iteration")} == {Direction.REQUEST}
    assert direction_of("readrandom") is Direction.READ


def test_results_of_two_tools_are_two_arms_and_unverified(bench):
    files = (put(bench, "fio-3.33-randread.json", "result.json"), put(bench, "ior-4.1.0-dev-posix.txt", "other"))
    done = bench.run("import", *files)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 results kept in lab/imported-")
    assert "fio_json" in done.stdout
    assert "ior" in done.stdout
    assert "Not compared, since not every result tells it: write." in done.stdout
    found = rows(bench, "SELECT measure, state, value FROM verdicts WHERE run IS NOT NULL ORDER BY ALL")
    assert {row["state"] for row in found if row["value"] is not None} == {"UNVERIFIED"}
    shown = bench.run("show", "0001/1").stdout
    assert "Nobody watched the run: the figures were imported from result.json." in shown
    compared = json.loads(bench.run("compare", "--json").stdout)
    (one,) = [one for one in compared["comparisons"] if one["measure"] == "stat.read.bytes_per_s"]
    assert one["ratio"]["value"] == pytest.approx(1.79e9 / 71.1e6, rel=0.01)
    page = bench.run("report", "--out", "-")
    assert page.returncode == 0, page.stderr
    assert "other" in page.stdout


def test_files_of_one_name_are_repeats_of_one_arm(bench):
    text = recorded("fio-3.33-randread.json")
    for number in range(3):
        (bench.home / f"{number}.json").write_text(text.replace('"bw_bytes" : 71', f'"bw_bytes" : 7{number}'))
    done = bench.run("import", "old=0.json", "old=1.json", "new=2.json", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["schema"], [one["arm"] for one in found["runs"]]) == ("assay.import/1", ["old", "old", "new"])
    assert [one["tool"] for one in found["runs"]] == ["fio_json"] * 3
    assert found["runs"][0]["values"]["read.count"] > 0


def test_several_results_in_a_file_are_several_runs(bench):
    (bench.home / "dd.log").write_text("".join(recorded(name) for name in ("dd-9.1-write.txt", "dd-9.1-read.txt")) * 2)
    (bench.home / "both.log").write_text(recorded("dd-9.1-write.txt") + recorded("hdparm-9.65-tT.txt"))
    done = bench.run("import", "dd.log", "both.log", "--json")
    assert done.returncode == 0, done.stderr
    found = [(one["arm"], one["tool"], one["file"]) for one in json.loads(done.stdout)["runs"]]
    assert found[:4] == [("dd.log", "dd", f"dd.log ({number} of 4)") for number in (1, 2, 3, 4)]
    assert sorted(found[4:]) == [("both.log#1", "dd", "both.log (1 of 2)"), ("both.log#2", "hdparm", "both.log (2 of 2)")]
    rates = [one["values"]["read.bytes_per_s"] for one in json.loads(done.stdout)["runs"]]
    assert rates[0] == rates[2] != rates[1] == rates[3]


def test_reports_of_one_call_that_grow_are_one_run_and_said():
    report = json.loads(recorded("fio-3.33-randread.json"))
    early = json.loads(json.dumps(report))
    for job in early["jobs"]:
        side = job["read"]
        side.update(io_bytes=side["io_bytes"] // 2, total_ios=side["total_ios"] // 2, runtime=side["runtime"] // 2)
    runs, left_out = imported.all_runs("\n".join(json.dumps(one, indent=1) for one in (early, report)) + "\n")
    assert (len(runs), left_out) == (1, ("1 earlier reports of the same call",))
    runs, left_out = imported.all_runs("\n".join(json.dumps(one, indent=1) for one in (report, report)) + "\n")
    assert (len(runs), left_out) == (2, ())


def test_files_of_one_name_in_different_folders_are_arms_and_show_has_all_figures(bench):
    for folder, change in (("ext4", "71"), ("xfs", "72")):
        (bench.home / folder).mkdir()
        text = recorded("fio-3.33-randread.json").replace('"bw_bytes" : 71', f'"bw_bytes" : {change}')
        (bench.home / folder / "result.json").write_text(text)
    done = bench.run("import", "ext4/result.json", "xfs/result.json", "--json")
    assert [one["arm"] for one in json.loads(done.stdout)["runs"]] == ["ext4/result.json", "xfs/result.json"]
    shown = bench.run("show", "1").stdout
    assert "latency_p99_ns" in shown
    assert "103 µs" in shown


def test_what_is_no_result_is_refused_with_all_reasons_and_nothing_is_kept(bench):
    put(bench, "fio-3.33-randread.json", "good.json")
    (bench.home / "empty").write_text("")
    (bench.home / "letter").write_text("Dear reader,\nthis is a letter.\n")
    (bench.home / "binary").write_bytes(bytes(range(256)))
    (bench.home / "cut.json").write_text(recorded("fio-3.33-randread.json")[:900])
    (bench.home / "sock").write_text("sockperf: == version #3.7 ==\n")
    (bench.home / "none.json").write_text('{"fio version": "fio-3.33", "jobs": []}')
    done = bench.run("import", "good.json", "empty", "letter", "binary", "cut.json", "none.json", "sock", "missing", ".")
    assert done.returncode == 1
    for words in (
        "empty: found an empty file; expected the output of one of: ab, bonnie, crystaldiskmark,",
        "letter: found 2 lines of no known tool, the first 'Dear reader,'",
        "binary: found binary data",
        "cut.json: fio_json: found 900 characters without a complete last report of fio",
        "none.json: fio_json: found 39 characters of output without a complete result; expected a complete last report",
        "sock: found a result of sockperf, which is not read yet",
        "missing: not read (No such file or directory)",
        ".: not read (Is a directory)",
    ):
        assert words in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert not (bench.home / "lab").exists()


def test_what_has_no_end_is_not_read_to_it_and_a_time_that_no_calendar_has_costs_no_result(bench):
    """/dev/zero has no size: it was read until the memory was full."""
    done = bench.run("import", "/dev/zero")
    assert (done.returncode, "/dev/zero: found more than 64 MiB" in done.stderr) == (1, True)
    put(bench, "fio-3.33-randread.json", "a.json")
    for lab, mtime in (("late", 1e13), ("early", -1e13)):
        with contextlib.suppress(OSError):  # a file system may have no such time
            os.utime(bench.home / "a.json", (mtime, mtime))
        done = bench.run("import", "a.json", "--lab", lab)
        assert done.returncode == 0, done.stderr


def test_a_name_of_any_bytes_is_taken(bench):
    name = os.fsdecode(b"r\xff\n[x]\x1b.json")
    put(bench, "fio-3.33-randread.json", name)
    done = bench.run("import", name)
    assert done.returncode == 0, done.stderr
    (folder,) = (bench.home / "lab").iterdir()
    assert (folder / "experiment.toml").read_text() == "# assay import r??[x]?.json\n"
    assert bench.run("list", "--runs").returncode == 0


def test_mistakes_of_the_call_come_at_once(bench):
    put(bench, "fio-3.33-randread.json", "a.json")
    done = bench.run("import", "a.json", "--format", "fioo", "--claim", "tier=moon")
    assert done.returncode == 2
    assert "--format fioo" in done.stderr
    assert "'moon'" in done.stderr


def test_the_same_results_again_are_refused(bench):
    put(bench, "fio-3.33-randread.json", "a.json")
    assert bench.run("import", "a.json").returncode == 0
    again = bench.run("import", "a.json")
    assert again.returncode == 2
    assert "--beside that experiment for repeats" in again.stderr
    beside = bench.run("import", "a.json", "--beside", "imported")
    assert beside.returncode == 1
    assert "a.json: found the figures of 0001/1; expected another result" in beside.stderr
    assert len(rows(bench, "SELECT * FROM runs")) == 1


def test_an_imported_run_stands_beside_an_own_one_in_one_report(bench):
    if shutil.which("fio") is None:
        pytest.skip("needs fio")
    job = ("--name=a", "--rw=randread", "--bs=4k", "--size=1m", "--filename=data", "--output-format=json", "--output=own.json")
    own = bench.run("stat", "--save=lab", "--", "fio", *job)
    assert own.returncode == 0, own.stderr
    put(bench, "fio-3.33-randread.json", "theirs.json")
    done = bench.run("import", "theirs=theirs.json", "--beside", "fio")
    assert done.returncode == 0, done.stderr
    states = rows(bench, "SELECT run, state FROM verdicts WHERE run IS NOT NULL ORDER BY run")
    assert states[1]["state"] == "UNVERIFIED"
    assert len(states) == 2
    compared = json.loads(bench.run("compare", "--json").stdout)
    assert [one["measure"] for one in compared["comparisons"]] == ["stat.read.bytes_per_s"]
    page = bench.run("report", "--out", "-")
    assert page.returncode == 0, page.stderr
    assert "imported" in page.stdout
    assert "theirs" in page.stdout
    assert "--rw=randread" in page.stdout


def test_what_tells_none_of_its_measures_does_not_stand_beside(bench):
    put(bench, "fio-3.33-randread.json", "a.json")
    put(bench, "slapadd-2.5.13-seconds.txt", "b")
    assert bench.run("import", "a.json").returncode == 0
    done = bench.run("import", "b", "--beside", "imported")
    assert done.returncode == 1
    assert "expected one of: read.bytes_per_s" in done.stderr


def test_an_experiment_of_a_file_takes_no_imported_runs(bench):
    (bench.home / "e.toml").write_text(
        'title = "Own"\nquestion = "?"\nrepeats = 1\n[targets.here]\nkind = "directory"\npath = "."\n'
        '[workloads.w]\nkind = "null"\nops = 1000\n[measures]\n"w.null.ops_per_s" = {}\n'
    )
    assert bench.run("run", "e.toml", "--progress", "none").returncode == 0
    put(bench, "fio-3.33-randread.json", "a.json")
    done = bench.run("import", "a.json", "--beside", "own")
    assert done.returncode == 2
    assert "an experiment of a file; expected one that `assay stat --save` or `assay import` kept" in done.stderr


def test_a_result_of_each_tool_can_be_kept(bench):
    firsts = {tool: name for name, tool in reversed(understood().items())}
    done = bench.run("import", *(f"{tool}={put(bench, name, name)}" for tool, name in firsts.items()))
    assert done.returncode == 0, done.stderr
    states = rows(bench, "SELECT DISTINCT state FROM verdicts WHERE run IS NOT NULL")
    assert {row["state"] for row in states} <= {"UNVERIFIED", "INVALID", "TAINTED"}, "never SOUND"
