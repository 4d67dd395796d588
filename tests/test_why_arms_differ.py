"""Two commands that differ by a flush after each record: an experiment says what the limit of each was, and why they differ.

A throttled disk makes each flush slow, and the other command sleeps: on a busy machine, too, neither waits for a CPU most.
It runs alone: noise leaves out runs, and fewer than three pairs say nothing.
"""

import json

import pytest

from stage.assay_process import Bench
from stage.targets_host import needs_root

pytestmark = [pytest.mark.alone, pytest.mark.root, pytest.mark.slow, needs_root]

TEXT = """
title = "A flush after each record"
question = "What does a flush after each record cost?"
repeats = 5
observers = ["*", "thread_states"]
compare = "w.variables.way"

[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "64 MiB"
limit = { write_ops_per_s = "60 /s" }

[workloads.w]
kind = "command"
argv = ["python3", "-c", '''
import os, time
file, done, ends = open("f", "wb", buffering=0), 0, time.monotonic() + 2
while time.monotonic() < ends:
    file.seek(0)
    file.write(bytes(4096))
    done += 1
    if "{variables.way}" == "flush":
        os.fsync(file)
    else:
        time.sleep(0.02)
print(done / 2, "writes/s")
''']
parse = "regex"
pattern = "([0-9.]+) writes/s"
unit = "/s"
direction = "write"
variables.way = "flush"
data_files = ["f"]
needs = "8 MiB"

[factors]
"w.variables.way" = ["sleep", "flush"]

[measures]
"w.write.ops_per_s" = {}
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The lab's answer as JSON, and what it said."""
    folder = tmp_path_factory.mktemp("why")
    file = folder / "why.toml"
    file.write_text(TEXT)
    bench = Bench(folder)
    done = bench.run("run", file, "--json=found.json")
    assert done.returncode in (0, 3), done.stderr
    return bench, json.loads((folder / "found.json").read_text()), done.stdout


def test_each_level_has_its_limit(ran):
    _, found, said = ran
    limits = {one["levels"]["w.variables.way"]: one["limit"] for one in found["times"]}
    assert {level: one["cause"] for level, one in limits.items()} == {"sleep": "sleep", "flush": "flush"}
    assert all(one["process"].startswith("python") for one in limits.values()), "the engine only waits for the command"
    more = " ".join(found["answer"]["more"])
    assert "limit of w.run" in more
    assert "flush" in said


def test_the_comparison_says_which_part_of_the_time_differs(ran):
    _, found, _ = ran
    (one,) = found["comparisons"]
    assert one["time"]["state"] == "flush"
    assert 0 < one["time"]["low_ns"] < one["time"]["high_ns"]
    assert any(text.startswith("why: ") and "each operation of flush" in text for text in found["answer"]["more"])


def test_the_report_and_show_have_the_limit(ran):
    bench, found, _ = ran
    page = next(bench.home.rglob("report.html")).read_text()
    assert 'id="time"' in page
    run = next(iter(found["cells"][0]["values"]))
    assert "limit: " in bench.run("show", run).stdout
