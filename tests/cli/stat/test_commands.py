"""`assay stat` with several commands: their order, what prepares them, a scanned parameter, the table, and hyperfine's word."""

import csv
import json
import re
import shutil
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.cli.stat import options
from assay.cli.stat.commands import order
from assay.errors import InputErrors

DOCS = Path(__file__).parents[3] / "docs"


def commands(*words):
    return [(one.argv, one.label) for one in options.read(list(words)).commands]


def table(bench, *words):
    """The rows of the table that a call exports, and the call."""
    done = bench.run("stat", "--export=table.csv", *words)
    assert done.returncode == 0, done.stderr
    with (bench.home / "table.csv").open(newline="") as file:
        return list(csv.DictReader(file)), done


@given(st.integers(2, 12))
def test_each_command_is_at_each_place_and_behind_each_other_equally_often(count):
    rows = [list(order(count, number)) for number in range(count * (1 + count % 2))]
    assert {tuple(sorted(row)) for row in rows} == {tuple(range(count))}
    assert len(set(Counter((at, one) for row in rows for at, one in enumerate(row)).values())) == 1
    behind = Counter(pair for row in rows for pair in pairwise(row))
    assert len(behind) == count * (count - 1)
    assert len(set(behind.values())) == 1


def test_two_commands_take_turns_at_being_first():
    assert [list(order(2, number)) for number in range(3)] == [[0, 1], [1, 0], [0, 1]]


def test_a_parameter_stands_for_each_of_its_values():
    found = commands("--parameter-scan", "n=1,2", "--", "dd", "bs={n}M", "count={n}")
    assert found == [(("dd", "bs=1M", "count=1"), "n=1"), (("dd", "bs=2M", "count=2"), "n=2")]
    assert [label for _, label in commands("--parameter-scan=n=2..4", "--", "echo", "{n}")] == ["n=2", "n=3", "n=4"]
    assert options.read(["--parameter-scan=n=2..4", "--", "echo", "{n}"]).repeat == 5


def test_every_mistake_is_named_at_once_and_a_scan_that_is_none_is_refused(subtests):
    words = ["--parameter-scan=n=1", "--vs=", "--prepare= ", "--warmup=-1", "--export=t.pdf", "--", "true"]
    with pytest.raises(InputErrors) as caught:
        options.read(words)
    wanted = ("n=1; expected NAME=FIRST", "empty --vs", "empty --prepare", "--warmup -1", "t.pdf; expected")
    assert [part for part in wanted if part not in str(caught.value)] == []
    for scan, said in (
        ("n=1,1", "a value twice"),
        ("n=1,2", "no {n} in the command"),
        ("2=1,2", "expected NAME="),
        ("n=1..500", "at most 100"),
        ("n=1..9999999999999999999", "expected NAME="),
    ):
        with subtests.test(scan=scan), pytest.raises(InputErrors, match=re.escape(said)):
            options.read(["--parameter-scan", scan, "--", "true" if "n=1,2" in scan else "{n}"])


