"""Some files stand for a tree, and the whole tree is made cold."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay import catalogue
from assay.errors import TrialError
from assay.records import CacheState, EndpointKind, PhasePlan, Place
from assay.trial import initial_state
from stage.trial_stage import HOST

DIRECTORY = catalogue.find("targets", "directory")
PLAN = PhasePlan(name="read", operations=("read",), directions={}, cache=CacheState.COLD)


def place(path):
    return Place(target="t", host="local", kind=EndpointKind.DIRECTORY, address=str(path), filesystem="ext4")


@pytest.fixture
def tree(tmp_path):
    """40 files of one page each, an empty one, a link, and names that are not usual."""
    root = tmp_path / "tree"
    (root / "sub").mkdir(parents=True)
    for number in range(40):
        path = root / ("sub" if number % 2 else ".") / f"file {number}\n"
        path.write_bytes(os.urandom(4096))
        with path.open("rb") as file:
            os.fsync(file.fileno())
    (root / "empty").touch()
    (root / "link").symlink_to("empty")
    (root / os.fsdecode(b"not \xff text")).write_bytes(b"x")
    return root


@given(st.sets(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1), max_size=400), st.integers(0, 9))
def test_the_same_seed_draws_the_same_files_in_whatever_order_they_come(paths, seed):
    drawn = initial_state.sample(sorted(paths), seed)
    assert drawn == initial_state.sample(sorted(paths, reverse=True), seed)
    assert set(drawn) <= paths
    assert len(set(drawn)) == len(drawn) == min(len(paths), 16)


def test_of_a_large_tree_256_stand_for_it_and_another_seed_draws_others():
    paths = [f"/x/{number}" for number in range(30_000)]
    assert len(initial_state.sample(paths, 1)) == 256
    assert len(initial_state.sample(paths[:5_000], 1)) == 100
    assert len(set(initial_state.sample(paths, 1)) & set(initial_state.sample(paths, 2))) < 50
    halves = sum(int(path[3:]) < 15_000 for path in initial_state.sample(paths, 1))
    assert 80 < halves < 176


def test_trees_that_are_drawn_from_and_trees_that_are_not(tree):
    plan = initial_state.with_data_files(HOST, place(tree.parent), replace(PLAN, tree=str(tree)), 7)
    assert len(plan.data_files) == 16
    assert all("file " in path and Path(path).stat().st_size == 4096 for path in plan.data_files)
    assert len(list(initial_state.files_of(HOST, str(tree)))) == 40
    left = replace(PLAN, tree=str(tree), cache=CacheState.UNCHANGED)
    assert initial_state.with_data_files(HOST, place(tree.parent), left, 7) is left
    assert initial_state.with_data_files(HOST, place(tree.parent), PLAN, 7) is PLAN
    with pytest.raises(TrialError, match="another file system"):
        initial_state.with_data_files(HOST, place("/proc"), replace(PLAN, tree=str(tree)), 7)


def test_every_file_of_a_tree_is_made_cold_and_not_only_those_that_stand_for_it(subtests, tree, tmp_path):
    if subprocess.check_output(["stat", "-f", "-c", "%T", tree], text=True).strip() == "tmpfs":
        pytest.skip("the temporary directory is in memory: nothing there can be cold")
    files = list(initial_state.files_of(HOST, str(tree)))
    for at in ("inside", "outside"):
        with subtests.test(at=at):
            own = place(tmp_path if at == "inside" else tmp_path / "elsewhere")
            Path(own.address).mkdir(exist_ok=True)
            for path in files:
                Path(path).read_bytes()
            assert initial_state.resident_share(HOST, files) == 1.0
            plan = initial_state.with_data_files(HOST, own, replace(PLAN, tree=str(tree)), 7)
            proof = initial_state.establish(HOST, DIRECTORY, own, plan)
            assert (proof.proved, proof.refusal) == (CacheState.COLD, None)
            assert initial_state.resident_share(HOST, files) == 0.0
