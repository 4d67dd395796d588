"""The shipped experiments that are quick are really run, one block of each; every figure must be what it is said to be.

What others do to this machine (steal, writes of theirs) may taint a figure here; nothing else may. That all of them are
planned is tested in tests/experiment/test_shipped.py; the disk of known speed has tests of its own.
"""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from assay.machine import nfs_clients
from stage.assay_process import Bench
from stage.served_stage import SBIN, needs, needs_fuse

FOLDER = Path(__file__).parents[1] / "experiments"
TRIES = 2
"""One run of each level says little where neighbours take the disk: two orders may swap by chance."""
NOISE = {"N01", "N02", "N03", "W07"}
"""Processor time and device taken by others."""
DROWNED = "D02"
"""So many flushes of others that ours cannot be told from them."""
TOOLS = {"external_tool": "fio", "filesystems": "mkfs.btrfs", "scsi_over_ip": "tgtd", "aggregate": "ganesha.nfsd"}
ROOT = ("filesystems", "scsi_over_ip", "aggregate")
FEWER = {
    "aggregate": {'size = "24 MiB"': 'size = "8 MiB"', "[1, 2, 4, 8]": "[1, 2]", 'size = "512 MiB"': 'size = "64 MiB"'},
    "iozone_matrix": {
        '["32 MiB", "128 MiB"]': '["32 MiB"]',
        '["4 KiB", "64 KiB", "1 MiB", "8 MiB"]': '["64 KiB"]',
    },
    "filesystems": {'size = "1 GiB"': 'size = "400 MiB"', 'size = "256 MiB"': 'size = "64 MiB"'},
    "open_loop": {'["250 /s", "1000 /s", "4000 /s"]': '["250 /s", "1000 /s"]'},
    "profiles": {
        '["database", "file_server", "mail_spool", "web_server", "workstation"]': '["file_server", "mail_spool"]',
    },
    "scsi_over_ip": {
        'size = "96 MiB"': 'size = "16 MiB"',
        'size = "320 MiB"': 'size = "96 MiB"',
        'size = "128 MiB"': 'size = "32 MiB"',
    },
}
"""Levels of factors and sizes as they stand, and fewer of them: time is short."""


def once(name, home):
    """The experiment with a single block and perhaps fewer levels, where the test may write."""
    text, count = re.subn(r"(?m)^repeats = \d+$", "repeats = 1", (FOLDER / f"{name}.toml").read_text())
    assert count == 1
    for all_levels, some in FEWER.get(name, {}).items():
        assert text.count(all_levels) >= 1
        text = text.replace(all_levels, some)
    path = home / f"{name}.toml"
    path.write_text(text)
    return path


def doubts(verdict):
    """The rules that failed and could not even bound the figure, or bounded it as loosely as noise may."""
    failed = [finding for finding in verdict["findings"] if finding["state"] == "fail" and finding["severity"] != "notes"]
    return {finding["rule"] for finding in failed if finding["bound"] is None or finding["rule"] in NOISE}


def is_what_it_says(verdict):
    """Whether a figure is SOUND or BOUNDED, or would be without what others do to this machine."""
    if verdict["state"] == "UNVERIFIED":
        return verdict["label"]["lacking"] == [DROWNED] and doubts(verdict) <= NOISE
    return verdict["state"] in ("SOUND", "BOUNDED") or (bool(doubts(verdict)) and doubts(verdict) <= NOISE)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "memory_test",
        "external_tool",
        pytest.param("overwriters", marks=pytest.mark.long),
        pytest.param("filesystems", marks=pytest.mark.root),
        pytest.param("aggregate", marks=[pytest.mark.root, pytest.mark.long, needs_fuse, needs("ip", "nsenter", "rpcbind")]),
        "iozone_matrix",
        "open_loop",
        "profiles",
        pytest.param("scsi_over_ip", marks=pytest.mark.root),
    ],
)
def test_a_quick_experiment_finishes_and_every_figure_is_what_it_is_said_to_be(name, tmp_path):
    if name in ROOT and os.geteuid() != 0:
        pytest.skip("needs root, to attach and mount")
    if name == "aggregate" and not nfs_clients.CLIENT.exists():
        pytest.skip("assay-nfs is not built: make clients")
    if name in TOOLS and shutil.which(TOOLS[name], path=SBIN) is None:
        pytest.skip(f"needs the tool {TOOLS[name]}")
    bench = Bench(tmp_path)
    doubtful = []
    for attempt in range(TRIES):
        done = bench.run("run", once(name, tmp_path), "--lab", f"lab{attempt}", "--json")
        assert done.returncode == 0, done.stderr
        runs = json.loads(done.stdout)["runs"]
        assert {run["run"]["outcome"] for run in runs} == {"finished"}
        assert all(run["verdicts"] for run in runs)
        told = [(measure, verdict) for run in runs for measure, verdict in run["verdicts"].items()]
        doubtful = [f"{measure}: {one['state']} {one['label']}" for measure, one in told if not is_what_it_says(one)]
        if not doubtful:
            break
    assert not doubtful
    assert bench.traces() == []
