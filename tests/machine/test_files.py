"""What a look at a path tells, and that it changes nothing."""

import os

from assay.machine import ownership
from assay.machine.files import DIRECTORY, FILE, NOTHING, PathState, path_state
from assay.machine.ownership import Ownership
from assay.undo.ledger import Ledger
from stage.targets_host import HOST, MIB


def test_each_kind_of_thing(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 5000)
    (tmp_path / "empty").write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "lost").symlink_to("nowhere")
    found = {
        name: path_state(HOST, str(tmp_path / name)) for name in ("file", "empty", "pipe", "link", "lost", "none", ".", "none/x")
    }
    assert {name: one.kind for name, one in found.items()} == {
        "file": FILE,
        "empty": FILE,
        "link": FILE,
        "pipe": "fifo",
        ".": DIRECTORY,
        **dict.fromkeys(("lost", "none", "none/x"), NOTHING),
    }
    assert (found["file"].size, found["empty"].size) == (5000, 0)
    assert found["link"].path == str(tmp_path / "file")
    assert [found[name].parent for name in ("none", "none/x")] == [True, False]
    assert {one.ownership for one in found.values()} == {Ownership.OTHERS}


def test_the_unit_of_direct_io_is_the_logical_block_of_the_device(tmp_path):
    unit = path_state(HOST, str(tmp_path / "none")).unit
    assert unit in (512, 4096)
    assert path_state(HOST, str(tmp_path)).unit == unit
    assert PathState(path="/x", kind=NOTHING).unit == 512


def test_a_file_of_ours_is_whole_where_every_byte_was_written(subtests, tmp_path_factory):
    for content in ["whole", "hole", "preallocated"]:
        with subtests.test(content=content):
            tmp_path = tmp_path_factory.mktemp("case")
            path, undo = tmp_path / "F", Ledger(tmp_path / "ledger")
            ownership.make_file(HOST, undo, str(path))
            with path.open("r+b") as file:
                if content == "whole":
                    file.write(os.urandom(MIB))
                elif content == "hole":
                    file.truncate(MIB)
                else:
                    os.posix_fallocate(file.fileno(), 0, MIB)
                file.flush()
                os.fsync(file.fileno())
            assert path_state(HOST, str(path)).ownership is Ownership.IN_USE
            ownership.keep_file(HOST, str(path))
            found = path_state(HOST, str(path))
            assert (found.kind, found.size, found.ownership) == (FILE, MIB, Ownership.KEPT)
            assert found.whole == (content == "whole")
            undo.unwind()
            undo.close()
            assert path.exists(), "what is kept stays"
            ownership.discard_file(HOST, str(path))
            assert list(tmp_path.iterdir()) == [tmp_path / "ledger"]
            assert path_state(HOST, str(path)).kind == NOTHING
