"""Real runs: a grid of record and file sizes becomes a heat map, two clients on a throttled disk scale to one half."""

from dataclasses import replace

import pytest

from assay.answer.wording import comparison
from assay.experiment import read
from assay.hosts.local import Local
from assay.machine import cgroups
from assay.records import LimiterKind
from assay.report.charts import cells, heatmap
from assay.selftest.control import measured

GRID = """
title = "Reading at random over record and file size"
question = "Is there a record size that is slower than its neighbours?"
repeats = 1

[targets.here]
kind = "directory"
path = "PATH"

[workloads.file]
kind = "bulk_io"
operations = ["random_read"]
cache = "warm"
ops = 50
quiesce = "0 s"

[factors]
"file.size" = ["1 MiB", "2 MiB", "4 MiB"]
"file.record_size" = ["32 KiB", "64 KiB", "128 KiB"]
"""
HALVES = """
title = "One client and two on a disk of 50 MB/s"
question = "Does a second client add anything?"
compare = "clients"
repeats = 3

[targets.disk]
kind = "loopfs"
filesystem = "ext4"
size = "256 MiB"
limit = { read_bytes_per_s = "50 MB/s", write_bytes_per_s = "50 MB/s" }

[workloads.dump]
kind = "bulk_io"
operations = ["write"]
size = "48 MiB"
split = true
record_size = "1 MiB"
direct = true
quiesce = "0 s"

[factors]
clients = [1, 2]
"""


def test_a_grid_is_run_looked_at_and_drawn(tmp_path):
    (tmp_path / "here").mkdir()
    text = GRID.replace("PATH", str(tmp_path / "here"))
    asked = replace(read.parse(text, "grid.toml"), observers=())
    results = measured(asked, text, tmp_path / "lab")
    (measure,) = results.experiment.measures
    figure = cells.figure(results, measure)
    grid = heatmap.grid(results.experiment)
    assert (grid.x.path, grid.y.path) == ("file.record_size", "file.size")
    assert figure.wide
    (panel,) = figure.panels
    assert panel.spec["data"]["values"].count("\n") == 1 + 9
    assert panel.description.count("/s (n = 1)") == 9
    assert len(results.cells) == 9
    assert results.dips == ()
    assert all(cell.estimate.n == 1 for cell in results.cells)


def test_two_clients_on_a_throttled_disk_scale_to_one_half(tmp_path):
    host = Local()
    if not host.is_root() or not host.exists("/dev/loop-control"):
        pytest.skip("needs root and loop devices")
    if (why := cgroups.throttle_obstacle(host)) is not None:
        pytest.skip(why)
    results = measured(read.parse(HALVES, "halves.toml"), HALVES, tmp_path / "lab")
    (one,) = results.comparisons
    assert one.measure == "dump.write.bytes_per_s"
    assert 0.4 < one.parallel_efficiency.value < 0.6
    assert (one.limiter.kind, one.limiter.declared, one.limiter.amount) == (LimiterKind.RATE, True, 50e6)
    assert "; lower bound, limited by the declared 50 MB/s of loop" in comparison.efficiency(one)
    assert "2 clients against 1" in comparison.statement(results.experiment, one)
