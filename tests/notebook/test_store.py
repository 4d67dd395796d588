"""Writing a notebook: whole runs or none, one writer, the same experiment finds its folder again."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import notebook_records as made
from assay.errors import BusyError, DamagedError, RefusedError
from assay.notebook import index, layout, read, store
from assay.notebook.store import Store
from assay.records import Observations, Results


@pytest.fixture
def lab(tmp_path: Path) -> Path:
    return tmp_path / "lab"


def create(lab: Path, **changes) -> Store:
    asked = made.experiment(**changes)
    return Store.create(lab, asked, made.plan(asked), made.TEXT)


def test_a_run_comes_back_as_it_was(lab):
    with create(lab) as kept:
        run = made.run(kept.plan.trials[0])
        assert kept.add(run, made.observations()) == "0001/1"
    assert read.runs(kept.folder) == (run,)
    assert read.observations(kept.folder, "0001/1") == made.observations()
    assert (kept.folder / "experiment.toml").read_text() == made.TEXT
    with Store.open(kept.folder) as again:
        again.add(made.run(again.plan.trials[1]), Observations())
    assert read.observations(kept.folder, "0002/1") == Observations()
    names = {path.name for path in (kept.folder / "trials/0001/attempt-1").iterdir()}
    parquet = {"readings.parquet", "series.parquet", "histograms.parquet"}
    assert names == {"run.json", "facts.json", "manifest.json", *parquet}


def test_only_a_folder_that_this_call_made_is_withdrawn(lab):
    """What an earlier call made may hold what its user put there meanwhile."""
    with create(lab) as first:
        first.withdraw()
    assert not first.folder.exists()
    with create(lab) as second:
        pass
    (second.folder / "notes.md").write_text("seen on Monday")
    with create(lab) as again:
        again.withdraw()
    assert (second.folder / "notes.md").read_text() == "seen on Monday"


def test_a_schedule_that_another_writer_made_longer_before_it_let_go_is_the_one_that_is_held(lab, monkeypatch):
    with create(lab) as first:
        pass
    longer = made.plan(first.experiment, blocks=6)
    take = store.acquire_lock

    def after_another(folder):
        monkeypatch.setattr(store, "acquire_lock", take)
        with Store.open(folder) as other:
            other.extend(other.experiment, longer)
        return take(folder)

    monkeypatch.setattr(store, "acquire_lock", after_another)
    with Store.open(first.folder) as again:
        assert again.plan == longer


def test_the_same_experiment_is_resumed_and_keeps_its_first_plan(lab):
    with create(lab) as first:
        pass
    asked = made.experiment()
    with Store.create(lab, asked, made.plan(asked, blocks=9), "later text") as again:
        assert again.folder == first.folder
        assert again.resumed
        assert not first.resumed
        assert again.plan == first.plan
        assert again.note is None
    assert (again.folder / "experiment.toml").read_text() == made.TEXT


def test_a_changed_experiment_is_kept_apart_and_says_so(lab):
    with create(lab) as first:
        pass
    with create(lab, digest="cd" * 32) as second:
        assert second.folder != first.folder
        assert first.folder.name in (second.note or "")
        assert second.folder.name in (second.note or "")


def test_fresh_begins_another_folder_of_the_same_experiment(lab):
    asked = made.experiment()
    names = []
    for _ in range(3):
        with Store.create(lab, asked, made.plan(asked), made.TEXT, fresh=True) as kept:
            names.append(kept.folder.name)
    assert names == ["a-mail-spool-abababab", "a-mail-spool-abababab-2", "a-mail-spool-abababab-3"]


def test_raw_data_is_never_changed_and_a_second_writer_is_told_who_holds_it(lab):
    with create(lab) as kept:
        with pytest.raises(BusyError, match=f"process {os.getpid()} on "):
            create(lab)
        assert read.runs(kept.folder) == ()
        run = made.run(kept.plan.trials[0])
        kept.add(run, made.observations())
        with pytest.raises(RefusedError, match="never changed"):
            kept.add(run, made.observations())
    with create(lab):
        pass


def test_a_writer_killed_while_it_writes_leaves_no_half_run(lab):
    with create(lab) as kept:
        kept.add(made.run(kept.plan.trials[0]), made.observations())
    script = (
        "import os, signal, sys; sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from assay.notebook import files\n"
        "from assay.notebook.store import Store\n"
        "import notebook_records as made\n"
        "write = files.write_table\n"
        "def die(connection, records, names, path):\n"
        "    write(connection, records, names, path)\n"
        "    if path.name == 'series.parquet': os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_table = die\n"
        "store = Store.open(Path(sys.argv[1]))\n"
        "store.add(made.run(store.plan.trials[1]), made.observations())\n"
    )
    tests = str(Path(made.__file__).parent)
    done = subprocess.run([sys.executable, "-c", script, str(kept.folder), tests], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(kept.folder.glob("trials/0002/.unfinished-*"))) == 1
    assert [layout.run_id(run.trial.id, run.attempt) for run in read.runs(kept.folder)] == ["0001/1"]
    assert read.scan(kept.folder).damaged == {}
    with Store.open(kept.folder) as again:
        assert not list(kept.folder.glob("trials/*/.unfinished-*"))
        again.add(made.run(again.plan.trials[1]), made.observations())
    assert len(read.runs(kept.folder)) == 2


def test_an_interrupt_or_a_full_file_system_leaves_nothing(lab, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    def full(*_):
        raise OSError(28, "No space left on device")

    with create(lab) as kept:
        for name, stop, ends in (("manifest_of", interrupt, KeyboardInterrupt), ("flush", full, RefusedError)):
            with monkeypatch.context() as patched:
                patched.setattr(store.files, name, stop)
                with pytest.raises(ends):
                    kept.add(made.run(kept.plan.trials[0]), made.observations())
            assert list((kept.folder / "trials/0001").iterdir()) == []
    assert read.runs(kept.folder) == ()
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(RefusedError, match="not writable"):
        create(tmp_path / "file")


def test_verdicts_and_answers_are_kept_by_ruleset(lab):
    with create(lab) as kept:
        run = made.run(kept.plan.trials[0])
        kept.add(run, made.observations())
        kept.judge("1-aaaa", [made.verdict(run, made.RATE, 100.0)])
        judged = read.results(kept.folder)
        kept.derive(
            "1-aaaa", Results(experiment=kept.experiment, plan=kept.plan, runs=judged.runs, findings=(made.finding("x"),))
        )
        kept.judge("2/bb bb", [made.verdict(run, made.RATE, 101.0)])
    assert read.results(kept.folder, "1-aaaa").runs[0].verdicts[made.RATE].value == 100.0
    assert read.results(kept.folder, "1-aaaa").findings == (made.finding("x"),)
    assert read.results(kept.folder, "2/bb bb").runs[0].verdicts[made.RATE].value == 101.0
    assert read.results(kept.folder, "3").runs[0].verdicts == {}
    assert {path.name for path in (kept.folder / "derived").iterdir()} == {"1-aaaa", "2_bb_bb"}


def test_answers_of_other_runs_than_are_there_are_left_out(lab):
    with create(lab) as kept:
        kept.add(made.run(kept.plan.trials[0]), made.observations())
        judged = read.results(kept.folder)
        kept.derive("1", Results(experiment=kept.experiment, plan=kept.plan, runs=judged.runs, findings=(made.finding("x"),)))
        assert read.results(kept.folder, "1").findings
        kept.add(made.run(kept.plan.trials[1]), made.observations())
    assert read.results(kept.folder, "1").findings == ()


def test_the_index_is_a_cache(lab):
    with create(lab) as kept:
        run = made.run(kept.plan.trials[0])
        kept.add(run, made.observations())
        kept.judge("1", [made.verdict(run, made.RATE, 100.0)])
        kept.live({"phase": "fill", "share": 0.5})
        assert [row for _, _, row in index.live(kept.folder)] == [{"phase": "fill", "share": 0.5}]
    (kept.folder / "index.sqlite").write_bytes(b"no database at all" * 500)
    assert index.overview(kept.folder, "1") is None
    with Store.open(kept.folder):
        pass
    found = index.overview(kept.folder, "1")
    assert found is not None
    assert found.outcomes == {"finished": 1}
    assert found.verdicts == {"SOUND": 1}


def test_the_index_gets_back_the_runs_that_it_lost(lab):
    with create(lab) as kept:
        for trial in kept.plan.trials[:2]:
            run = made.run(trial)
            kept.add(run, made.observations())
            kept.judge("1", [made.verdict(run, made.RATE, 100.0)])
        (kept.folder / "trials/0001/attempt-1/run.json").write_bytes(b"{}")
        kept.database.execute("DELETE FROM runs WHERE run = '0002/1'")
        kept.database.execute("DELETE FROM verdicts WHERE run = '0002/1'")
    with Store.open(kept.folder):
        pass
    found = index.overview(kept.folder, "1")
    assert found is not None
    assert (found.outcomes, found.verdicts) == ({"finished": 2}, {"SOUND": 2})


def test_live_rows_are_not_flushed_and_a_network_file_system_has_no_write_ahead_log(lab, monkeypatch):
    with create(lab) as kept:
        assert kept.database.execute("PRAGMA synchronous").fetchone() == (0,)
        assert kept.database.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    monkeypatch.setattr(index, "is_network", lambda folder: True)
    with create(lab, digest="cd" * 32) as kept:
        assert kept.database.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_failing_index_fails_no_run(lab):
    with create(lab) as kept:
        kept.database.close()
        kept.database = sqlite3.connect(":memory:")
        assert kept.add(made.run(kept.plan.trials[0]), made.observations()) == "0001/1"
        kept.live({"x": 1})


def test_a_damaged_plan_is_named(lab):
    with create(lab) as kept:
        pass
    for name in read.PLANS:
        (kept.folder / name).write_text(json.dumps({"schema": 1, "experiment": {"title": 3}}))
    with pytest.raises(DamagedError, match="Experiment"):
        Store.open(kept.folder)


def test_a_damaged_plan_is_read_from_its_copy_named_and_restored(lab):
    for damage in ("cut", "gone"):
        with create(lab / damage) as kept:
            kept.add(made.run(kept.plan.trials[0]), made.observations())
        plan_file = kept.folder / "plan.json"
        before = plan_file.read_bytes()
        plan_file.write_text("{") if damage == "cut" else plan_file.unlink()
        found = read.results(kept.folder)
        assert (found.plan, len(found.runs)) == (kept.plan, 1)
        assert "plan-copy.json" in found.damaged["plan.json"]
        assert read.cut(kept.folder).keys() == {"plan.json"}
        assert read.folders(lab / damage) == (kept.folder,)
        Store.open(kept.folder).close()
        assert plan_file.read_bytes() == before
        assert read.results(kept.folder).damaged == {}


def test_what_is_removed_is_named_and_not_begun_anew(lab):
    with create(lab) as kept:
        kept.add(made.run(kept.plan.trials[0]), made.observations())
        shutil.rmtree(kept.folder / "trials")
        assert "removed" in read.results(kept.folder).damaged["trials"]
        assert "removed" in read.cut(kept.folder)["trials"]
        shutil.rmtree(kept.folder)
        with pytest.raises(RefusedError, match="removed while the experiment ran"):
            kept.add(made.run(kept.plan.trials[0]), made.observations())
        assert not kept.folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a file system that is soon full")
def test_a_notebook_without_room_for_its_index_is_refused_in_words(tmp_path):
    place = tmp_path / "full"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(place)], check=True)
    try:
        with pytest.raises(RefusedError, match=r"index\.sqlite: not writable"):
            create(place)
    finally:
        subprocess.run(["umount", str(place)], check=True)
