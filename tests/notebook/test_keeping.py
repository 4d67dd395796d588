"""Notes and tags, the trash, moving and merging: what goes is there to be brought back, what comes arrives whole."""

from dataclasses import replace

import pytest

import cli_notebook
import notebook_records as made
from assay.errors import BusyError, UsageError
from assay.laboratory.results import current
from assay.notebook import index, joining, layout, read, trash
from assay.notebook.annotations import Annotations, Remark, added_to, annotate, checked_note, checked_tags
from assay.notebook.store import Store

NAME = "a-mail-spool-abababab"


@pytest.fixture
def lab(tmp_path):
    return cli_notebook.lab(tmp_path / "lab")


@pytest.fixture
def folder(lab):
    return lab / NAME


def files_of(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith((layout.INDEX, layout.LOCK))
    }


def test_notes_and_tags_are_kept_beside_the_raw_data(folder):
    before = files_of(folder)
    annotate(folder, lambda found: found.with_note(None, Remark(text="new disk", tags=("nightly",))))
    annotate(folder, lambda found: found.with_note("0001/1", Remark(tags=("odd",))))
    found = added_to(folder)
    assert found.experiment.words == "nightly: new disk"
    assert found.of("0001/1").tags == ("odd",)
    assert found.of("0002/1") == Remark()
    after = files_of(folder)
    assert after.pop(layout.NOTES)
    assert after == before
    annotate(folder, lambda found: found.with_note("0001/1", Remark()))
    assert added_to(folder).runs == {}


def test_notes_can_be_written_while_a_run_is(folder):
    with Store.open(folder):
        annotate(folder, lambda found: found.with_note(None, Remark(text="so far good")))
    assert added_to(folder).experiment.text == "so far good"


@pytest.mark.parametrize("tag", ["", " ", "a b", "-x", "x" * 61, "ä", "a\n"])
def test_what_is_no_tag_is_refused(tag):
    with pytest.raises(UsageError, match="expected up to 60"):
        checked_tags(["good", tag])


def test_a_note_is_one_line():
    assert checked_note(" a\n b ") == "a b"
    with pytest.raises(UsageError, match="at most"):
        checked_note("x" * 5000)
    for letter in ("\udcff", "\x1b"):
        with pytest.raises(UsageError, match="cannot be printed"):
            checked_note(f"a{letter}b")


def test_an_experiment_goes_into_the_trash_and_comes_back_as_it_was(lab, folder):
    before = files_of(folder)
    goal = trash.delete_experiment(folder)
    assert not folder.exists()
    assert NAME not in [one.name for one in read.folders(lab)]
    (one,) = trash.trashed(lab)
    assert (one.name, one.experiment, one.runs) == (goal.name, NAME, ())
    assert trash.restore(lab, one) == folder
    assert files_of(folder) == before
    assert trash.trashed(lab) == ()


def test_runs_go_into_the_trash_with_their_reason_and_come_back(lab, folder):
    before = files_of(folder)
    trash.delete_runs(folder, ["0003/1", "0001/2"], "the disk was changed")
    assert len(read.attempts(folder)) == 9
    gone = added_to(folder).deleted
    assert [(one.run, one.outcome, one.why) for one in gone] == [
        ("0003/1", "finished", "the disk was changed"),
        ("0001/2", "interrupted", "the disk was changed"),
    ]
    assert [one.run for one in index.indexed(folder, read.rulesets(folder)[-1])].count("0003/1") == 0
    results = current(folder)
    assert len(results.runs) == 9
    assert results.cells
    (one,) = trash.trashed(lab)
    trash.restore(lab, one)
    after = files_of(folder)
    assert added_to(folder) == Annotations()
    after.pop(layout.NOTES)
    assert after == before
    assert len(index.indexed(folder, read.rulesets(folder)[-1])) == 11


def test_a_run_that_is_not_there_keeps_all_from_going(folder):
    with pytest.raises(UsageError, match="0042/1"):
        trash.delete_runs(folder, ["0001/1", "0042/1"], "why")
    assert len(read.attempts(folder)) == 11


def test_nothing_goes_while_a_run_is_written(lab, folder):
    with Store.open(folder):
        for change in (
            lambda: trash.delete_experiment(folder),
            lambda: trash.delete_runs(folder, ["0001/1"], "why"),
            lambda: joining.move(folder, lab.parent / "other"),
        ):
            with pytest.raises(BusyError):
                change()
    assert len(read.attempts(folder)) == 11


