"""The window sweep: the rate of one connection over 4 ms with each socket buffer, against window / round trip.

The shipped experiment `window_sweep.toml` is run once: six runs of 5 s at each level, cubic. Window and round trip are those that
the kernel granted and measured in each run (L14); the share is rate x round trip / window, the median of the runs that count.
From 0.85 on a rate is within 15 % of window / round trip. "Labelled" are the runs whose answer names the window as the limit.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

EXPERIMENT = Path(__file__).parent.parent / "experiments" / "window_sweep.toml"
ASSAY = (sys.executable, "-c", "from assay.cli.main import main; main()")
MEASURE, FACTOR = "send.send.bytes_per_s", "send.window"
LABEL = "limited by the receive window"


def measure() -> Iterator[tuple[str, str]]:
    """(what, figure); says so and no more where the experiment cannot be run."""
    with tempfile.TemporaryDirectory(prefix="assay-sweep-") as lab:
        words = ("run", str(EXPERIMENT), "--lab", lab, "--json", "--progress", "none")
        done = subprocess.run((*ASSAY, *words), capture_output=True, text=True, check=False)
    if done.returncode:
        yield "window sweep", f"not measured: {done.stderr.strip()}"
        return
    yield from rows(json.loads(done.stdout))


def rows(results: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """A row for each level, and the autotuned rate over that of 256 KiB."""
    judged = {f"{run['run']['trial']['id']:04}/{run['run']['attempt']}": run["verdicts"][MEASURE] for run in results["runs"]}
    rates: dict[int, float] = {}
    for cell in sorted(results["cells"], key=lambda one: one["levels"][FACTOR] or float("inf")):
        window, rate = cell["levels"][FACTOR], cell["estimate"]
        rates[window] = rate["value"]
        verdicts = [judged[run] for run in cell["values"]]
        found = [one for verdict in verdicts for one in verdict["findings"] if one["rule"] == "L14"]
        shares = [one["observed"]["window_share"] for one in found if one["observed"].get("window_share")]
        share = f"{statistics.median(shares):.2f} of window / round trip; " if shares else ""
        labelled = sum(one["relabel"] == LABEL for one in found)
        name = f"{window >> 10} KiB" if window else "sized by the kernel"
        interval = f"{rate['low'] / 1e6:.1f} to {rate['high'] / 1e6:.1f}, 95 %, {rate['n']} runs"
        yield name, f"{rate['value'] / 1e6:.1f} MB/s ({interval}); {share}labelled in {labelled} of {len(found)}"
    yield "sized by the kernel, over 256 KiB (at least 4 wanted)", f"{rates[0] / rates[256 << 10]:.1f}"
