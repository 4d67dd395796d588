"""Moving and merging: what comes arrives whole, or nothing is changed."""

import errno
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import cli_notebook
import notebook_records as made
from assay.errors import DamagedError, UsageError
from assay.laboratory.results import current
from assay.notebook import index, joining, layout, read, trash
from assay.notebook.annotations import Remark, added_to, annotate
from assay.notebook.store import Store
from cli_notebook import NAME, files_of


def test_an_experiment_moves_with_all_it_has(lab, folder, tmp_path):
    annotate(folder, lambda found: found.with_note(None, Remark(tags=("kept",))))
    before = files_of(folder)
    goal = joining.move(folder, tmp_path / "other")
    assert not folder.exists()
    assert files_of(goal) == before
    assert len(current(goal).runs) == 11
    third = shutil.copytree(goal, tmp_path / "third" / NAME)
    with pytest.raises(UsageError, match="assay merge"):
        joining.move(third, tmp_path / "other")


@pytest.fixture
def elsewhere(folder, tmp_path, monkeypatch):
    """A notebook on another file system: an experiment cannot be renamed into it."""
    rename = Path.rename

    def crossing(self, goal):
        if self == folder:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, goal)

    monkeypatch.setattr(Path, "rename", crossing)
    return tmp_path / "other"


def test_an_experiment_moves_to_another_file_system(folder, elsewhere):
    before = files_of(folder)
    goal = joining.move(folder, elsewhere)
    assert not folder.exists()
    assert files_of(goal) == before


def test_a_damaged_experiment_is_neither_moved_to_another_file_system_nor_copied(folder, elsewhere, tmp_path):
    (folder / "trials/0002/attempt-1/run.json").write_text("{}")
    before = files_of(folder)
    with pytest.raises(DamagedError, match=r"trials/0002/attempt-1"):
        joining.move(folder, elsewhere)
    assert files_of(folder) == before
    assert not (elsewhere / NAME).exists()
    with pytest.raises(UsageError, match="Delete this run"):
        joining.merge([folder.parent], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def parts(tmp_path):
    """Two notebooks with the first and the second half of one schedule."""
    for name, half in (("a", slice(0, 5)), ("b", slice(5, 10))):
        asked = made.experiment()
        with Store.create(tmp_path / name, asked, made.plan(asked), made.TEXT) as kept:
            for trial in kept.plan.trials[half]:
                kept.add(made.run(trial, phases=cli_notebook.phases(1000.0)), made.observations(1000))
    return tmp_path / "a", tmp_path / "b"


def test_two_parts_of_a_schedule_are_merged_and_again_changes_nothing(tmp_path):
    ours, theirs = parts(tmp_path)
    annotate(theirs / NAME, lambda found: replace(found, experiment=Remark(text="from b", tags=("b",))))
    before = files_of(theirs / NAME)
    (one,) = joining.merge([theirs], ours)
    assert (one.is_new, len(one.added), one.known) == (False, 5, 0)
    assert len(current(ours / NAME).runs) == 10
    assert len(index.indexed(ours / NAME, "")) == 10
    assert added_to(ours / NAME).experiment == Remark(text="from b", tags=("b",))
    assert files_of(theirs / NAME) == before
    (one,) = joining.merge([theirs], ours)
    assert (len(one.added), one.known) == (0, 5)


def test_of_two_other_notebooks_the_second_is_held_against_the_first(tmp_path):
    """Both have runs of one name that the first notebook lacks: those of the second were dropped and called known."""
    one, other = (cli_notebook.lab(tmp_path / name, difference=size) for name, size in (("one", 1.0), ("other", 1.2)))
    with pytest.raises(UsageError, match="two executions of one schedule"):
        joining.merge([one, other], tmp_path / "all")
    assert not (tmp_path / "all").exists()
    halves = joining.merge(parts(tmp_path), tmp_path / "all")
    assert [(len(found.added), found.known) for found in halves] == [(5, 0), (5, 0)]
    assert len(current(tmp_path / "all" / NAME).runs) == 10


def test_another_schedule_in_the_second_notebook_is_refused_before_the_first_is_copied(tmp_path):
    for name, blocks in (("one", 5), ("other", 3)):
        asked = made.experiment()
        plan = made.plan(asked, blocks)
        trials = plan.trials if name == "one" else tuple(reversed(plan.trials))
        Store.create(tmp_path / name, asked, replace(plan, trials=trials), made.TEXT).close()
    with pytest.raises(UsageError, match="another schedule"):
        joining.merge([tmp_path / "one", tmp_path / "other"], tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_damaged_notes_stop_a_merge_before_it_begins(tmp_path):
    ours, theirs = parts(tmp_path)
    (theirs / NAME / layout.NOTES).write_text("[]")
    with pytest.raises(UsageError, match="no notes and tags"):
        joining.merge([theirs], ours)
    assert len(read.attempts(ours / NAME)) == 5


def test_a_deleted_run_that_comes_back_is_not_called_deleted(tmp_path):
    ours, theirs = parts(tmp_path)
    joining.merge([theirs], ours)
    run = layout.run_id(*layout.split_attempt(read.attempts(theirs / NAME)[0]))
    trash.delete_runs(ours / NAME, [run], "odd")
    (one,) = joining.merge([theirs], ours)
    assert one.added == (run,)
    assert added_to(ours / NAME).deleted == ()
    trash.delete_runs(theirs / NAME, [run], "odd")
    joining.merge([theirs], ours)
    assert added_to(ours / NAME).deleted == ()


def test_notebooks_are_merged_into_a_new_one_and_two_executions_of_a_schedule_are_not(tmp_path, lab):
    found = joining.merge([lab], tmp_path / "all")
    assert {one.experiment: len(one.added) for one in found} == {NAME: 11, "nothing-yet-00000000": 0}
    assert all(one.is_new for one in found)
    other = cli_notebook.lab(tmp_path / "other", difference=1.2)
    before = files_of(lab / NAME)
    with pytest.raises(UsageError, match="two executions of one schedule"):
        joining.merge([other], lab)
    assert files_of(lab / NAME) == before