def test_after_a_crash_in_the_middle_of_deleting_the_rest_is_restored(lab, folder, monkeypatch):
    """The first run is in the trash, the second one still there and called deleted: each way out was refused."""
    before, carry, moved = files_of(folder), trash.carry, []

    def cut(path, goal):
        if len(moved) == 1:
            raise KeyboardInterrupt
        moved.append(path)
        carry(path, goal)

    with monkeypatch.context() as patched:
        patched.setattr(trash, "carry", cut)
        with pytest.raises(KeyboardInterrupt):
            trash.delete_runs(folder, ["0003/1", "0004/1"], "why")
    assert len(read.attempts(folder)) == 10
    trash.restore(lab, trash.trashed(lab)[0])
    after = files_of(folder)
    assert added_to(folder) == Annotations()
    after.pop(layout.NOTES)
    assert after == before


def test_a_run_is_called_deleted_once(lab, folder):
    for _ in range(2):
        trash.delete_runs(folder, ["0003/1"], "why")
        one = trash.trashed(lab)[-1]
        (lab / layout.TRASH / one.name / "trials/0003/attempt-1").rename(folder / "trials/0003-1")
        (folder / "trials/0003").mkdir()
        (folder / "trials/0003-1").rename(folder / "trials/0003/attempt-1")
    assert [gone.run for gone in added_to(folder).deleted] == ["0003/1"]


def test_a_symbolic_link_is_neither_moved_nor_deleted(lab, folder, tmp_path):
    """A relative one would lead nowhere from its new place, and one in the trash can be neither read nor emptied."""
    folder.rename(tmp_path / "archive")
    folder.symlink_to("../archive")
    for change in (lambda: trash.delete_experiment(folder), lambda: joining.move(folder, tmp_path / "far" / "other")):
        with pytest.raises(UsageError, match="a symbolic link to"):
            change()
    assert len(read.attempts(folder)) == 11


def test_an_experiment_comes_back_under_its_own_name(lab, folder):
    goal = trash.delete_experiment(folder.rename(lab / "fs-6.18"))
    (one,) = trash.trashed(lab)
    assert one.experiment == "fs-6.18"
    assert trash.restore(lab, one).name == "fs-6.18"
    assert not goal.exists()


def test_an_empty_name_names_nothing(lab, folder):
    """`assay delete "$X" --yes` with an empty X took the only experiment, and `assay trash "$X" --empty` all that was there."""
    with pytest.raises(UsageError, match="found 0 experiments"):
        read.choose(lab, "")
    trash.delete_experiment(folder)
    with pytest.raises(UsageError, match="found 0 in the trash"):
        trash.choose(lab, "")


def test_what_has_its_place_taken_is_not_restored(lab, folder):
    trash.delete_experiment(folder)
    cli_notebook.lab(lab.parent / "fresh")
    joining.move(lab.parent / "fresh" / NAME, lab)
    with pytest.raises(UsageError, match="move or delete it first"):
        trash.restore(lab, trash.trashed(lab)[0])


def test_the_trash_is_emptied_by_name(lab, folder):
    goal = trash.delete_experiment(folder)
    trash.purge(lab, trash.choose(lab, goal.name[:20]))
    assert trash.trashed(lab) == ()
    with pytest.raises(UsageError, match="the trash is empty"):
        trash.choose(lab, "x")


def test_an_experiment_moves_with_all_it_has(lab, folder, tmp_path):
    annotate(folder, lambda found: found.with_note(None, Remark(tags=("kept",))))
    before = files_of(folder)
    goal = joining.move(folder, tmp_path / "other")
    assert not folder.exists()
    assert files_of(goal) == before
    assert len(current(goal).runs) == 11
    with pytest.raises(UsageError, match="assay merge"):
        joining.move(cli_notebook.lab(tmp_path / "third") / NAME, tmp_path / "other")


def test_an_experiment_moves_to_another_file_system(folder, tmp_path, monkeypatch):
    import errno
    from pathlib import Path

    rename = Path.rename

    def crossing(self, goal):
        if self == folder:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        return rename(self, goal)

    before = files_of(folder)
    monkeypatch.setattr(Path, "rename", crossing)
    goal = joining.move(folder, tmp_path / "other")
    assert not folder.exists()
    assert files_of(goal) == before


def test_an_experiment_with_damaged_runs_is_not_copied(folder, tmp_path):
    (folder / "trials/0002/attempt-1/run.json").write_text("{}")
    with pytest.raises(UsageError, match="Delete this run first"):
        joining.merge([folder.parent], tmp_path / "other")
    assert not (tmp_path / "other").exists()


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


def test_notebooks_are_merged_into_a_new_one(tmp_path, lab):
    found = joining.merge([lab], tmp_path / "all")
    assert {one.experiment: len(one.added) for one in found} == {NAME: 11, "nothing-yet-00000000": 0}
    assert all(one.is_new for one in found)


def test_two_executions_of_a_schedule_are_not_merged(tmp_path, lab):
    other = cli_notebook.lab(tmp_path / "other", difference=1.2)
    before = files_of(lab / NAME)
    with pytest.raises(UsageError, match="two executions of one schedule"):
        joining.merge([other], lab)
    assert files_of(lab / NAME) == before
