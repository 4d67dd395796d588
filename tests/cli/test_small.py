"""An installation without numpy, scipy, duckdb and jinja2: what measures once works, all else says what is missing first."""

import json
import subprocess
import sys

from stage.rows import each

WITHOUT = (
    "import sys; sys.modules.update(dict.fromkeys({gone!r})); sys.argv[0] = 'assay'; from assay.cli.main import main; main()"
)
GONE = ("numpy", "scipy", "scipy.special", "scipy.stats", "duckdb", "jinja2")


def call(bench, *words):
    command = [sys.executable, "-c", WITHOUT.format(gone=GONE), *words]
    return subprocess.run(command, cwd=bench.home, env=bench.environment(), capture_output=True, text=True, check=False)


def test_a_command_and_a_load_are_measured_and_judged(bench):
    done = call(bench, "stat", "--json=told.json", "--", "dd", "if=/dev/zero", "of=F", "bs=1M", "count=4", "conv=fsync")
    assert done.returncode == 0, done.stderr
    assert json.loads((bench.home / "told.json").read_text())["verdict"]
    done = call(bench, "load", "bulk_io", "path=G", "operation=write", "size=4MiB", "record_size=1MiB", "flush=end")
    assert done.returncode == 0, done.stderr
    assert "MB/s" in done.stdout


@each(
    "words status",
    ("quick .", 1),
    ("stat --repeat 2 -- touch made", 125),
    ("stat --save -- touch made", 125),
    ("check 900 MB/s over 10GbE", 0),
    ("doctor", 0),
    ("catalogue", 0),
)
def test_what_needs_a_library_says_so_before_it_measures(bench, words, status):
    done = call(bench, *words.split())
    assert done.returncode == status, done.stderr
    if status:
        assert "assay: numpy, scipy, duckdb, jinja2 are not installed" in done.stderr
        assert "pip install numpy scipy duckdb jinja2" in done.stderr
    assert not (bench.home / "made").exists()
    assert "Traceback" not in done.stderr
