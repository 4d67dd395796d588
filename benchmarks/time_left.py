"""What `assay run` says is left, at 10, 25, 50 and 75 % of real experiments, against what was left.

The news of each experiment are recorded with their times and replayed into the estimate. `within` counts how often the truth is
in the printed range (nine in ten are wanted). `--record DIR` keeps the recordings, which tests/terminal replays.

    python benchmarks/time_left.py
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from plan_time import COMMITS

from assay.terminal.remaining import Remaining

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from stage.recorded_experiments import Recorded, recorded

KEPT = ("event", "trial", "attempt", "workload", "phase", "outcome", "blocks_low", "blocks", "blocks_high")
HEAD = 'title = "Time left"\nquestion = "How long does it take?"\nrepeats = {repeats}\nseed = 3\n'
HERE = """
[targets.here]
kind = "directory"
path = "{folder}"
"""
LOCAL = f"""
compare = "bulk.record_size"{HERE}[workloads.bulk]
kind = "bulk_io"
operations = ["write", "read"]
size = "96 MiB"
flush = "end"
cache = "cold"
[factors]
"bulk.record_size" = ["4 KiB", "64 KiB", "1 MiB"]
[measures]
"bulk.write.bytes_per_s" = {{}}
"bulk.read.bytes_per_s" = {{}}
"""
FILE_SYSTEMS = """
compare = "disk.filesystem"
[targets.disk]
kind = "loopfs"
size = "512 MiB"
[workloads.files]
kind = "metadata"
object = "file"
count = 5000
operations = ["create", "list", "stat", "unlink"]
[factors]
"disk.filesystem" = ["ext4", "xfs"]
"files.workers" = [1, 2]
[measures]
"files.create.ops_per_s" = {}
"""
SERVER = """
compare = "search.connections"
[targets.ldap]
kind = "ldap_openldap"
entries = 20000
[workloads.search]
kind = "ldap_load"
duration = "3 s"
[factors]
"search.connections" = [1, 2, 4]
[measures]
"search.search.ops_per_s" = {}
"""
SEQUENTIAL = '"until 4 %, at most 24"'
CASES = {
    "local": HEAD.format(repeats=4) + LOCAL,
    "filesystems": HEAD.format(repeats=3) + FILE_SYSTEMS,
    "server": HEAD.format(repeats=3) + SERVER,
    "sequential": HEAD.format(repeats=SEQUENTIAL) + HERE + COMMITS,
}


def record(file: str, path: Path) -> int:
    """Run an experiment as `assay run` does and keep its news; this process is its own."""
    from assay.cli import run
    from assay.cli.main import main as assay

    lines: list[object] = []
    last: list[object] = [None]
    plain = run.remaining

    class Kept(Remaining):
        def take(self, now_s: float, news: Mapping[str, object]) -> None:
            super().take(now_s, news)
            one = {name: news[name] for name in KEPT if name in news}
            if one != last[0]:
                lines.append([round(now_s, 3), one])
            last[0] = one

    def kept(*given: object) -> Remaining:
        found = plain(*given)  # type: ignore[arg-type]
        known = {name: getattr(found, name) for name in ("fewest_blocks", "most_s", "after_s")}
        cells = {cell: f"cell {number}" for number, cell in enumerate(dict.fromkeys(one.cell for one in found.trials.values()))}
        trials = {number: dataclasses.replace(one, cell=cells[one.cell]) for number, one in found.trials.items()}
        lines.append({"trials": {number: dataclasses.asdict(one) for number, one in trials.items()}, **known})
        return Kept(trials=trials, **known)

    run.remaining = kept
    sys.argv = ["assay", "run", file, "--lab", "lab"]
    try:
        assay()
    except SystemExit:
        lines.append([round(time.monotonic(), 3), {}])
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return 0


def rows(one: Recorded) -> str:
    """Return the cells of an experiment's row."""
    found = list(one.estimates())
    each = (f"{left.words()} ({true_s:.0f} s)" for _, true_s, left in found)
    within = sum(left.low_s <= true_s <= left.high_s for _, true_s, left in found)
    return " | ".join((*each, f"{within} of {len(found)}"))


def main() -> int:
    words = argparse.ArgumentParser()
    words.add_argument("--record", type=Path)
    words.add_argument("--one", nargs=2)
    words.add_argument("--only", nargs="*", default=list(CASES))
    given = words.parse_args()
    if given.one:
        return record(given.one[0], Path(given.one[1]))
    with tempfile.TemporaryDirectory(prefix="time-left-", dir=Path.cwd()) as scratch:
        for name in given.only:
            folder = Path(scratch) / name
            (folder / "data").mkdir(parents=True)
            (folder / "e.toml").write_text(CASES[name].replace("{folder}", str(folder / "data")), encoding="utf-8")
            kept = (given.record.resolve() if given.record else folder) / f"{name}.ndjson"
            call = [sys.executable, str(Path(__file__).resolve()), "--one", "e.toml", str(kept)]
            subprocess.run(call, cwd=folder, check=True, capture_output=True)
            print(f"| {name} | {rows(recorded(kept))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
