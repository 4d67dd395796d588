"""What a fetch over a network moves is counted at the server's interface: really, between two network namespaces."""

import shutil
from pathlib import Path

import pytest

from assay.hosts.local import Local
from assay.laboratory.results import current
from assay.notebook import read as notebook
from assay.prediction.demand import samples
from stage.assay_process import Bench

CONTROL = Path(__file__).parents[2] / "src" / "assay" / "controls" / "network_limit.toml"
MOVED = 12_000_000
"""Bytes that the server of this control sends for one fetch."""


def test_the_bytes_of_a_fetch_are_those_out_of_the_server(tmp_path):
    missing = [tool for tool in ("python3", "bash", "ip", "tc", "nsenter") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    if not Local().is_root():
        pytest.skip("a network namespace needs root")
    bench = Bench(tmp_path)
    text = CONTROL.read_text().partition("[control]")[0].replace('["32gbit", "100mbit"]', '["32gbit"]')
    (tmp_path / "fetch.toml").write_text(text)
    done = bench.run("run", tmp_path / "fetch.toml", "--lab", "lab")
    if done.returncode != 0 and "ip netns" in done.stderr + done.stdout:
        pytest.skip("no network namespace may be made here")
    assert done.returncode == 0, done.stderr
    (folder,) = notebook.folders(tmp_path / "lab")
    results = current(folder)
    (sample,) = samples(results, notebook.load(folder))
    (phase,) = results.runs[0].run.phases
    lasted_s = (phase.end_ns - phase.start_ns) / 1e9
    out, into = (sample.used[name] * lasted_s for name in ("network_out", "network_in"))
    assert MOVED < out < 1.1 * MOVED, "the payload and its headers"
    assert 0 < into < 0.1 * MOVED, "acknowledgements"
    assert sample.used["network"] * lasted_s == pytest.approx(out + into)