def test_all_commands_are_compared_with_the_first_and_documented(bench):
    words = ("--json=told.json", "--repeat=3", "--vs", "sleep 2", "--vs", "sleep 0.3", "--", "sleep", "0.3")
    rows, done = table(bench, *words)
    told = json.loads((bench.home / "told.json").read_text())
    schema = json.loads((DOCS / "stat-json.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(told)
    slow, same = told["comparison"]
    assert (slow["name"], slow["measure"], slow["conclusion"]) == ("sleep 2", "elapsed_ns", "different and matters")
    assert slow["ratio"] > 2
    assert slow["together"] == same["together"] == 2
    assert [one["repeats"]["n"] for one in (told, *told["others"])] == [3, 3, 3]
    assert [row["command"] for row in rows] == ["sleep 0.3", "sleep 2", "sleep 0.3"]
    assert float(rows[1]["ratio"]) == slow["ratio"]
    shown = re.search(r"^  vs         sleep 2: elapsed ([0-9.]+) times that of sleep 0.3", done.stderr, re.MULTILINE)
    assert float(shown[1]) == pytest.approx(slow["ratio"], rel=0.02)


def test_a_command_against_itself_is_compared_and_runs_that_ended_badly_are_named(bench):
    done = bench.run("stat", "--json=told.json", "--repeat=2", "--vs", "sleep 0.01", "--", "sleep", "0.01")
    told = json.loads((bench.home / "told.json").read_text())
    assert (told["repeats"]["n"], told["others"][0]["repeats"]["n"], told["comparison"][0]["pairs"]) == (2, 2, 2)
    assert re.findall(r"run (\d of \d):", done.stderr) == ["1 of 2", "1 of 2", "2 of 2", "2 of 2"]
    done = bench.run("stat", "--repeat=2", "--vs", "false", "--", "true")
    assert done.stderr.count("status 1 (false)") == 2
    assert re.search(r"failed +2 of 2 runs", done.stderr)


def test_each_run_is_prepared_also_those_that_warm_up(bench):
    words = ("--repeat=2", "--warmup=1", "--prepare", "echo {n} >> prepared; rm -f made", "--parameter-scan=n=1,2")
    rows, done = table(bench, *words, "--", "sh", "-c", "set -C; echo {n} > made; sleep 0.02")
    assert sorted((bench.home / "prepared").read_text().split()) == ["1", "1", "1", "2", "2", "2"]
    assert re.findall(r"warm-up (\d of \d) \((n=\d)\)", done.stderr) == [("1 of 1", "n=2"), ("1 of 1", "n=1")]
    assert [(row["command"], row["runs"]) for row in rows] == [("n=1", "2"), ("n=2", "2")]


def test_one_run_is_prepared_too_and_not_without_its_preparation(bench):
    assert bench.run("stat", "--prepare", "echo x > made", "--", "cat", "made").stdout == "x\n"
    done = bench.run("stat", "--prepare", "echo no room >&2; exit 3", "--", "touch", "begun")
    assert done.returncode == 125
    assert "status 3: no room" in " ".join(done.stderr.split())
    assert not (bench.home / "begun").exists()


def test_the_table_is_for_people_too(bench):
    done = bench.run("stat", "--export=table.md", "--repeat=3", "--vs", "sleep 0.2 | cat", "--", "sleep", "0.1")
    assert done.returncode == 0, done.stderr
    (said,) = re.findall(r"^assay: (sleep 0\.1: .*)", done.stderr, re.MULTILINE)
    assert re.fullmatch(
        r"sleep 0\.1: 1\d\d ms; sleep 0\.2 \| cat: \d+ ms \(elapsed, 3 runs each\);"
        r" sleep 0\.1 is faster, 0\.[4-6]\d* times .* sleep 0\.2 \| cat .*",
        said,
    )
    heads, _, first, second = (bench.home / "table.md").read_text().splitlines()
    assert heads.startswith("| command | measure | runs | mean | 95 % interval |")
    mean = re.match(r"\| `sleep 0.1` \| elapsed \| 3 \| ([0-9.]+) (m?s) \| ", first)
    assert float(mean[1]) * {"ms": 1e-3, "s": 1}[mean[2]] >= 0.1
    assert r"sleep 0.2 \| cat" in second


@pytest.mark.skipif(shutil.which("hyperfine") is None, reason="hyperfine is not installed (package hyperfine)")
def test_hyperfine_finds_the_same_ratio(bench):
    commands = ("sleep 0.2", "sleep 0.5")
    words = ["hyperfine", "-N", "--runs", "5", "--export-json", bench.home / "theirs.json", *commands]
    subprocess.run(words, check=True, capture_output=True)
    first, second = (one["median"] for one in json.loads((bench.home / "theirs.json").read_text())["results"])
    rows, _ = table(bench, "--repeat=5", "--vs", commands[1], "--", *commands[0].split())
    assert float(rows[1]["ratio"]) == pytest.approx(second / first, rel=0.15)
    assert float(rows[1]["ratio_low"]) < float(rows[1]["ratio"]) < float(rows[1]["ratio_high"])
