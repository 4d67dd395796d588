"""Three decisions of experiments/, short, really run: the answer's first line names measure, direction, interval and verdict.

Who is ahead by how much hangs on what else this machine does, so the line is held against the records that it stands for.
Observers that speak only of others are left out, so that tests beside these cannot spoil the runs.
"""

import json
import math
import os
import re
import tomllib
from pathlib import Path

import pytest

from stage.assay_process import Bench

FOLDER = Path(__file__).parents[2] / "experiments"
LOOKING = 'observers = ["environment", "process_io", "page_cache", "block", "device_settings", "layout", "memory"]\n'
SHORT = {
    "file_server_migration": {
        "repeats = 5": "repeats = 3",
        "count = 600": "count = 50",
        "xfs": "btrfs",
        'size = "320 MiB"': 'size = "128 MiB"',
        "clients = [1, 2, 4, 8]": "clients = [1]",
        '"files.create.@local.cpu_share" = {}\n': "",
    },
    "one_gigabyte_a_second": {
        "repeats = 5": "repeats = 3",
        'size = "128 MiB"': 'size = "16 MiB"',
        'size = "256 MiB"': 'size = "16 MiB"',
        '"xfs"': '"ext4"',
        'size = "512 MiB"': 'size = "64 MiB"',
    },
    "directory_import": {
        '"disk.limit.write_ops_per_s" = ["2 kIOPS", "4 kIOPS"]\n': "",
        '"import.workers" = [1, 4]\n': "",
        'size = "8 MiB"': 'size = "256 KiB"',
        'duration = "2 s"': "ops = 100",
        'size = "128 MiB"': 'size = "32 MiB"',
    },
}
"""Each experiment's lines as they stand, and shorter ones; images are written in full, and xfs has none below 300 MiB."""
AHEAD = {1: "is faster", -1: "is slower", 0: "against btrfs is undecided"}
DOUBTED = r"(?: \(.+? \(\w\d\d\)\))?"
"""What a busy machine lets a rule hold against the figure: `runs disagree (S14)`."""
STATES = r"\[(SOUND|BOUNDED|TAINTED|UNVERIFIED)\]$"

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("root")]


def short(name):
    """The text of the experiment with fewer levels, less work, no wait for quiet and no look at what others do."""
    text = (FOLDER / f"{name}.toml").read_text()
    for whole, part in SHORT[name].items():
        assert whole in text, whole
        text = text.replace(whole, part)
    hurried = re.sub(r"(?m)^(\[workloads\.\w+\])$", r'\1\nquiesce = "0 s"', text)
    made = re.sub(r"(?m)^seed = ", LOOKING + "seed = ", hurried, count=1)
    tomllib.loads(made)
    return made


@pytest.fixture(scope="module")
def root():
    if os.geteuid() != 0:
        pytest.skip("needs root, to attach, mount and throttle")


@pytest.fixture(scope="module", params=sorted(SHORT))
def case(request, root, tmp_path_factory):
    """One run: name, what the terminal said, the report, the JSON of the comparison."""
    del root
    bench = Bench(tmp_path_factory.mktemp(request.param))
    path = bench.home / "case.toml"
    path.write_text(short(request.param))
    done = bench.run("run", path, "--lab", "lab")
    assert done.returncode == 0, done.stderr
    (folder,) = (one for one in (bench.home / "lab").iterdir() if one.is_dir())
    assert bench.traces() == []
    told = json.loads(bench.run("compare", "--lab", "lab", "--json").stdout)
    return request.param, done.stdout.splitlines(), (folder / "report.html").read_text(), told


def ends(line):
    """The interval of a line: `95 % interval 0.10 to 0.24`."""
    found = re.search(r"95 % intervals? (?:from )?([\d.]+)\D* to ([\d.]+)", line)
    assert found, line
    return float(found[1]), float(found[2])


def test_the_first_line_names_measure_direction_interval_and_verdict(case):
    name, lines, _, told = case
    {"file_server_migration": migrated, "one_gigabyte_a_second": boasted, "directory_import": imported}[name](lines, told)


def migrated(lines, told):
    first, required = lines[:2]
    (one,) = (one for one in told["comparisons"] if one["measure"] == "files.create.ops_per_s")
    assert re.match(f"files create, operations per second{DOUBTED}: [^;]+; ext4 {AHEAD[agreed(one)]}", first), first
    assert ends(first) == (pytest.approx(one["ratio"]["low"], rel=0.06), pytest.approx(one["ratio"]["high"], rel=0.06))
    assert re.search(STATES, first), first
    (asked,) = told["requirements"]
    assert required.startswith("required of files create, operations per second, not worse than 5 %: " + asked["state"]), required


def agreed(one):
    """On which side of 1 the ratio's interval lies; 0 where it holds 1."""
    return (one["ratio"]["low"] > 1) - (one["ratio"]["high"] < 1)


def boasted(lines, told):
    first, second = lines[:2]
    assert re.match(r"boast read, throughput: [\d.]+.* is no device figure: ", first), first
    assert "page-cache bandwidth" in first
    assert first.endswith("[INVALID]")
    assert ends(first)
    assert re.match(f"direct write, throughput{DOUBTED}: ", second), second
    (one,) = (one for one in told["comparisons"] if one["measure"] == "direct.write.bytes_per_s")
    if one["ratio"]["low"] is not None:
        assert ends(second) == (pytest.approx(one["ratio"]["low"], rel=0.06), pytest.approx(one["ratio"]["high"], rel=0.06))
    assert re.search("clients = 2 (and 1 are equivalent|is faster|is slower|against 1 is undecided), ", second), second
    assert re.search(STATES, second), second
    assert [one["ratio"] for one in told["comparisons"] if one["measure"] == "boast.read.bytes_per_s"] == [None]


def imported(lines, told):
    first = lines[0]
    assert first.startswith("import random write, operations per second: "), first
    (one,) = told["sensitivity"]
    foremost = max(
        (effect for effect in one["effects"] if len(effect["steps"]) == 1),
        key=lambda effect: abs(math.log(effect["ratio"]["value"])),
    )
    if foremost["conclusion"] == "different and matters":
        assert f": {foremost['steps'][0]['factor']} matters most: " in first, first
        assert re.search(r"\(-?\+?[\d.]+ to [-+]?[\d.]+\) with .* instead of ", first), first
    else:
        assert re.search("no factor (matters|is shown to matter) by itself", first), first
        assert re.search(r"Undecided: .*\([-+]?[\d.]+ to [-+]?[\d.]+\)", "\n".join(lines[:4])), lines[:4]
    assert re.search(STATES, first), first
    assert told["comparisons"] == []


def test_the_report_opens_with_the_same_line(case):
    _, lines, page, _ = case
    said, _, state = lines[0].rpartition(" [")
    shown = page[page.index('<section id="answer">') :]
    found = re.search(r'<p class="headline lead">(.*?) <span class="badge \w+">(\w+)</span></p>', shown)
    assert found, shown[:300]
    assert (re.sub(r"\s", " ", found[1]), f"{found[2]}]") == (re.sub(r"\s", " ", said), state)
