"""Notes, tags and the trash: what goes is there to be brought back."""

import shutil

import pytest

from assay.errors import BusyError, UsageError
from assay.laboratory.results import current
from assay.notebook import index, joining, layout, read, trash
from assay.notebook.annotations import Annotations, Remark, added_to, annotate, checked_note, checked_tags
from assay.notebook.store import Store
from cli_notebook import NAME, files_of


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


def test_what_is_no_tag_is_refused_and_a_note_is_one_line():
    for tag in ("", " ", "a b", "-x", "x" * 61, "ä", "a\n"):
        with pytest.raises(UsageError, match="up to 60"):
            checked_tags(["good", tag])
    assert checked_note(" a\n b ") == "a b"
    for note, words in (("x" * 5000, "at most"), ("a\udcffb", "cannot be printed"), ("a\x1bb", "cannot be printed")):
        with pytest.raises(UsageError, match=words):
            checked_note(note)


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


def test_nothing_goes_while_a_run_is_written_or_where_a_run_is_not_there(lab, folder):
    with pytest.raises(UsageError, match="0042/1"):
        trash.delete_runs(folder, ["0001/1", "0042/1"], "why")
    with Store.open(folder):
        for change in (
            lambda: trash.delete_experiment(folder),
            lambda: trash.delete_runs(folder, ["0001/1"], "why"),
            lambda: joining.move(folder, lab.parent / "other"),
        ):
            with pytest.raises(BusyError):
                change()
        annotate(folder, lambda found: found.with_note(None, Remark(text="so far good")))
    assert added_to(folder).experiment.text == "so far good", "notes can be written meanwhile"
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


def test_an_empty_name_names_nothing_and_the_trash_is_emptied_by_name(lab, folder):
    """`assay delete "$X" --yes` with an empty X took the only experiment, and `assay trash "$X" --empty` all that was there."""
    with pytest.raises(UsageError, match="found 0 experiments"):
        read.choose(lab, "")
    goal = trash.delete_experiment(folder)
    with pytest.raises(UsageError, match="found 0 in the trash"):
        trash.choose(lab, "")
    trash.purge(lab, trash.choose(lab, goal.name[:20]))
    assert trash.trashed(lab) == ()
    with pytest.raises(UsageError, match="is empty"):
        trash.choose(lab, "x")


def test_what_has_its_place_taken_is_not_restored(pristine, lab, folder):
    trash.delete_experiment(folder)
    shutil.copytree(pristine / NAME, lab / NAME)
    with pytest.raises(UsageError, match="move or delete it first"):
        trash.restore(lab, trash.trashed(lab)[0])
