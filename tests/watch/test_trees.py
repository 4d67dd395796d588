"""Trees of files that got further or other names, really made, and what looks like them."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from assay.watch import trees

SIZE = 3 << 20


@pytest.fixture
def tree(tmp_path):
    """A directory with a file in it and one below, made before the command."""
    folder = tmp_path / "tree"
    (folder / "below").mkdir(parents=True)
    for path in (folder / "file", folder / "below" / "file"):
        path.write_bytes(os.urandom(SIZE))
    return folder


def found(tmp_path, argv, names):
    """The bytes that trees say of a command, by the name of the directory; the kernel's clock has ticked before it."""
    paths = tuple(str(tmp_path / name) for name in names)
    was = trees.known(paths)
    made_ns = time.time_ns() + 2 * trees.TICK_NS
    while time.time_ns() < made_ns:
        pass
    since_ns = time.time_ns()
    subprocess.run(argv, cwd=tmp_path, check=True)
    return {Path(one.path).name: one.linked_bytes for one in trees.linked(was, since_ns)}


def test_a_tree_of_hard_links_is_no_copy(tmp_path, tree):
    assert found(tmp_path, ("cp", "-al", "tree", "links"), ("tree", "links")) == {"links": 2 * SIZE}


def test_a_tree_that_was_copied_has_data(tmp_path, tree):
    assert found(tmp_path, ("cp", "-a", "tree", "copy"), ("tree", "copy")) == {}


def test_a_directory_that_was_moved_has_only_another_name(tmp_path, tree):
    assert found(tmp_path, ("mv", "tree", "moved"), ("tree", "moved")) == {"moved": 2 * SIZE}


def test_what_was_moved_into_a_directory_is_found_in_it(tmp_path, tree):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "old").write_bytes(os.urandom(SIZE))
    assert found(tmp_path, ("mv", "tree", "there"), ("tree", "there")) == {"there": 2 * SIZE}


def test_other_rights_on_linked_files_are_no_new_names(tmp_path, tree):
    shutil.copytree(tree, tmp_path / "links", copy_function=os.link)
    assert found(tmp_path, ("chmod", "-R", "g-w", "links"), ("links",)) == {}
    assert found(tmp_path, ("touch", "links/new"), ("links",)) == {}, "its other files have their names from before"


def test_a_command_that_makes_nothing_costs_no_walk(tmp_path, tree, monkeypatch):
    monkeypatch.setattr(trees, "_entries", lambda directory: pytest.fail(f"looked into {directory}"))
    assert found(tmp_path, ("ls", "tree"), ("tree",)) == {}
