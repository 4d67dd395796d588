"""Readers while a run writes: they see whole runs, more and more of them, and never wait or fail."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from assay.notebook import index, read, sql
from assay.notebook.store import Store
from stage import notebook_records as made

READER = """
import sys
from pathlib import Path

import pytest
from assay.notebook import index, read, sql, tables
folder, seen = Path(sys.argv[1]), 0
print("ready", flush=True)
while seen < 20:
    found = read.scan(folder)
    assert not found.damaged, found.damaged
    assert len(found.runs) >= seen
    seen = len(found.runs)
    for run in found.runs[-1:]:
        assert read.observations(folder, f"{run.trial.id:04d}/1").readings
    assert sql.query(folder.parent, "SELECT count(*) FROM runs").rows[0][0] >= seen
    index.overview(folder, "1"), index.live(folder)
print("done", flush=True)
"""


@pytest.mark.slow
def test_readers_in_other_processes_and_in_this_one(tmp_path):
    asked = made.experiment()
    with Store.create(tmp_path / "lab", asked, made.plan(asked, blocks=10), made.TEXT) as kept:
        readers = [
            subprocess.Popen([sys.executable, "-c", READER, str(kept.folder)], stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]
        try:
            for reader in readers:
                assert reader.stdout is not None
                assert reader.stdout.readline() == "ready\n"
            for trial in kept.plan.trials:
                run = made.run(trial)
                kept.add(run, made.observations())
                kept.judge("1", [made.verdict(run, made.RATE, 1.0)])
                kept.live({"trial": trial.id})
            assert [reader.communicate(timeout=300)[0] for reader in readers] == ["done\n", "done\n"]
        finally:
            for reader in readers:
                reader.kill()
                reader.wait()
                assert reader.stdout is not None
                reader.stdout.close()
    assert len(read.runs(kept.folder)) == 20


def test_a_sitting_elsewhere_writes_into_the_same_notebook(tmp_path):
    """Another process (after a reboot, or on another machine with the folder mounted) goes on where the first ended."""
    asked = made.experiment()
    with Store.create(tmp_path / "lab", asked, made.plan(asked), made.TEXT) as kept:
        kept.add(made.run(kept.plan.trials[0]), made.observations())
    script = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from stage import notebook_records as made\n"
        "from assay.notebook.store import Store\n"
        "with Store.open(Path(sys.argv[1])) as store:\n"
        "    store.add(made.run(store.plan.trials[1]), made.observations())\n"
    )
    subprocess.run([sys.executable, "-c", script, str(kept.folder), str(Path(made.__file__).parent.parent)], check=True)
    assert [run.trial.id for run in read.runs(kept.folder)] == [1, 2]
    found = index.overview(kept.folder, "1")
    assert found is not None
    assert found.outcomes == {"finished": 2}


def test_one_process_may_read_in_threads(tmp_path):
    asked = made.experiment()
    with Store.create(tmp_path / "lab", asked, made.plan(asked), made.TEXT) as kept:
        kept.add(made.run(kept.plan.trials[0]), made.observations())
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(len(sql.query(tmp_path / "lab", "SELECT * FROM readings").rows)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [1, 1, 1, 1]
