"""How large an existing tree is, by the blocks of its files; none where there is none."""

import os

from assay.catalogue import Pace
from assay.machine.tree_size import tree_size
from assay.workloads.backup_read import GUESS_TREE_S, WORKLOAD


def test_a_tree_is_its_files_without_holes_and_links(tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    for number in range(3):
        with (below / str(number)).open("wb") as file:
            file.write(bytes(range(256)) * 256)
            os.fsync(file.fileno())
    with (below / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    (tmp_path / "link").symlink_to(below, target_is_directory=True)
    found = tree_size(str(tmp_path))
    assert found is not None
    assert (found.files, found.is_whole) == (4, True)
    assert 3 * 65_536 <= found.bytes < 4 * 65_536
    assert WORKLOAD.seconds({"tree": str(tmp_path)}, Pace()) < 1 < GUESS_TREE_S


def test_a_tree_of_another_machine_is_unknown(tmp_path):
    assert tree_size(str(tmp_path / "nowhere")) is None
    assert WORKLOAD.seconds({"tree": str(tmp_path / "nowhere")}, Pace()) == GUESS_TREE_S
